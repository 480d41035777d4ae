package correlate

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Codes of address leases.
const (
	LeaseNoOffer     finding.Code = "dhcp.no-offer"
	LeaseNoFinish    finding.Code = "dhcp.offer-not-taken"
	LeaseRefused     finding.Code = "dhcp.nak"
	LeaseTwoServers  finding.Code = "dhcp.several-servers"
	LeaseStarvation  finding.Code = "dhcp.starvation"
	LeaseMessageRate finding.Code = "dhcp.flood"
)

const (
	// A client repeats its question after 4 s, 8 s ... (RFC 2131, 4.1), or after
	// 1 s, 2 s ... (RFC 8415, 7.6). A server checks by ping that the address is
	// free, for a second or more (RFC 2131, 2.2): two questions, or one that
	// waited 10 s.
	unofferedAsks     = 2
	unofferedPatience = 10 * second
	// A lease begins with one client: fifty hardware addresses that want one in
	// ten seconds, each seen once or twice, are a building after a power cut, or
	// one machine that makes them up. The metrics tell which.
	starvingClients = 15
	// Four clients a second renew in a network of ten thousand hosts with leases
	// of one hour; fifty messages a second are no clients that wait for answers.
	leaseMessages = 40
	maxLeases     = 1 << 14
	maxServers    = 64
)

