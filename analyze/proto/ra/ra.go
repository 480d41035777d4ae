// Package ra reads router advertisements of IPv6 (RFC 4861, 4.2): who offers
// itself as default router, and advertisements that hosts must not believe.
package ra

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	IllegalHopLimit finding.Code = "ra.illegal-hop-limit"
	Leaving         finding.Code = "ra.leaving"
	SeveralRouters  finding.Code = "ra.several-routers"
	Flood           finding.Code = "ra.flood"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	router := finding.Metric{Name: "router", Text: true, Doc: "link-local address of the router"}
	mac := finding.Metric{Name: "router_mac", Text: true, Doc: "its hardware address"}
	return proto.Spec{
		Name: "icmpv6", Doc: "IPv6 router advertisements, RFC 4861, 4.2",
		Carrier: proto.ICMP, Numbers: []uint16{flow.ICMPv6},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= headLen && b[0] == advertisement && b[1] == 0 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{routers: map[netip.Addr]*router6{}} },
		Codes: []finding.Def{
			{
				Code: IllegalHopLimit, Severity: finding.Notice,
				Doc: "A router advertisement came with a hop limit other than 255: it passed a router or was made elsewhere, and hosts must discard it (RFC 4861, 6.1.2).",
				Metrics: []finding.Metric{
					router, mac,
					{Name: "hop_limit", Doc: "hop limit of the packet"},
					{Name: "times", Merge: finding.Sum, Doc: "advertisements"},
				},
			},
			{
				Code: Leaving, Severity: finding.Notice,
				Doc: "A router that was a default router announced lifetime 0: hosts drop it from their list (RFC 4861, 6.2.5).",
				Metrics: []finding.Metric{
					router, mac,
					{Name: "lifetime_before_seconds", Doc: "lifetime that it announced before"},
					{Name: "times", Merge: finding.Sum, Doc: "advertisements"},
				},
			},
			{
				Code: SeveralRouters, Severity: finding.Info,
				Doc: "Several routers offer themselves as default router of one link. Where one announces other prefixes than the first, it may be a stranger (RFC 6104).",
				Metrics: []finding.Metric{
					router, mac,
					{Name: "first_router", Text: true, Doc: "router seen first"},
					{Name: "prefix", Text: true, Doc: "prefix that this one announces"},
					{Name: "first_prefix", Text: true, Doc: "prefix that the first announces"},
					{Name: "differs", Merge: finding.Max, Doc: "1 when it announces a prefix that the first does not"},
					{Name: "routers", Merge: finding.Max, Doc: "default routers seen"},
				},
			},
			{
				Code: Flood, Severity: finding.Warning,
				Doc: "Advertisements came from twenty routers or more: a link has a handful; a program makes them up to load the hosts (RFC 6104, 2.1).",
				Metrics: []finding.Metric{
					{Name: "routers", Merge: finding.Max, Doc: "different addresses"},
					router, mac,
				},
			},
		},
	}
}

const (
	advertisement = 134
	headLen       = 16
	legalHopLimit = 255
	optPrefix     = 3
	maxRouters    = 1 << 12
	maxPrefixes   = 8
	floodRouters  = 20
)

type router6 struct {
	lifetime uint16
	prefixes []netip.Prefix
	told     bool
}

type analyzer struct {
	routers map[netip.Addr]*router6
	first   netip.Addr // the first that is a default router
	vlan    uint16
}

// Data takes one advertisement.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if s.Duplicate() || p == nil {
		return len(b), nil
	}
	from := flow.Addr(p.Src())
	src, _, _ := p.MACs(s.Bytes())
	who, mac := finding.Text(from.String()), finding.Text(proto.MACText(src))
	if p.TTL != legalHopLimit {
		s.ReportHost(from, IllegalHopLimit, who, mac, finding.Num(p.TTL), finding.Num(1))
		return len(b), nil
	}
	lifetime := binary.BigEndian.Uint16(b[6:])
	r := a.routers[from]
	if r == nil {
		if len(a.routers) >= maxRouters {
			return len(b), nil
		}
		r = &router6{}
		a.routers[from] = r
		if n := len(a.routers); n >= floodRouters {
			s.Report(Flood, finding.Num(n), who, mac)
		}
	}
	if lifetime == 0 && r.lifetime > 0 {
		s.ReportHost(from, Leaving, who, mac, finding.Num(r.lifetime), finding.Num(1))
	}
	r.lifetime = lifetime
	r.read(b[headLen:])
	if lifetime > 0 {
		a.another(s, from, r, who, mac, p.VLAN)
	}
	return len(b), nil
}

func (a *analyzer) another(s *proto.Scope, from netip.Addr, r *router6, who, mac finding.Value, vlan uint16) {
	if !a.first.IsValid() {
		a.first, a.vlan = from, vlan
		return
	}
	if a.first == from || r.told || vlan != a.vlan || len(a.routers) >= floodRouters {
		return
	}
	r.told = true
	first := a.routers[a.first]
	differs := 0
	for _, p := range r.prefixes {
		if !slices.Contains(first.prefixes, p) {
			differs = 1
		}
	}
	live := 0
	for _, x := range a.routers {
		if x.lifetime > 0 {
			live++
		}
	}
	s.ReportHost(from, SeveralRouters, who, mac, finding.Text(a.first.String()), finding.Text(one(r.prefixes)),
		finding.Text(one(first.prefixes)), finding.Num(differs), finding.Num(live))
}

func one(p []netip.Prefix) string {
	if len(p) == 0 {
		return ""
	}
	return p[0].String()
}

// read notes the prefixes (RFC 4861, 4.6.2).
func (r *router6) read(b []byte) {
	for len(b) >= 8 {
		n := 8 * int(b[1])
		if n == 0 || n > len(b) {
			return
		}
		if b[0] == optPrefix && n >= 32 && b[2] <= 128 {
			p := netip.PrefixFrom(netip.AddrFrom16([16]byte(b[16:32])), int(b[2])).Masked()
			if !slices.Contains(r.prefixes, p) && len(r.prefixes) < maxPrefixes {
				r.prefixes = append(r.prefixes, p)
			}
		}
		b = b[n:]
	}
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
