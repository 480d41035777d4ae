// Package hsrp reads Cisco's Hot Standby Router Protocol (RFC 2281; version 2 as
// documented by the vendor): who is the active router, and when that changes.
package hsrp

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Takeover finding.Code = "hsrp.takeover"
	Resign   finding.Code = "hsrp.resign"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	group := finding.Metric{Name: "group", Doc: "standby group"}
	router := finding.Metric{Name: "router", Text: true, Doc: "the router"}
	virtual := finding.Metric{Name: "virtual", Text: true, Doc: "address that the group serves"}
	return proto.Spec{
		Name: "hsrp", Doc: "Hot Standby Router Protocol, RFC 2281",
		Carrier: proto.UDP, Ports: []uint16{1985}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if _, ok := parse(b); ok {
				return proto.Likely
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{groups: map[uint16]message{}} },
		Codes: []finding.Def{
			{
				Code: Takeover, Severity: finding.Notice,
				Doc: "A router that stood by became the active one: the active router was silent for the hold time, resigned or was pre-empted (RFC 2281, 5).",
				Metrics: []finding.Metric{
					group, router, virtual,
					{Name: "priority", Doc: "its priority"},
					{Name: "coup", Merge: finding.Max, Doc: "1 when it said so by a coup: it pre-empted the other"},
				},
			},
			{
				Code: Resign, Severity: finding.Notice,
				Doc:     "The active router gave up its role (RFC 2281, 5: resign).",
				Metrics: []finding.Metric{group, router, virtual, {Name: "priority", Doc: "its priority"}},
			},
		},
	}
}

const (
	opCoup, opResign = 1, 2
	active           = 16 // states of version 1
	active2          = 6  // of version 2
)

type message struct {
	op, state, priority byte
	group               uint16
	virtual             netip.Addr
	active              bool
}

func parse(b []byte) (m message, ok bool) {
	switch {
	case len(b) >= 20 && b[0] == 0 && b[1] <= 3 && b[2] <= active: // version 1
		m = message{op: b[1], state: b[2], priority: b[5], group: uint16(b[6]), virtual: netip.AddrFrom4([4]byte(b[16:20]))}
		m.active = m.state == active
		return m, true
	case len(b) >= 42 && b[0] == 1 && b[1] >= 40 && b[2] == 2: // version 2: a TLV
		m = message{op: b[3], state: b[4], group: uint16(b[6])<<8 | uint16(b[7]), priority: b[17]}
		if b[5] == 4 {
			m.virtual = netip.AddrFrom4([4]byte(b[26:30]))
		} else {
			m.virtual = netip.AddrFrom16([16]byte(b[26:42]))
		}
		m.active = m.state == active2
		return m, true
	}
	return message{}, false
}

const maxGroups = 256

type analyzer struct{ groups map[uint16]message }

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	m, ok := parse(b)
	if !ok || s.Duplicate() || m.op > opResign {
		return len(b), nil
	}
	last, known := a.groups[m.group]
	if !known && len(a.groups) >= maxGroups {
		return len(b), nil
	}
	a.groups[m.group] = m
	router := finding.Text(s.Client().Addr().String())
	v := []finding.Value{finding.Num(m.group), router, finding.Text(m.virtual.String()), finding.Num(m.priority)}
	switch {
	case m.op == opResign:
		s.Report(Resign, v...)
	case known && !last.active && m.active, !known && m.op == opCoup:
		coup := 0
		if m.op == opCoup {
			coup = 1
		}
		s.Report(Takeover, append(v, finding.Num(coup))...)
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
