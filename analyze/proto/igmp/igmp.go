// Package igmp reads the Internet Group Management Protocol (RFC 9776, RFC 2236):
// who asks for memberships, and groups that nobody asks about.
package igmp

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Queriers finding.Code = "igmp.several-queriers"
	None     finding.Code = "igmp.no-querier"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "igmp", Doc: "Internet Group Management Protocol, RFC 9776",
		Carrier: proto.IP, Numbers: []uint16{2},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= 8 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{asks: map[uint16]*asks{}} },
		Codes: []finding.Def{
			{
				Code: Queriers, Severity: finding.Info,
				Doc: "Two routers ask for memberships on one link in turns, three times or more each: only the one with the lower address should (RFC 9776, 7.1).",
				Metrics: []finding.Metric{
					{Name: "querier", Text: true, Doc: "one"},
					{Name: "other", Text: true, Doc: "another"},
				},
			},
			{
				Code: None, Severity: finding.Info,
				Doc: "Hosts report memberships for five minutes or longer and nobody asks for them (RFC 9776, 4.1: query interval 125 s): switches that listen (RFC 4541) forget the members, and multicast stops.",
				Metrics: []finding.Metric{
					{Name: "reports", Merge: finding.Max, Doc: "reports of hosts"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
		},
	}
}

const (
	query      = 0x11
	turns      = 5 // changes of the one who asks: three times each
	twoPeriods = 300
)

// asks is who asks on one link.
type asks struct {
	last    netip.Addr
	changes int
}

type analyzer struct {
	asks    map[uint16]*asks // by VLAN
	reports finding.Evidence
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || s.Duplicate() {
		return len(b), nil
	}
	if b[0] != query {
		a.reports.Add(s.Frame(), s.Now())
		return len(b), nil
	}
	from := flow.Addr(p.Src())
	if from.IsUnspecified() { // a switch that listens (RFC 4541, 2.1.1)
		from = netip.IPv4Unspecified()
	}
	x := a.asks[p.VLAN]
	if x == nil {
		x = &asks{last: from}
		a.asks[p.VLAN] = x
	}
	if x.last != from {
		if x.changes++; x.changes == turns {
			s.Report(Queriers, finding.Text(x.last.String()), finding.Text(from.String()))
		}
		x.last = from
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells whether nobody asked.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	if span := float64(a.reports.End-a.reports.Start) / 1e9; len(a.asks) == 0 && span >= twoPeriods {
		s.ReportEvidence(netip.Addr{}, None, a.reports, finding.Num(a.reports.Count), finding.Num(span))
	}
}