// Leases reads what DHCP and DHCPv6 say.
func Leases() Spec {
	who := finding.Metric{Name: "client_mac", Text: true, Doc: "hardware address of the client"}
	v6 := finding.Metric{Name: "ipv6", Merge: finding.Max, Doc: "1 for DHCPv6"}
	return Spec{
		Name: "leases", Doc: "addresses that clients ask for: no offer, refused, two servers, too many clients",
		New: func() Correlator {
			return &leases{asks: map[leaseKey]*leaseAsk{}, servers: map[leaseNet][]leaseServer{}, clients: map[string]int{}}
		},
		Codes: []finding.Def{
			{
				Code: LeaseNoOffer, Severity: finding.Notice,
				Doc: "A client asked for an address and no server offered one (RFC 2131, 3.1; RFC 8415, 18.2.1).",
				Metrics: []finding.Metric{
					who,
					{Name: "attempts", Merge: finding.Sum, Doc: "times it asked"},
					{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first question to the end of the capture"},
					{Name: "others_served", Merge: finding.Max, Doc: "offers to other clients in the same capture"},
					v6,
				},
			},
			{
				Code: LeaseNoFinish, Severity: finding.Notice,
				Doc: "A client was offered an address, did not take it and asked again, three times or more: the offers do not reach it, or it cannot use them (RFC 2131, 3.1).",
				Metrics: []finding.Metric{
					who,
					{Name: "server", Text: true, Doc: "server that offered"},
					{Name: "attempts", Merge: finding.Sum, Doc: "times the client asked"},
					{Name: "offers", Merge: finding.Sum, Doc: "offers that it got"},
					{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first question to the last"},
					v6,
				},
			},
			{
				Code: LeaseRefused, Severity: finding.Notice,
				Doc: "A server refused the address that a client asked for (RFC 2131, 4.3.2: DHCPNAK; RFC 8415, 21.13). The finding's host is the server.",
				Metrics: []finding.Metric{
					who,
					{Name: "server", Text: true, Doc: "who refused"},
					{Name: "address", Text: true, Doc: "address asked for"},
					{Name: "message", Text: true, Doc: "reason as the server gives it"},
					{Name: "leased_afterwards", Merge: finding.Max, Doc: "1 when the client got another address later"},
					v6,
				},
			},
			{
				Code: LeaseTwoServers, Severity: finding.Notice,
				Doc: "Two servers offered addresses on one link. A pair that backs up each other (RFC 2131, 2.2) offers the same router and resolvers; differs says whether they do. The finding's host is the server that was seen later.",
				Metrics: []finding.Metric{
					{Name: "server", Text: true, Doc: "server seen first"},
					{Name: "other_server", Text: true, Doc: "server seen later"},
					{Name: "other_mac", Text: true, Doc: "hardware address of the latter"},
					{Name: "router", Text: true, Doc: "default gateway that the first gives"},
					{Name: "other_router", Text: true, Doc: "default gateway that the other gives"},
					{Name: "resolvers", Text: true, Doc: "resolvers that the first gives"},
					{Name: "other_resolvers", Text: true, Doc: "resolvers that the other gives"},
					{Name: "differs", Merge: finding.Max, Doc: "1 when router or resolvers differ"},
					{Name: "servers", Merge: finding.Max, Doc: "number of servers"},
					{Name: "offers", Merge: finding.Sum, Doc: "offers and acknowledgements of the later one"},
					v6,
				},
			},
			{
				Code: LeaseStarvation, Severity: finding.Notice,
				Doc: "Many clients that were never seen before asked for addresses within ten seconds (RFC 3118, 1). A building after a power cut does that once; made-up clients have names of their own only in the message, or addresses that no vendor gave out.",
				Metrics: []finding.Metric{
					{Name: "clients", Merge: finding.Max, Doc: "different hardware addresses within ten seconds"},
					{Name: "made_up", Merge: finding.Max, Doc: "of these with another source address in the frame, or locally administered"},
					{Name: "same_prefix", Merge: finding.Max, Doc: "of these with the two first bytes that most share"},
					{Name: "leases", Merge: finding.Max, Doc: "addresses given out in the capture"},
				},
			},
			{
				Code: LeaseMessageRate, Severity: finding.Notice,
				Doc: "Forty DHCP messages of clients or more within a second.",
				Metrics: []finding.Metric{
					{Name: "peak_per_second", Merge: finding.Max, Doc: "messages of clients in the worst second"},
					{Name: "messages", Merge: finding.Max, Doc: "messages of clients in the capture"},
					{Name: "clients", Merge: finding.Max, Doc: "different hardware addresses"},
					{Name: "sources", Merge: finding.Max, Doc: "different source addresses"},
				},
			},
		},
	}
}

type leaseKey struct {
	client string
	v6     bool
}

type leaseNet struct {
	vlan uint16
	v6   bool
}

// leaseAsk is what one client asks for, until it has it.
type leaseAsk struct {
	mac          [6]byte
	ev           finding.Evidence
	asks, offers int
	server       netip.Addr
	want         netip.Addr // address asked for last
	taken        bool
	refused      []finding.Finding
	last         int64
	served       bool // it got an address at any time
}

type leaseServer struct {
	id, router netip.Addr
	dns        []netip.Addr
	mac        [6]byte
	offers     int
	ev         finding.Evidence
}

type leases struct {
	asks    map[leaseKey]*leaseAsk
	order   []leaseKey
	servers map[leaseNet][]leaseServer
	nets    []leaseNet
	offers  int
	acks    int
	now     int64

	clients map[string]int // times each was seen
	fresh   []freshClient  // of the last ten seconds
	starve  struct {
		clients, madeUp, prefix int
		ev                      finding.Evidence
	}
	rate struct {
		second        int64
		in, peak, all int
		sources       map[netip.Addr]struct{}
		now, ev       finding.Evidence // of the second that is counted, and of the worst
	}
}

type freshClient struct {
	at     int64
	frame  uint64
	mac    [6]byte
	madeUp bool
}

// Hears implements Listener.
func (*leases) Hears() []any { return []any{(*proto.Lease)(nil)} }

// Event takes leases.
func (l *leases) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*proto.Lease)
	if !ok {
		return
	}
	l.now = e.Time
	switch x.Op {
	case proto.LeaseDiscover:
		l.client(e, x)
		l.fromClient(e, x)
	case proto.LeaseRequest:
		l.fromClient(e, x)
		if a := l.ask(x); a != nil {
			a.taken, a.want = true, x.Address
		}
	case proto.LeaseInform, proto.LeaseRelease, proto.LeaseDecline:
		l.fromClient(e, x)
	case proto.LeaseOffer:
		l.offers++
		if a := l.asks[key(x)]; a != nil {
			a.offers++
			a.server = x.Server
			a.ev.Add(e.Frame, e.Time)
		}
		l.server(e, x)
	case proto.LeaseAck:
		l.acks++
		if a := l.asks[key(x)]; a != nil {
			a.taken, a.served = true, true
			a.offers++
		}
		l.server(e, x)
	case proto.LeaseNak:
		l.nak(e, x)
	case proto.LeaseNone:
	}
}

func key(x *proto.Lease) leaseKey {
	if x.ID != "" {
		return leaseKey{x.ID, true}
	}
	return leaseKey{string(x.Client[:]), x.V6}
}

