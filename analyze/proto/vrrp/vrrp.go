// Package vrrp reads the Virtual Router Redundancy Protocol (RFC 9568, RFC 3768):
// who is the master of a virtual router, and when that changes.
package vrrp

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	MasterChange finding.Code = "vrrp.master-change"
	TwoMasters   finding.Code = "vrrp.two-masters"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	id := finding.Metric{Name: "virtual_router", Doc: "number of the virtual router"}
	return proto.Spec{
		Name: "vrrp", Doc: "Virtual Router Redundancy Protocol, RFC 9568",
		Carrier: proto.IP, Numbers: []uint16{112},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= 8 && b[0]&15 == 1 && (b[0]>>4 == 2 || b[0]>>4 == 3) {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{routers: map[key]*master{}} },
		Codes: []finding.Def{
			{
				Code: MasterChange, Severity: finding.Notice,
				Doc: "Another router speaks for a virtual router: the master was silent, resigned (priority 0), or was pre-empted by a higher priority (RFC 9568, 6.4). The finding's host is the new master.",
				Metrics: []finding.Metric{
					id,
					{Name: "from", Text: true, Doc: "master before"},
					{Name: "to", Text: true, Doc: "master now"},
					{Name: "from_priority", Doc: "priority of the former"},
					{Name: "to_priority", Doc: "priority of the latter"},
					{Name: "silent_seconds", Merge: finding.Max, Doc: "from the last word of the former to the first of the latter"},
					{Name: "resigned", Merge: finding.Max, Doc: "1 when the former resigned"},
				},
			},
			{
				Code: TwoMasters, Severity: finding.Warning,
				Doc: "Two routers speak for one virtual router in turns: they do not hear each other (RFC 9568, 6.4.3), or are set up differently. The finding's host is one of them.",
				Metrics: []finding.Metric{
					id,
					{Name: "router", Text: true, Doc: "one of them"},
					{Name: "other", Text: true, Doc: "the other"},
					{Name: "changes", Merge: finding.Max, Doc: "times that the speaker changed"},
				},
			},
		},
	}
}

type key struct {
	id byte
	v6 bool
}

type master struct {
	addr     netip.Addr
	priority byte
	at       int64
	changes  int
}

const (
	maxRouters = 512
	// An election is over after two or three advertisements of both; six changes
	// of the speaker are none.
	manyChanges = 6
)

type analyzer struct{ routers map[key]*master }

// Data takes one advertisement.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if s.Duplicate() || s.Packet() == nil {
		return len(b), nil
	}
	from := flow.Addr(s.Packet().Src())
	k := key{b[1], from.Is6()}
	m := a.routers[k]
	if m == nil {
		if len(a.routers) < maxRouters {
			a.routers[k] = &master{addr: from, priority: b[2], at: s.Now()}
		}
		return len(b), nil
	}
	if m.addr != from && b[2] > 0 {
		resigned := 0
		if m.priority == 0 {
			resigned = 1
		}
		m.changes++
		if m.changes < manyChanges {
			s.ReportHost(from, MasterChange, finding.Num(k.id), finding.Text(m.addr.String()), finding.Text(from.String()),
				finding.Num(m.priority), finding.Num(b[2]), finding.Num(float64(s.Now()-m.at)/1e9), finding.Num(resigned))
		}
		if m.changes >= manyChanges {
			s.ReportHost(lower(from, m.addr), TwoMasters, finding.Num(k.id), finding.Text(lower(from, m.addr).String()),
				finding.Text(higher(from, m.addr).String()), finding.Num(m.changes))
		}
		m.addr = from
	}
	if m.addr == from {
		m.priority, m.at = b[2], s.Now()
	}
	return len(b), nil
}

func lower(a, b netip.Addr) netip.Addr {
	if b.Less(a) {
		return b
	}
	return a
}

func higher(a, b netip.Addr) netip.Addr {
	if b.Less(a) {
		return a
	}
	return b
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
