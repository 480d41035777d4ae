// Package eigrp reads the Enhanced Interior Gateway Routing Protocol (RFC 7868):
// goodbyes, metric weights and autonomous systems that differ, and routes that a
// router has lost.
package eigrp

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Goodbye  finding.Code = "eigrp.goodbye"
	Mismatch finding.Code = "eigrp.k-mismatch"
	Lost     finding.Code = "eigrp.route-lost"
	OtherAS  finding.Code = "eigrp.as-mismatch"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	router := finding.Metric{Name: "router", Text: true, Doc: "who said so"}
	as := finding.Metric{Name: "as", Doc: "autonomous system"}
	return proto.Spec{
		Name: "eigrp", Doc: "Enhanced Interior Gateway Routing Protocol, RFC 7868",
		Carrier: proto.IP, Numbers: []uint16{88},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= headLen && b[0] == 2 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{weights: map[uint16]weight{}, heard: map[speaker]*greetings{}} },
		Codes: []finding.Def{
			{
				Code: Goodbye, Severity: finding.Notice,
				Doc:     "A router told its neighbours that it leaves: a hello with all metric weights 255 (RFC 7868, 5.3.1). They drop its routes at once. The finding's host is the router.",
				Metrics: []finding.Metric{router, as, {Name: "times", Merge: finding.Sum, Doc: "goodbyes"}},
			},
			{
				Code: Mismatch, Severity: finding.Warning,
				Doc: "Two routers of one autonomous system have different metric weights: they do not become neighbours (RFC 7868, 5.3.2).",
				Metrics: []finding.Metric{
					router, as,
					{Name: "weights", Text: true, Doc: "its K1 to K6"},
					{Name: "other", Text: true, Doc: "another router"},
					{Name: "other_weights", Text: true, Doc: "the other's"},
				},
			},
			{
				Code: OtherAS, Severity: finding.Notice,
				Doc: "A router greets in an autonomous system that no other router of its link is in, while its neighbour there greets in another one: they pass over each other's hellos (RFC 7868, 5.3.2). Told after three hellos of both, which is the time for which a neighbour is held. The finding's host is the router.",
				Metrics: []finding.Metric{
					router, as,
					{Name: "other", Text: true, Doc: "its neighbour"},
					{Name: "other_as", Doc: "autonomous system of the neighbour"},
					{Name: "hellos", Merge: finding.Sum, Doc: "hellos of the router"},
				},
			},
			{
				Code: Lost, Severity: finding.Notice,
				Doc:     "A router asks its neighbours for a way to a network that it lost: a query with infinite delay (RFC 7868, 3.5). The finding's host is the router.",
				Metrics: []finding.Metric{router, as, {Name: "route", Text: true, Doc: "the first network lost"}, {Name: "queries", Merge: finding.Sum, Doc: "queries"}},
			},
		},
	}
}

const (
	headLen       = 20
	query         = 3
	hello         = 5
	tlvParameters = 1
	tlvTerminate  = 7
	maxSystems    = 256
)

type weight struct {
	k    [6]byte
	from netip.Addr
}

type analyzer struct {
	weights map[uint16]weight
	heard   map[speaker]*greetings
}

// Data takes one packet.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if b[1] != hello && b[1] != query || s.Duplicate() || s.Packet() == nil {
		return len(b), nil
	}
	from := flow.Addr(s.Packet().Src())
	as := binary.BigEndian.Uint16(b[18:])
	if b[1] == hello {
		a.greets(s, from, as)
	}
	for t := b[headLen:]; len(t) >= 4; {
		n := int(binary.BigEndian.Uint16(t[2:]))
		if n < 4 || n > len(t) {
			break
		}
		kind := binary.BigEndian.Uint16(t)
		if b[1] == query {
			if r, lost := lostRoute(kind, t[4:n]); lost {
				s.ReportHost(from, Lost, finding.Text(from.String()), finding.Num(as), finding.Text(r), finding.Num(1))
			}
			t = t[n:]
			continue
		}
		switch kind {
		case tlvParameters:
			if n >= 12 {
				a.parameters(s, from, as, [6]byte(t[4:10]))
			}
		case tlvTerminate:
			s.ReportHost(from, Goodbye, finding.Text(from.String()), finding.Num(as), finding.Num(1))
		}
		t = t[n:]
	}
	return len(b), nil
}

func (a *analyzer) parameters(s *proto.Scope, from netip.Addr, as uint16, k [6]byte) {
	if [5]byte(k[:5]) == [5]byte{255, 255, 255, 255, 255} {
		s.ReportHost(from, Goodbye, finding.Text(from.String()), finding.Num(as), finding.Num(1))
		return
	}
	w, known := a.weights[as]
	switch {
	case !known:
		if len(a.weights) < maxSystems {
			a.weights[as] = weight{k, from}
		}
	case w.from == from:
		a.weights[as] = weight{k, from}
	case w.k != k:
		s.ReportHost(from, Mismatch, finding.Text(from.String()), finding.Num(as), finding.Text(fmt.Sprint(k)),
			finding.Text(w.from.String()), finding.Text(fmt.Sprint(w.k)))
	}
}

// lostRoute reads a route with an infinite delay (RFC 7868, 6.7 and 6.8): next hop,
// with an external one who redistributed it, 16 bytes of metric of which the delay
// is the first, length and bytes of the prefix.
func lostRoute(kind uint16, v []byte) (route string, lost bool) {
	const (
		internal4, external4 = 0x102, 0x103
		internal6, external6 = 0x402, 0x403
		origin               = 20 // router, system, tag, metric, what it came from
		metric               = 16
		unreachable          = 0xffffffff
	)
	at, size := 4, 4
	switch kind {
	case internal4:
	case external4:
		at += origin
	case internal6:
		at, size = 16, 16
	case external6:
		at, size = 16+origin, 16
	default:
		return "", false
	}
	if len(v) < at+metric+1 || binary.BigEndian.Uint32(v[at:]) != unreachable {
		return "", false
	}
	length, rest := int(v[at+metric]), v[at+metric+1:]
	addr := make([]byte, size)
	copy(addr, rest[:min(len(rest), (length+7)/8)])
	a, _ := netip.AddrFromSlice(addr)
	return netip.PrefixFrom(a, length).String(), true
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells of routers that are alone in their autonomous system.
func (a *analyzer) End(s *proto.Scope, _ proto.End) { a.alone(s) }