func (l *leases) ask(x *proto.Lease) *leaseAsk {
	k := key(x)
	a := l.asks[k]
	if a == nil {
		if len(l.asks) >= maxLeases {
			return nil
		}
		a = &leaseAsk{mac: x.Client}
		l.asks[k] = a
		l.order = append(l.order, k)
	}
	return a
}

// client notes a question for an address.
func (l *leases) client(e *proto.Event, x *proto.Lease) {
	a := l.ask(x)
	if a == nil {
		return
	}
	if a.taken { // it begins anew
		a.ev, a.asks, a.offers, a.taken = finding.Evidence{}, 0, 0, false
	}
	a.asks++
	a.last = e.Time
	a.ev.Add(e.Frame, e.Time)
	l.starving(e, x)
}

func (l *leases) nak(e *proto.Event, x *proto.Lease) {
	a := l.ask(x)
	if a == nil || len(a.refused) >= finding.MaxFrames {
		return
	}
	a.taken = true // answered, if with no
	var ev finding.Evidence
	ev.Add(e.Frame, e.Time)
	server := x.Server
	if !server.IsValid() {
		server = x.From.Addr()
	}
	a.refused = append(a.refused, finding.Finding{
		Code: LeaseRefused, Severity: finding.Notice, Host: server, Evidence: ev,
		Values: []finding.Value{
			finding.Text(proto.MACText(x.Client)), finding.Text(server.String()), finding.Text(leaseAddr(cmp.Or(x.Address, a.want))),
			finding.Text(x.Name), finding.Num(0), flag(x.V6),
		},
	})
}

func leaseAddr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// server notes who gives addresses on which link.
func (l *leases) server(e *proto.Event, x *proto.Lease) {
	id := x.Server
	if !id.IsValid() || !x.Address.IsValid() {
		return // an answer to INFORM says nothing of addresses
	}
	n := leaseNet{x.VLAN, x.V6}
	all := l.servers[n]
	if all == nil {
		l.nets = append(l.nets, n)
	}
	i := slices.IndexFunc(all, func(s leaseServer) bool { return s.id == id })
	if i < 0 {
		if len(all) >= maxServers {
			return
		}
		i = len(all)
		all = append(all, leaseServer{id: id, router: x.Router, dns: x.DNS, mac: x.SrcMAC})
		l.servers[n] = all
	}
	if x.Op == proto.LeaseOffer {
		all[i].offers++
		all[i].ev.Add(e.Frame, e.Time)
	}
}

// starving counts clients that nobody has seen before.
func (l *leases) starving(e *proto.Event, x *proto.Lease) {
	k := string(x.Client[:])
	if len(l.clients) < maxLeases {
		l.clients[k]++
	}
	if l.clients[k] != 1 {
		return
	}
	const window, most = 10 * second, 512
	drop := 0
	for drop < len(l.fresh) && (e.Time-l.fresh[drop].at > window || len(l.fresh)-drop >= most) {
		drop++
	}
	l.fresh = slices.Delete(l.fresh, 0, drop)
	l.fresh = append(l.fresh, freshClient{
		at: e.Time, frame: e.Frame, mac: x.Client,
		madeUp: x.Client[0]&2 != 0 || x.SrcMAC != [6]byte{} && x.SrcMAC != x.Client && !x.Relay.IsValid() && !x.V6,
	})
	if len(l.fresh) < starvingClients {
		return
	}
	if l.starve.ev.Count == 0 {
		for _, f := range l.fresh[:len(l.fresh)-1] {
			l.starve.ev.Add(f.frame, f.at)
		}
	}
	l.starve.ev.Add(e.Frame, e.Time)
	if len(l.fresh) <= l.starve.clients {
		return
	}
	madeUp, prefixes, largest := 0, map[[2]byte]int{}, 0
	for _, f := range l.fresh {
		if f.madeUp {
			madeUp++
		}
		p := [2]byte(f.mac[:2])
		prefixes[p]++
		largest = max(largest, prefixes[p])
	}
	l.starve.clients, l.starve.madeUp, l.starve.prefix = len(l.fresh), madeUp, largest
}

