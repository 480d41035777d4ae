// Package rip reads the Routing Information Protocol (RFC 2453) and its IPv6
// twin (RFC 2080): routes that are told to be unreachable.
package rip

import (
	"encoding/binary"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Unreachable is reported for a route with metric 16.
const Unreachable finding.Code = "rip.unreachable"

// Spec declares RIP for IPv4, and the code of both.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "rip", Doc: "Routing Information Protocol, RFC 2453",
		Carrier: proto.UDP, Ports: []uint16{520}, Weak: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{metric: map[netip.Prefix]byte{}} },
		Codes: []finding.Def{{
			Code: Unreachable, Severity: finding.Info,
			Doc: "A router announced a route with metric 16, which is infinity (RFC 2453, 3.6). withdrawn tells those that it had announced as reachable before from those that it only poisons for the neighbour from which it has them (3.4.3).",
			Metrics: []finding.Metric{
				{Name: "route", Text: true, Doc: "network"},
				{Name: "router", Text: true, Doc: "who announced it"},
				{Name: "withdrawn", Merge: finding.Sum, Doc: "routes that were reachable by it before"},
				{Name: "routes", Merge: finding.Sum, Doc: "routes with metric 16"},
			},
		}},
	}
}

// NG declares RIPng.
func NG() proto.Spec {
	return proto.Spec{
		Name: "ripng", Doc: "RIP for IPv6, RFC 2080",
		Carrier: proto.UDP, Ports: []uint16{521}, Weak: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{v6: true, metric: map[netip.Prefix]byte{}} },
	}
}

const (
	headLen, entryLen = 4, 20
	response          = 2
	infinity          = 16
	maxRoutes         = 4096
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) >= headLen+entryLen && (len(b)-headLen)%entryLen == 0 && b[0] >= 1 && b[0] <= 10 && b[1] >= 1 && b[1] <= 2 {
		return proto.Certain
	}
	return proto.No
}

type analyzer struct {
	v6     bool
	metric map[netip.Prefix]byte
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if len(b) < headLen || b[0] != response || s.Duplicate() {
		return len(b), nil
	}
	router := s.Client().Addr()
	if dir == flow.ToClient {
		router = s.Server().Addr()
	}
	for e := b[headLen:]; len(e) >= entryLen; e = e[entryLen:] {
		p, metric, ok := a.entry(e, b[1])
		if !ok {
			continue
		}
		last := a.metric[p]
		if last != 0 || len(a.metric) < maxRoutes {
			a.metric[p] = metric
		}
		if metric >= infinity {
			withdrawn := 0
			if last != 0 && last < infinity {
				withdrawn = 1
			}
			s.Report(Unreachable, finding.Text(p.String()), finding.Text(router.String()), finding.Num(withdrawn), finding.Num(1))
		}
	}
	return len(b), nil
}

func (a *analyzer) entry(e []byte, version byte) (p netip.Prefix, metric byte, ok bool) {
	if a.v6 {
		if e[18] > 128 || e[19] == 0xff {
			return p, 0, false
		}
		return netip.PrefixFrom(netip.AddrFrom16([16]byte(e[:16])), int(e[18])), e[19], true
	}
	const inet = 2
	m := binary.BigEndian.Uint32(e[16:])
	if binary.BigEndian.Uint16(e) != inet || m > infinity {
		return p, 0, false
	}
	bits := 32
	if version > 1 {
		bits = 0
		for mask := binary.BigEndian.Uint32(e[8:]); mask&(1<<31) != 0; mask <<= 1 {
			bits++
		}
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(e[4:8])), bits), byte(m), true
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
