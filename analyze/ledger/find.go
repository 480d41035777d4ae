package ledger

import (
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// report collects what is said of one connection.
type report struct {
	b     *Books
	r     *record
	t     *talk // never nil: an empty one when there is none
	final bool
	end   conn.End
}

// find emits the findings of a TCP connection as they stand.
func (b *Books) find(r *record, final bool, end conn.End) {
	p := report{b: b, r: r, final: final, end: end}
	if r.talk != 0 {
		p.t = b.talks.At(r.talk)
	} else {
		if !r.worthTelling(final) {
			return
		}
		p.t = b.blank
	}
	p.connecting()
	p.trusting()
	if r.talk == 0 {
		return
	}
	p.loss()
	p.windows()
	p.path()
	p.dying()
	p.turns()
}

// worthTelling reports whether a connection without payload and trouble has
// something to tell: most have not, and cost nothing here.
func (r *record) worthTelling(final bool) bool {
	if r.flags&(flagRefused|flagRst|flagRstServer|flagOdd|flagCrossed|flagReused) != 0 || lowMSS(r) {
		return true
	}
	if !final {
		return false
	}
	return r.flags&(flagSeen|flagSeenServer) != flagSeen|flagSeenServer || r.flags&flagMid != 0
}

// at is a frame and its time.
type at struct {
	frame uint64
	time  int64
}

// proof makes evidence of frames in any order; those with number 0 are left out.
func proof(frames ...at) finding.Evidence {
	slices.SortFunc(frames, func(a, b at) int {
		switch {
		case a.frame < b.frame:
			return -1
		case a.frame > b.frame:
			return 1
		}
		return 0
	})
	var ev finding.Evidence
	for _, f := range frames {
		if f.frame != 0 {
			ev.Add(f.frame, f.time)
		}
	}
	ev.Count = min(ev.Count, 1)
	return ev
}

// whole is the connection from its first to its last frame.
func (p *report) whole() finding.Evidence {
	return proof(at{p.r.first, p.r.start}, at{p.r.last, p.r.stop})
}

// say emits a finding. Without evidence of its own it is proven by the whole
// connection.
func (p *report) say(code finding.Code, s finding.Severity, ev *finding.Evidence, v ...finding.Value) {
	var e finding.Evidence
	if ev == nil || len(ev.Frames) == 0 {
		e = p.whole()
	} else {
		e = *ev
		e.Frames = slices.Clone(e.Frames)
		e.Count = max(e.Count, 1)
	}
	p.b.emit(p.r.conv, finding.Finding{Code: code, Severity: s, Evidence: e, Values: v})
}

// usual is the severity that a code's Def gives.
func (p *report) usual(code finding.Code) finding.Severity { return p.b.sev[code] }

// either is the usual severity if something was worth it, and info otherwise.
func (p *report) either(code finding.Code, worth bool) finding.Severity {
	if worth {
		return p.usual(code)
	}
	return finding.Info
}

// Figures.
func seconds(ns int64) finding.Value { return finding.Value{Num: float64(ns) / second} }
func millis(ns int64) finding.Value  { return finding.Value{Num: float64(ns) / millisecond} }
func count[T ~int | ~int64 | ~uint64 | ~uint32 | ~uint16 | ~uint8](n T) finding.Value {
	return finding.Value{Num: float64(n)}
}
func figure(x float64) finding.Value { return finding.Value{Num: x} }
func words(s string) finding.Value   { return finding.Value{Text: s} }

func yes(b bool) finding.Value {
	if b {
		return finding.Value{Num: 1}
	}
	return finding.Value{}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// mbps is a rate in Mbit/s.
func mbps(bytes uint64, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	return float64(bytes) * 8 / (float64(ns) / second) / 1e6
}

// sender names the end that a direction's data comes from, receiver the other.
func sender(d flow.Dir) string {
	if d == flow.ToServer {
		return SideClient
	}
	return SideServer
}

func receiver(d flow.Dir) string { return sender(d ^ 1) }

// bySender and byReceiver tell whether these are the server.
func bySender(d flow.Dir) finding.Value   { return yes(d == flow.ToClient) }
func byReceiver(d flow.Dir) finding.Value { return yes(d == flow.ToServer) }

// busier is the direction for which a figure is larger.
func busier[T uint32 | uint64 | int64](toServer, toClient T) flow.Dir {
	if toServer > toClient {
		return flow.ToServer
	}
	return flow.ToClient
}

// towards names the directions for which something was counted.
func towards(toServer, toClient uint32) string {
	switch {
	case toServer > 0 && toClient > 0:
		return SideBoth
	case toServer > 0:
		return SideServer
	}
	return SideClient
}

// extent is how long a direction carried data.
func (f *voice) extent() int64 { return max(0, f.lastAt-f.firstAt) }
