// Package ospf reads Open Shortest Path First, version 2 (RFC 2328) and 3 (RFC
// 5340): adjacencies that do not come up, and hellos that do not agree.
package ospf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	MTU      finding.Code = "ospf.mtu-mismatch"
	ExStart  finding.Code = "ospf.exstart-stuck"
	Hello    finding.Code = "ospf.hello-mismatch"
	Neighbor finding.Code = "ospf.neighbor-lost"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	router := finding.Metric{Name: "router", Text: true, Doc: "address of the one"}
	other := finding.Metric{Name: "other", Text: true, Doc: "address of the other"}
	return proto.Spec{
		Name: "ospf", Doc: "Open Shortest Path First, RFC 2328 and RFC 5340",
		Carrier: proto.IP, Numbers: []uint16{89},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= 16 && (b[0] == 2 || b[0] == 3) && b[1] >= 1 && b[1] <= 5 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer {
			return &analyzer{pairs: map[pair]*exchange{}, hellos: map[link]hello{}, seen: map[netip.Addr]heard{}}
		},
		Codes: []finding.Def{
			{
				Code: MTU, Severity: finding.Warning,
				Doc: "Two neighbours tell different MTUs in their database descriptions: the one with the smaller refuses those of the other, and the adjacency stays in ExStart or Exchange (RFC 2328, 10.6). The finding's host is the one with the smaller MTU.",
				Metrics: []finding.Metric{
					router, other,
					{Name: "mtu", Doc: "of router, bytes"},
					{Name: "other_mtu", Doc: "of other, bytes"},
					{Name: "repeats", Merge: finding.Max, Doc: "first descriptions sent, by both"},
				},
			},
			{
				Code: ExStart, Severity: finding.Notice,
				Doc: "A router began to describe its database to a neighbour five times or more and got no further (RFC 2328, 10.8).",
				Metrics: []finding.Metric{
					router, other,
					{Name: "repeats", Merge: finding.Max, Doc: "first descriptions sent"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
			{
				Code: Hello, Severity: finding.Warning,
				Doc: "Hellos on one link do not agree in what has to be the same: intervals, mask, area, stub flag, authentication (RFC 2328, 10.5), or two routers have the same id. These routers do not become neighbours.",
				Metrics: []finding.Metric{
					router, other,
					{Name: "field", Text: true, Doc: "what differs"},
					{Name: "value", Text: true, Doc: "the one's"},
					{Name: "other_value", Text: true, Doc: "the other's"},
					{Name: "same", Merge: finding.Max, Doc: "1 when it is what has to differ: the router id"},
				},
			},
			{
				Code: Neighbor, Severity: finding.Notice,
				Doc: "A router no longer lists a neighbour that it had listed (RFC 2328, 9.5): it did not hear its hellos for the dead interval, or the link went down.",
				Metrics: []finding.Metric{
					router,
					{Name: "neighbor", Text: true, Doc: "router id of the one that is gone"},
					{Name: "times", Merge: finding.Sum, Doc: "times"},
				},
			},
		},
	}
}

// Packet types.
const (
	typeHello, typeDD, typeRequest = 1, 2, 3
	headV2, headV3                 = 24, 16
	flagInit                       = 4
	stuckDD                        = 5 // RFC 2328, 10.8: one each RxmtInterval, 5 s: 20 s without answer
	authSimple, authMD5            = 1, 2
	maxState                       = 1024
)

type pair struct{ from, to netip.Addr }

// exchange is what one router sends another of its database.
type exchange struct {
	mtu   uint16
	inits uint64
	ev    finding.Evidence
	more  bool // it got further
	told  bool
}

type link struct {
	vlan uint16
	v6   bool
}

type hello struct {
	from       netip.Addr
	area, mask uint32
	interval   uint16
	dead       uint32
	stub       byte
	auth       uint16
	key        uint64 // password of simple authentication, key id of MD5 (RFC 2328, D)
	id         uint32 // of the router
}

// heard is the list of neighbours of a router's last hello.
type heard struct{ ids map[uint32]bool }

type analyzer struct {
	pairs  map[pair]*exchange
	order  []pair
	hellos map[link]hello
	seen   map[netip.Addr]heard
}

// Data takes one packet.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	n := len(b)
	p := s.Packet()
	if s.Duplicate() || p == nil {
		return n, nil
	}
	from, to := flow.Addr(p.Src()), flow.Addr(p.Dst())
	head := headV2
	if b[0] == 3 {
		head = headV3
	}
	if len(b) < head {
		s.Malformed("OSPF packet shorter than its head")
		return n, nil
	}
	// What comes behind the length is for link-local signaling (RFC 5613).
	b = b[:min(len(b), max(head, int(binary.BigEndian.Uint16(b[2:]))))]
	switch b[1] {
	case typeHello:
		a.hello(s, link{p.VLAN, b[0] == 3}, from, to, b, head)
	case typeDD:
		a.describe(s, pair{from, to}, b, head)
	case typeRequest:
		if x := a.pairs[pair{from, to}]; x != nil {
			x.more = true
		}
	}
	return n, nil
}

func (a *analyzer) hello(s *proto.Scope, l link, from, to netip.Addr, b []byte, head int) {
	h := hello{from: from, id: binary.BigEndian.Uint32(b[4:])}
	v := b[head:]
	if len(v) < 20 {
		return
	}
	if b[0] == 2 {
		h.area, h.auth = binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint16(b[14:])
		switch h.auth {
		case authSimple:
			h.key = binary.BigEndian.Uint64(b[16:])
		case authMD5:
			h.key = uint64(b[18])
		}
		h.mask, h.interval, h.dead = binary.BigEndian.Uint32(v), binary.BigEndian.Uint16(v[4:]), binary.BigEndian.Uint32(v[8:])
		h.stub = v[6] & 0x0a // E and N
	} else {
		h.area = binary.BigEndian.Uint32(b[8:])
		h.interval, h.dead = binary.BigEndian.Uint16(v[8:]), uint32(binary.BigEndian.Uint16(v[10:]))
		h.stub = v[7] & 0x0a
	}
	a.neighbours(s, from, v[20:])
	if !to.IsMulticast() {
		return // virtual links and NBMA: who shares a link is unknown
	}
	was, known := a.hellos[l]
	switch {
	case !known:
		if len(a.hellos) < maxState {
			a.hellos[l] = h
		}
	case was.from == from:
		a.hellos[l] = h
	case was.id == h.id && h.neighbour(&was):
		s.ReportHost(from, Hello, finding.Text(was.from.String()), finding.Text(from.String()),
			finding.Text("router id"), finding.Text(routerID(h.id)), finding.Text(routerID(h.id)), finding.Num(1))
	case l.v6 || h.neighbour(&was):
		if field, x, y := was.differs(&h); field != "" {
			s.ReportHost(from, Hello, finding.Text(was.from.String()), finding.Text(from.String()),
				finding.Text(field), finding.Text(x), finding.Text(y), finding.Num(0))
		}
	}
}

// neighbour reports whether two routers of IPv4 are in one network by the mask of
// either; others are on different links, which a capture of several interfaces
// shows together.
func (h *hello) neighbour(o *hello) bool {
	if !h.from.Is4() || !o.from.Is4() {
		return false
	}
	a, b := h.from.As4(), o.from.As4()
	differ := binary.BigEndian.Uint32(a[:]) ^ binary.BigEndian.Uint32(b[:])
	return differ&h.mask == 0 || differ&o.mask == 0
}

func (h *hello) differs(o *hello) (field, x, y string) {
	num := func(a, b uint32) (string, string) {
		return strconv.FormatUint(uint64(a), 10), strconv.FormatUint(uint64(b), 10)
	}
	switch {
	case h.area != o.area:
		field = "area"
		x, y = num(h.area, o.area)
	case h.interval != o.interval:
		field = "hello interval"
		x, y = num(uint32(h.interval), uint32(o.interval))
	case h.dead != o.dead:
		field = "dead interval"
		x, y = num(h.dead, o.dead)
	case h.mask != o.mask:
		field, x, y = "network mask", fmt.Sprintf("%08x", h.mask), fmt.Sprintf("%08x", o.mask)
	case h.stub != o.stub:
		field = "stub area flags"
		x, y = num(uint32(h.stub), uint32(o.stub))
	case h.auth != o.auth:
		field = "authentication type"
		x, y = num(uint32(h.auth), uint32(o.auth))
	case h.key != o.key && h.auth == authSimple:
		field, x, y = "password", strconv.Itoa(length(h.key))+" bytes", strconv.Itoa(length(o.key))+" bytes"
	case h.key != o.key:
		field, x, y = "key id", strconv.FormatUint(h.key, 10), strconv.FormatUint(o.key, 10)
	}
	return field, x, y
}

// length of a password: it is told, and the password is not.
func length(key uint64) int { return 8 - bits.TrailingZeros64(key)/8 }

func routerID(id uint32) string {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, id))).String()
}

