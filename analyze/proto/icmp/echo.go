// Package icmp reads echo requests and replies of ICMP (RFC 792) and ICMPv6 (RFC
// 4443, 4): what is lost, and how long answers take. Error messages are read by
// the correlator of ICMP errors.
package icmp

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of echo.
const (
	Unanswered finding.Code = "icmp.echo-unanswered"
	EchoRTT    finding.Code = "icmp.echo-rtt"
)

// Message types.
const (
	reply4, request4 = 0, 8
	request6, reply6 = 128, 129
)

const (
	// Three requests in a row without reply: one or two are lost on healthy
	// paths, or dropped by a router that limits its own answers (RFC 1812, 4.3.2.8).
	minUnanswered = 3
	maxPairs      = 1 << 12
	maxOpen       = 128 // requests of a pair that wait for a reply
	maxSamples    = 512 // round-trip times kept of a pair
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "icmp", Doc: "Echo of ICMP and ICMPv6, RFC 792 and RFC 4443",
		Carrier: proto.ICMP, Numbers: []uint16{flow.ICMP, flow.ICMPv6},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < 8 {
				return proto.No
			}
			if asks, answers := query(b); asks || answers {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &echo{pairs: map[pair]*pings{}, crowd: newCrowd()} },
		Codes: append(crowdCodes(), []finding.Def{
			{
				Code: Unanswered, Severity: finding.Notice,
				Doc: "Echo requests to a host were not answered, three or more. The finding's host is the one asked.",
				Metrics: []finding.Metric{
					{Name: "asker", Text: true, Doc: "who asked"},
					{Name: "sent", Merge: finding.Sum, Doc: "requests"},
					{Name: "lost", Merge: finding.Sum, Doc: "of these without reply"},
					{Name: "answered", Merge: finding.Sum, Doc: "of these with a reply"},
					{Name: "late_run", Merge: finding.Max, Doc: "requests without reply at the end, in a row"},
					{Name: "largest_answered_bytes", Merge: finding.Max, Doc: "longest packet that was answered"},
					{Name: "smallest_lost_bytes", Merge: finding.Min, Doc: "shortest packet that was not"},
				},
			},
			{
				Code: EchoRTT, Severity: finding.Info,
				Doc: "Round-trip times of echo to a host, as far as three replies or more tell. The finding's host is the one asked.",
				Metrics: []finding.Metric{
					{Name: "asker", Text: true, Doc: "who asked"},
					{Name: "samples", Merge: finding.Sum, Doc: "replies"},
					{Name: "rtt_min_ms", Merge: finding.Min, Doc: "shortest"},
					{Name: "rtt_median_ms", Merge: finding.Max, Doc: "median"},
					{Name: "rtt_max_ms", Merge: finding.Max, Doc: "longest"},
				},
			},
		}...),
	}
}

type pair struct {
	from, to netip.Addr
	id       uint16
}

// pings is what one program asks of one host.
type pings struct {
	open     []ask
	ev       finding.Evidence
	all      finding.Evidence
	sent     uint64
	answered uint64
	lost     uint64
	run      uint64
	longest  uint32
	shortest uint32 // of the lost
	rtt      []int64
}

type ask struct {
	seq   uint16
	bytes uint32
	at    int64
	frame uint64
}

type echo struct {
	pairs map[pair]*pings
	order []pair
	crowd crowd
}

// Data notes one request or reply.
func (e *echo) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if s.Duplicate() {
		return len(b), nil
	}
	from, to := flow.Addr(p.Src()), flow.Addr(p.Dst())
	e.crowd.take(s, from, to, b)
	id, seq, ok := p.Echo(s.Bytes())
	if !ok {
		return len(b), nil
	}
	if b[0] == request4 || b[0] == request6 {
		e.asked(s, pair{from, to, id}, ask{seq, p.PayloadLen, s.Now(), s.Frame()})
		return len(b), nil
	}
	if x := e.pairs[pair{to, from, id}]; x != nil {
		x.replied(s, seq)
	}
	return len(b), nil
}

func (e *echo) asked(s *proto.Scope, k pair, a ask) {
	if k.to.IsMulticast() {
		return // many answer, or nobody
	}
	x := e.pairs[k]
	if x == nil {
		if len(e.pairs) >= maxPairs {
			return
		}
		x = &pings{}
		e.pairs[k] = x
		e.order = append(e.order, k)
	}
	x.sent++
	x.all.Add(s.Frame(), s.Now())
	if len(x.open) == maxOpen {
		x.give(x.open[0])
		x.open = slices.Delete(x.open, 0, 1)
	}
	x.open = append(x.open, a)
}

// give counts a request as lost.
func (x *pings) give(a ask) {
	x.lost++
	x.run++
	x.ev.Add(a.frame, a.at)
	if x.shortest == 0 || a.bytes < x.shortest {
		x.shortest = a.bytes
	}
}

func (x *pings) replied(s *proto.Scope, seq uint16) {
	i := slices.IndexFunc(x.open, func(a ask) bool { return a.seq == seq })
	if i < 0 {
		return
	}
	for _, a := range x.open[:i] { // those asked earlier will hardly be answered any more
		x.give(a)
	}
	a := x.open[i]
	x.open = slices.Delete(x.open, 0, i+1)
	x.answered++
	x.run = 0
	x.longest = max(x.longest, a.bytes)
	x.all.Add(s.Frame(), s.Now())
	if len(x.rtt) < maxSamples {
		x.rtt = append(x.rtt, s.Now()-a.at)
	}
}

// Gap does nothing: there is no stream.
func (*echo) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what was lost and how long the rest took.
func (e *echo) End(s *proto.Scope, _ proto.End) {
	e.crowd.end(s)
	slices.SortFunc(e.order, func(a, b pair) int { return cmp.Compare(e.pairs[a].all.First, e.pairs[b].all.First) })
	for _, k := range e.order {
		x := e.pairs[k]
		for _, a := range x.open {
			x.give(a)
		}
		if x.lost >= minUnanswered {
			s.ReportEvidence(k.to, Unanswered, x.ev,
				finding.Text(k.from.String()), finding.Num(x.sent), finding.Num(x.lost), finding.Num(x.answered),
				finding.Num(x.run), finding.Num(x.longest), finding.Num(x.shortest))
		}
		if n := len(x.rtt); n >= 3 {
			slices.Sort(x.rtt)
			const ms = 1e6
			s.ReportEvidence(k.to, EchoRTT, x.all,
				finding.Text(k.from.String()), finding.Num(n), finding.Num(float64(x.rtt[0])/ms),
				finding.Num(float64(x.rtt[n/2])/ms), finding.Num(float64(x.rtt[n-1])/ms))
		}
	}
}