// fromClient counts what clients send.
func (l *leases) fromClient(e *proto.Event, x *proto.Lease) {
	r := &l.rate
	if sec := e.Time / second; sec != r.second {
		r.second, r.in, r.now = sec, 0, finding.Evidence{}
	}
	r.in++
	r.all++
	r.now.Add(e.Frame, e.Time)
	if r.in > r.peak {
		r.peak, r.ev = r.in, r.now
	}
	if r.sources == nil {
		r.sources = map[netip.Addr]struct{}{}
	}
	if len(r.sources) < maxTracks {
		r.sources[x.From.Addr()] = struct{}{}
	}
	if len(l.clients) < maxLeases {
		l.clients[string(x.Client[:])] += 0
	}
}

// End tells what the clients got.
func (l *leases) End(o *Out) {
	if l.starve.clients > 0 {
		o.Emit(finding.Finding{
			Code: LeaseStarvation, Severity: finding.Notice, Evidence: l.starve.ev,
			Values: []finding.Value{
				finding.Num(l.starve.clients), finding.Num(l.starve.madeUp), finding.Num(l.starve.prefix), finding.Num(l.acks),
			},
		})
	}
	if l.rate.peak >= leaseMessages {
		ev := l.rate.ev
		ev.Frames = slices.Clone(ev.Frames)
		o.Emit(finding.Finding{
			Code: LeaseMessageRate, Severity: finding.Notice, Evidence: ev,
			Values: []finding.Value{
				finding.Num(l.rate.peak), finding.Num(l.rate.all), finding.Num(len(l.clients)), finding.Num(len(l.rate.sources)),
			},
		})
	}
	for _, k := range l.order {
		l.finish(o, k, l.asks[k])
	}
	for _, n := range l.nets {
		l.several(o, n, l.servers[n])
	}
}

func (l *leases) finish(o *Out, k leaseKey, a *leaseAsk) {
	for _, f := range a.refused {
		f.Values[4] = flag(a.served)
		o.Emit(f)
	}
	if a.asks == 0 || a.taken {
		return
	}
	waited := float64(l.now-a.ev.Start) / second
	const offersIgnored = 3
	switch {
	case a.offers == 0 && (a.asks >= unofferedAsks || l.now-a.ev.Start >= unofferedPatience):
		o.Emit(finding.Finding{
			Code: LeaseNoOffer, Severity: finding.Notice, Evidence: a.ev,
			Values: []finding.Value{
				finding.Text(proto.MACText(a.mac)), finding.Num(a.asks), finding.Num(waited), finding.Num(l.offers), flag(k.v6),
			},
		})
	case a.offers > 0 && a.asks >= offersIgnored:
		o.Emit(finding.Finding{
			Code: LeaseNoFinish, Severity: finding.Notice, Evidence: a.ev,
			Values: []finding.Value{
				finding.Text(proto.MACText(a.mac)), finding.Text(leaseAddr(a.server)), finding.Num(a.asks), finding.Num(a.offers),
				finding.Num(float64(a.last-a.ev.Start) / second), flag(k.v6),
			},
		})
	}
}

func (*leases) several(o *Out, n leaseNet, all []leaseServer) {
	offering := 0
	for i := range all {
		if all[i].offers > 0 {
			offering++
		}
	}
	if offering < 2 {
		return
	}
	first := slices.IndexFunc(all, func(s leaseServer) bool { return s.offers > 0 })
	a := &all[first]
	for i := first + 1; i < len(all); i++ {
		b := &all[i]
		if b.offers == 0 {
			continue
		}
		ev := a.ev
		ev.Join(&b.ev)
		if b.ev.First < ev.First {
			ev.First, ev.Start = b.ev.First, b.ev.Start
		}
		o.Emit(finding.Finding{
			Code: LeaseTwoServers, Severity: finding.Notice, Host: b.id, Evidence: ev,
			Values: []finding.Value{
				finding.Text(a.id.String()), finding.Text(b.id.String()), finding.Text(proto.MACText(b.mac)),
				finding.Text(leaseAddr(a.router)), finding.Text(leaseAddr(b.router)),
				finding.Text(leaseAddrs(a.dns)), finding.Text(leaseAddrs(b.dns)),
				flag(a.router != b.router || !slices.Equal(a.dns, b.dns)),
				finding.Num(offering), finding.Num(b.offers), flag(n.v6),
			},
		})
	}
}

func leaseAddrs(all []netip.Addr) string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.String()
	}
	return strings.Join(out, " ")
}
