// Package bfd reads Bidirectional Forwarding Detection (RFC 5880, RFC 5881): when
// a session goes down, and why, and sessions that never come up.
package bfd

import (
	"encoding/binary"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Down    finding.Code = "bfd.down"
	NeverUp finding.Code = "bfd.never-up"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "bfd", Doc: "Bidirectional Forwarding Detection, RFC 5880",
		Carrier: proto.UDP, Ports: []uint16{3784, 4784, 6784}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= headLen && b[0]>>5 == 1 && int(b[3]) >= headLen && int(b[3]) <= len(b) && b[2] > 0 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{} },
		Codes: []finding.Def{{
			Code: Down, Severity: finding.Notice,
			Doc: "A system told that its session went down, or is down for a reason (RFC 5880, 6.8.6). The diagnostic says why; routing protocols that rely on it drop their neighbour.",
			Metrics: []finding.Metric{
				{Name: "diagnostic", Doc: "number (RFC 5880, 4.1)"},
				{Name: "reason", Text: true, Doc: "its meaning"},
				{Name: "admin", Merge: finding.Max, Doc: "1 when it was switched off on purpose"},
				{Name: "up_seconds", Merge: finding.Min, Doc: "how long it was seen up before; 0: not seen"},
				{Name: "times", Merge: finding.Sum, Doc: "times that it went down"},
			},
		}, {
			Code: NeverUp, Severity: finding.Notice,
			Doc: "A system asked for a session for five seconds or more and never had it: it stayed in Down or Init (RFC 5880, 6.2), though three messages are enough to come up. Packets of the two directions belong to two conversations.",
			Metrics: []finding.Metric{
				{Name: "state", Text: true, Doc: "Down or Init, at last"},
				{Name: "hears", Merge: finding.Max, Doc: "1 when it hears the other end, 0 when it knows nothing of it"},
				{Name: "packets", Merge: finding.Sum, Doc: "packets that it sent"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first to the last of them"},
			},
		}},
	}
}

const (
	headLen = 24
	// States (RFC 5880, 4.1).
	adminDown, down, starting, up = 0, 1, 2, 3
	// A session that is not up sends once a second at most (RFC 5880, 6.8.3), and comes
	// up with the third message: after five, five seconds long, it does not.
	tries    = 5
	patience = 5_000_000_000
)

type analyzer struct {
	states [2]sender
}

type sender struct {
	state   byte
	known   bool
	hears   bool // it told the other's discriminator
	settled bool // it was up, off on purpose, or told why it is down
	since   int64
	disc    uint32
	diag    byte
	asking  finding.Evidence // packets in Down and Init
}

// Data takes one control packet.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if len(b) < headLen || s.Duplicate() {
		return len(b), nil
	}
	x, state, diag := &a.states[dir], b[1]>>6, b[0]&31
	disc := binary.BigEndian.Uint32(b[4:])
	// It went down in sight, or tells that it is down for a reason.
	fell := x.known && x.disc == disc && x.state == up && (state == down || state == adminDown)
	fell = fell || state == down && diag != 0 && (!x.known || x.state != down || x.diag != diag)
	if fell {
		admin := 0
		if state == adminDown {
			admin = 1
		}
		lived := 0.0
		if x.known && x.state == up {
			lived = float64(s.Now()-x.since) / 1e9
		}
		s.Report(Down, finding.Num(diag), finding.Text(reason(diag)), finding.Num(admin), finding.Num(lived), finding.Num(1))
	}
	if !x.known || x.state != state {
		x.since = s.Now()
	}
	x.known, x.state, x.disc, x.diag = true, state, disc, diag
	x.settled = x.settled || fell || state == up || state == adminDown
	if !x.settled {
		x.hears = binary.BigEndian.Uint32(b[8:]) != 0
		x.asking.Add(s.Frame(), s.Now())
	}
	return len(b), nil
}

func reason(diag byte) string {
	names := [...]string{
		"none given", "detection time expired", "echo failed", "neighbour signalled down", "forwarding plane reset",
		"path down", "concatenated path down", "administratively down", "reverse concatenated path down",
	}
	if int(diag) < len(names) {
		return names[diag]
	}
	return "other"
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells of who never came up.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	for i := range a.states {
		x := &a.states[i]
		waited := x.asking.End - x.asking.Start
		if x.settled || x.asking.Count < tries || waited < patience {
			continue
		}
		state, hears := "Down", 0
		if x.state == starting {
			state = "Init"
		}
		if x.hears {
			hears = 1
		}
		s.ReportEvidence(netip.Addr{}, NeverUp, x.asking, finding.Text(state), finding.Num(hears), finding.Num(x.asking.Count),
			finding.Num(float64(waited)/1e9))
	}
}
