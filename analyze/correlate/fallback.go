package correlate

import (
	"cmp"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// Codes of paths that many connections share.
const (
	IPv6Fallback finding.Code = "ipv6.fallback"
	NoReturn     finding.Code = "gateway.no-return"
)

const (
	// A client that prefers IPv6 starts IPv4 within 250 ms (RFC 8305, 5); one
	// that waits for TCP to give up takes as long as its SYNs, two minutes and
	// more (RFC 9293, 3.8.3).
	fallbackWithin = 150 * second
	// Three peers that have nothing in common but the first hop: one or two may
	// be down by themselves.
	silentPeers = 3
	maxAttempts = 1 << 14
)

// Paths finds faults that only several connections of a host show together:
// IPv6 that fails where IPv4 works, and a gateway behind which everybody is
// silent.
func Paths() Spec {
	return Spec{
		Name: "paths", Doc: "IPv6 that fails where IPv4 works; a first hop behind which everybody is silent",
		New: func() Correlator { return &paths{} },
		Codes: []finding.Def{
			{
				Code: IPv6Fallback, Severity: finding.Notice,
				Doc: "A client tried to connect by IPv6 in vain and then used IPv4 for the same service (RFC 8305). The finding's host is the IPv6 server.",
				Metrics: []finding.Metric{
					{Name: "client", Text: true, Doc: "the client's IPv6 address"},
					{Name: "v4_server", Text: true, Doc: "the IPv4 address that worked"},
					{Name: "port", Doc: "the service"},
					{Name: "attempts", Merge: finding.Sum, Doc: "IPv6 connections that failed"},
					{Name: "delay_seconds", Merge: finding.Max, Doc: "longest time from the IPv6 SYN to the IPv4 SYN"},
					{Name: "lost_seconds", Merge: finding.Sum, Doc: "the same, over all attempts"},
					{Name: "icmp", Merge: finding.Max, Doc: "1 when an ICMPv6 error said so, 0 when nothing answered"},
				},
			},
			{
				Code: NoReturn, Severity: finding.Notice,
				Doc: "Everything that a host sent through one first hop stayed without answer, for three peers or more. The finding's host is the one that asks.",
				Metrics: []finding.Metric{
					{Name: "gateway_mac", Text: true, Doc: "the first hop"},
					{Name: "peers", Merge: finding.Sum, Doc: "different hosts asked in vain"},
					{Name: "attempts", Merge: finding.Sum, Doc: "conversations begun in vain"},
					{Name: "answered_elsewhere", Merge: finding.Sum, Doc: "conversations of the same host that were answered by other stations"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last attempt"},
				},
			},
		},
	}
}

// attempt is a connection as far as falling back is concerned.
type attempt struct {
	client, server hosts.Number
	port           uint16
	mac            [6]byte
	icmp           bool
	start          int64
	frame          uint64
}

// beyond is what a host asked for through one first hop.
type beyond struct {
	key      uint64
	client   hosts.Number
	mac      [6]byte
	answered bool // and there was no room to count it
	attempts uint64
	peers    uint32
	ev       evidence
}

type paths struct {
	v6failed, v4 pages[attempt]
	macs         hosts.Table[uint32] // numbers of first hops
	stations     [][6]byte           // by number, from 1
	answered     healthy             // conversations, by first hop and client
	silent       cases[beyond]       // likewise
	peers        hosts.Set           // by the place of the hop
	hop          [2][]firstHop       // of open conversations, by TCP or not and the last bits of their numbers
	trail        trail
}

// firstHop is where a conversation's first frame went.
type firstHop struct {
	stream uint32
	number uint32 // of the station; 0: none is known
}

// maxHops bounds the conversations of a kind whose first hop is remembered: of
// more open at once, the latest.
const maxHops = 1 << 15

// at returns the place of a conversation's first hop.
func (p *paths) at(id flow.ID) *firstHop {
	kind := &p.hop[0]
	if id.Proto == flow.TCP {
		kind = &p.hop[1]
	}
	i := int(id.Stream % maxHops)
	if n := len(*kind); i >= n {
		if i >= cap(*kind) { // append would grow by quarters
			*kind = slices.Grow(*kind, max(i+1-n, min(n, maxHops-n)))
		}
		*kind = (*kind)[:i+1]
	}
	return &(*kind)[i]
}

// Opened notes the first hop of a conversation.
func (p *paths) Opened(_ *Out, x *Opened) {
	*p.at(x.ID) = firstHop{stream: x.ID.Stream, number: p.station(x.DstMAC)}
}

// station numbers first hops; 0: it is none, or one too many.
func (p *paths) station(mac [6]byte) uint32 {
	if mac == ([6]byte{}) || mac[0]&1 != 0 {
		return 0
	}
	k := stationKey(mac)
	n := p.macs.Get(k)
	if n == 0 && p.macs.Len() < maxPairs {
		n = uint32(p.macs.Len()) + 1 //nolint:gosec // at most maxPairs
		*p.macs.At(k) = n
		p.stations = append(p.stations, mac)
	}
	return n
}

// Conn notes how a conversation ended.
func (p *paths) Conn(_ *Out, c *Folded) {
	answered := c.Server.Packets > 0 && c.End != conn.EndICMPError
	if h := p.at(c.ID); h.number != 0 && h.stream == c.ID.Stream {
		p.note(pair(h.number, c.From), p.stations[h.number-1], c, answered)
		h.number = 0
	}
	if c.ID.Proto != flow.TCP || c.SYNs == 0 || c.From == 0 || c.To == 0 {
		return
	}
	all := &p.v4
	switch v6 := c.Server.Addr.Addr().Is6(); {
	case v6 && !c.Established && c.End != conn.EndRefused:
		all = &p.v6failed
	case v6, !c.Established:
		return
	}
	if all.len() < maxAttempts {
		all.add(attempt{
			client: c.From, server: c.To, port: c.Server.Addr.Port(), mac: c.Client.MAC, icmp: c.End == conn.EndICMPError, start: c.Start, frame: c.First,
		})
	}
}

// note takes a conversation that went through a first hop.
func (p *paths) note(k uint64, mac [6]byte, c *Folded, answered bool) {
	if k == 0 {
		return
	}
	if answered {
		if !p.answered.count(k) {
			if b, _ := p.silent.get(k); b != nil {
				b.answered = true
			}
		}
		return
	}
	if c.Client.Addr.Addr().IsMulticast() || c.Server.Addr.Addr().IsMulticast() {
		return
	}
	b, at := p.silent.get(k)
	if b == nil {
		if p.answered.unsure(k) {
			return
		}
		if b, at = p.silent.entry(k, maxPairs); b == nil {
			return
		}
		b.key, b.client, b.mac = k, c.From, mac
	}
	b.attempts++
	if peer := pair(at, c.To); peer != 0 && b.peers < maxTracks && p.peers.Len() < maxMembers && p.peers.Add(peer) {
		b.peers++
	}
	b.ev.add(&p.trail, c.First, c.Start, c.Stop)
}

// End compares the attempts.
func (p *paths) End(o *Out) {
	p.fallbacks(o)
	var elsewhere map[hosts.Number]uint64
	for b := range p.silent.all.each() {
		if b.answered || b.peers < silentPeers || p.answered.n.Get(b.key) > 0 {
			continue
		}
		if elsewhere == nil {
			elsewhere = p.elsewhere()
		}
		o.Emit(finding.Finding{
			Code: NoReturn, Severity: finding.Notice, Host: o.Hosts.Addr(b.client), Evidence: b.ev.done(&p.trail),
			Values: []finding.Value{
				finding.Text(text(b.mac)), finding.Num(b.peers), finding.Num(b.attempts),
				finding.Num(elsewhere[b.client]), finding.Num(b.ev.seconds()),
			},
		})
	}
}

// elsewhere counts the conversations of each client that were answered.
func (p *paths) elsewhere() map[hosts.Number]uint64 {
	all := map[hosts.Number]uint64{}
	for k, n := range p.answered.n.All() {
		all[hosts.Number(k&hosts.Most)] += uint64(*n)
	}
	return all
}

// fallback is what took the place of IPv6 at one service.
type fallback struct {
	ev    evidence
	first *attempt
	v4    hosts.Number
	n     uint64
	worst int64
	total int64
	icmp  bool
}

// fallbacks pairs failed IPv6 attempts with the IPv4 connection that took their
// place: of the same station, to the same port, soon after.
func (p *paths) fallbacks(o *Out) {
	if p.v6failed.len() == 0 {
		return
	}
	byStart := func(a, b *attempt) int { return cmp.Compare(a.start, b.start) }
	failed, v4 := slices.SortedStableFunc(p.v6failed.each(), byStart), slices.SortedStableFunc(p.v4.each(), byStart)
	used := make([]bool, len(v4))
	var found cases[fallback] // by service
	for _, a := range failed {
		i, _ := slices.BinarySearchFunc(v4, a, byStart)
		for ; i < len(v4) && v4[i].start-a.start <= fallbackWithin; i++ {
			b := v4[i]
			if used[i] || b.mac != a.mac || b.port != a.port {
				continue
			}
			used[i] = true
			f, _ := found.entry(service(a.server, a.port), maxAttempts)
			if f.n == 0 {
				f.first, f.v4 = a, b.server
			}
			f.n++
			f.worst, f.total = max(f.worst, b.start-a.start), f.total+b.start-a.start
			f.icmp = f.icmp || a.icmp
			f.ev.add(&p.trail, a.frame, a.start, a.start)
			f.ev.add(&p.trail, b.frame, b.start, b.start)
			break
		}
	}
	for f := range found.all.each() {
		o.Emit(finding.Finding{
			Code: IPv6Fallback, Severity: finding.Notice, Host: o.Hosts.Addr(f.first.server), Evidence: f.ev.done(&p.trail),
			Values: []finding.Value{
				finding.Text(o.Hosts.Addr(f.first.client).String()), finding.Text(o.Hosts.Addr(f.v4).String()), finding.Num(f.first.port),
				finding.Num(f.n), finding.Num(float64(f.worst) / second), finding.Num(float64(f.total) / second), flag(f.icmp),
			},
		})
	}
}