// neighbours compares the list of a hello with that of the one before.
func (a *analyzer) neighbours(s *proto.Scope, from netip.Addr, b []byte) {
	now := heard{ids: map[uint32]bool{}}
	for ; len(b) >= 4 && len(now.ids) < maxState; b = b[4:] {
		now.ids[binary.BigEndian.Uint32(b)] = true
	}
	was, known := a.seen[from]
	if !known && len(a.seen) >= maxState {
		return
	}
	a.seen[from] = now
	lost, id := uint32(0), uint32(0)
	for k := range was.ids {
		if !now.ids[k] && (lost == 0 || k < id) {
			id = k
			lost++
		}
	}
	if lost > 0 {
		s.ReportHost(from, Neighbor, finding.Text(from.String()),
			finding.Text(routerID(id)), finding.Num(1))
	}
}

func (a *analyzer) describe(s *proto.Scope, k pair, b []byte, head int) {
	v := b[head:]
	at := 0 // RFC 2328, A.3.3: MTU, options, flags
	if b[0] == 3 {
		at = 4 // RFC 5340, A.3.3: zero and options first
	}
	if len(v) < at+8 {
		return
	}
	flags := v[3]
	if b[0] == 3 {
		flags = v[7]
	}
	x := a.pairs[k]
	if x == nil {
		if len(a.pairs) >= maxState {
			return
		}
		x = &exchange{}
		a.pairs[k] = x
		a.order = append(a.order, k)
	}
	x.mtu = binary.BigEndian.Uint16(v[at:])
	if flags&flagInit == 0 {
		x.more = true
		return
	}
	x.inits++
	x.ev.Add(s.Frame(), s.Now())
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells which adjacencies did not come up.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	for _, k := range a.order {
		x := a.pairs[k]
		y := a.pairs[pair{k.to, k.from}]
		switch {
		case x.told:
		case y != nil && x.mtu != y.mtu && x.mtu != 0 && y.mtu != 0 && x.inits+y.inits >= 2:
			y.told = true
			if y.mtu < x.mtu {
				x, y, k = y, x, pair{k.to, k.from}
			}
			ev := x.ev
			if ev.Count == 0 || y.ev.Count > 0 && y.ev.First < ev.First {
				ev = y.ev
				ev.Join(&x.ev)
			} else {
				ev.Join(&y.ev)
			}
			s.ReportEvidence(k.from, MTU, ev, finding.Text(k.from.String()), finding.Text(k.to.String()),
				finding.Num(x.mtu), finding.Num(y.mtu), finding.Num(x.inits+y.inits))
		case x.inits >= stuckDD && !x.more:
			s.ReportEvidence(k.from, ExStart, x.ev, finding.Text(k.from.String()), finding.Text(k.to.String()),
				finding.Num(x.inits), finding.Num(float64(x.ev.End-x.ev.Start)/1e9))
		}
	}
}
