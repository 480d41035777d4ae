package correlate

import (
	"fmt"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
)

// Codes of the link between a host and its neighbours. They mean ARP and IPv6
// Neighbor Discovery alike.
const (
	NoNeighbour      finding.Code = "neighbor.no-answer"
	NeighbourStopped finding.Code = "neighbor.stopped"
	DuplicateAddress finding.Code = "neighbor.duplicate-address"
	NeighbourSpoof   finding.Code = "neighbor.spoofing"
	NeighbourSweep   finding.Code = "neighbor.sweep"
)

// Thresholds, each with its reason.
const (
	// Hosts ask three times, a second apart, before they give up (RFC 4861,
	// MAX_MULTICAST_SOLICIT and RETRANS_TIMER; Linux does the same for ARP). A
	// question or two at the end of a capture prove nothing.
	unansweredAsks = 3
	// Of a capture in which nothing at all was answered, one question tells as well,
	// when this much time passed after it: some hosts ask once for each packet that
	// they have (RFC 1122, 2.3.2.1, allows one question a second).
	// Where more addresses are asked for in vain, the capture sees broadcasts only: the
	// answers go to who asked.
	aloneFor  = second
	aloneMost = 3
	// and they took at least this long: three frames at once are one question
	// seen three times.
	unansweredSpan = 1_500_000_000
	// One that asks for more absent addresses than this is looking for hosts; it
	// does not have that many neighbours that went away.
	sweepAddresses = 16
	// A second claim of an address counts when both owners spoke within this
	// time: an address that moves (new card, failover) has one owner at a time.
	claimsOverlap = 60_000_000_000
	// An answer belongs to a question asked within this time.
	answerWithin = 5_000_000_000
	// Answers that nobody asked for, again and again, keep a forged entry alive;
	// a host that comes up announces itself once or twice.
	forgedAnswers = 3
)

const maxNeighbours = 1 << 16

// Neighbours finds hosts that do not answer, addresses with two owners and
// forged claims.
func Neighbours() Spec {
	asks := []finding.Metric{
		{Name: "asker", Text: true, Doc: "who asked most recently"},
		{Name: "asks", Merge: finding.Sum, Doc: "questions without answer"},
		{Name: "askers", Merge: finding.Max, Doc: "different hosts that asked"},
		{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last of them"},
		{Name: "routes", Merge: finding.Max, Doc: "1 when it is, or likely is, the router of who asks"},
		{Name: "v6", Doc: "1 for Neighbor Discovery, 0 for ARP"},
		{Name: "alone", Merge: finding.Max, Doc: "1 when nobody in the capture was answered by anybody"},
	}
	return Spec{
		Name: "neighbours", Doc: "ARP and Neighbor Discovery: absent hosts, addresses with two owners, forged claims",
		New: func() Correlator {
			return &neighbours{at: map[netip.Addr]*neighbour{}, asking: map[netip.Addr]int{}}
		},
		Codes: []finding.Def{
			{
				Code: NoNeighbour, Severity: finding.Notice, Metrics: asks,
				Doc: "A host was asked for by ARP or neighbor solicitation at least three times over 1.5 s and never answered in the capture (RFC 4861, 7.2.2); fewer questions are told where nothing else was answered either. The finding's host is the one asked for.",
			},
			{
				Code: NeighbourStopped, Severity: finding.Warning, Metrics: asks,
				Doc: "A host that had answered before no longer does. The finding's host is the one asked for.",
			},
			{
				Code: DuplicateAddress, Severity: finding.Warning,
				Doc: "Two hardware addresses claim one IP address at the same time (RFC 5227, 2.4; RFC 4862, 5.4.3). The finding's host is the address.",
				Metrics: []finding.Metric{
					{Name: "first_mac", Text: true, Doc: "the owner seen first"},
					{Name: "second_mac", Text: true, Doc: "the other one"},
					{Name: "first_claims", Merge: finding.Last, Doc: "claims of the first"},
					{Name: "second_claims", Merge: finding.Last, Doc: "claims of the other"},
					{Name: "probe", Merge: finding.Max, Doc: "1 when the second only asked whether it may have the address (duplicate address detection) and was told no"},
				},
			},
			{
				Code: NeighbourSpoof, Severity: finding.Warning,
				Doc: "One station claims addresses that belong to others, in answers that nobody asked for. The finding's host is an address that it took.",
				Metrics: []finding.Metric{
					{Name: "mac", Text: true, Doc: "of the station that forges"},
					{Name: "owner_mac", Text: true, Doc: "of the address's owner; empty when it was never seen"},
					{Name: "forged", Merge: finding.Last, Doc: "answers that nobody had asked for"},
					{Name: "addresses", Merge: finding.Last, Doc: "addresses that the station claims"},
				},
			},
			{
				Code: NeighbourSweep, Severity: finding.Notice,
				Doc: "One host asked for many addresses that do not exist: it looks for hosts. The finding's host is the one that asks.",
				Metrics: []finding.Metric{
					{Name: "addresses", Merge: finding.Max, Doc: "absent addresses asked for"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last question"},
				},
			},
		},
	}
}

// neighbours reads what proto.Neighbour events say.
type neighbours struct {
	at     map[netip.Addr]*neighbour
	order  []netip.Addr // of at, as they were met
	macs   cases[station]
	hop    hosts.Table[uint64] // station by which a host reaches others, both by stationKey
	asking map[netip.Addr]int  // absent addresses that a host asked for
	heard  bool                // somebody was answered
	absent int                 // addresses whose last questions stayed open
	latest int64               // time of the latest that was heard of
}

// neighbour is what is known of one address.
type neighbour struct {
	claims   []claim // by hardware address, first seen first
	answered int64   // time of the last claim
	asked    int64   // time of the last question
	open     finding.Evidence
	asker    netip.Addr
	askers   map[netip.Addr]struct{}
	askerMAC [6]byte
	claimEv  finding.Evidence
	conflict finding.Evidence
	probed   finding.Evidence // by one who has not got it
	prober   [6]byte
	owner    [6]byte // answered rival, who had just said to have the address itself
	rival    [6]byte
	v6       bool
}

// claim is one station's claim of an address.
type claim struct {
	mac         [6]byte
	first, last int64
	count       uint64
	forged      uint64  // answers that nobody had asked for
	took        bool    // a host's packets went to this station since then,
	from        [6]byte // and to this one before
	asks        bool    // the station asks for the address: it is not its own
	ev          finding.Evidence
}

// station is one hardware address: what it claims, and for whom it takes frames.
type station struct {
	ips   map[netip.Addr]struct{}
	peers map[netip.Addr]struct{} // addresses of packets sent to it
}

// maxClaims bounds the owners of one address that are told apart.
const maxClaims = 8

// Hears implements Listener: what the time is, any event says.
func (*neighbours) Hears() []any { return nil }

// Event takes questions, claims, and who is reached through which station.
func (n *neighbours) Event(_ *Out, e *proto.Event) {
	n.latest = max(n.latest, e.Time)
	switch b := e.Body.(type) {
	case *proto.Lease:
		if x := n.at[b.Address]; x != nil && (b.Op == proto.LeaseOffer || b.Op == proto.LeaseAck) {
			x.answeredAt(e.Time) // the server had asked whether the address is free
		}
	case *proto.Neighbour:
		if !b.Copy {
			n.said(e, b)
		}
	}
}

// Opened notes through which station a conversation goes.
func (n *neighbours) Opened(_ *Out, x *Opened) {
	n.latest = max(n.latest, x.Time)
	if s := n.through(x); s != nil && len(s.peers) <= enoughPeers && x.DstMAC[0]&1 == 0 {
		s.reaches(x.Server.Addr())
		s.reaches(x.Client.Addr())
	}
}

// enoughPeers tells a router from a host with some addresses of its own.
const enoughPeers = 2

// reaches notes an address that is reached through a station.
func (s *station) reaches(ip netip.Addr) {
	if _, own := s.ips[ip]; !own && len(s.peers) <= enoughPeers {
		if s.peers == nil {
			s.peers = map[netip.Addr]struct{}{}
		}
		s.peers[ip] = struct{}{}
	}
}

// through notes by which station a host reaches others, and when that changes
// to one which has just claimed, unasked, to be the one before. It returns the station.
func (n *neighbours) through(x *Opened) *station {
	by := stationKey(x.DstMAC)
	to, _ := n.macs.get(by)
	if to == nil {
		return n.station(x.DstMAC)
	}
	if x.SrcMAC == ([6]byte{}) || n.hop.Len() >= maxNeighbours {
		return to
	}
	if len(to.ips) > 0 {
		if _, own := to.ips[x.Server.Addr()]; own {
			return to
		}
	}
	hop := n.hop.At(stationKey(x.SrcMAC))
	before := *hop
	*hop = by
	if before == 0 || before == by || len(to.ips) < 2 {
		return to
	}
	for ip := range to.ips {
		y := n.at[ip]
		if i := slices.IndexFunc(y.claims, func(c claim) bool { return c.mac == x.DstMAC }); i >= 0 && y.claims[i].forged > 0 {
			y.claims[i].took, y.claims[i].from = true, stationOf(before)
			y.claims[i].ev.Add(x.Frame, x.Time)
		}
	}
	return to
}

func (n *neighbours) station(mac [6]byte) *station {
	if mac == ([6]byte{}) {
		return nil
	}
	s, _ := n.macs.entry(stationKey(mac), maxNeighbours)
	return s
}

func (n *neighbours) said(e *proto.Event, b *proto.Neighbour) {
	x := n.at[b.IP]
	if x == nil {
		if len(n.at) >= maxNeighbours {
			return
		}
		x = &neighbour{askers: map[netip.Addr]struct{}{}, v6: b.IP.Is6()}
		n.at[b.IP] = x
		n.order = append(n.order, b.IP)
	}
	switch b.Op {
	case proto.Asks:
		x.asked = e.Time
		x.open.Add(e.Frame, e.Time)
		x.asker, x.askerMAC = b.From, b.By
		if len(x.askers) < maxClaims {
			x.askers[b.From] = struct{}{}
		}
		mine := func(c claim) bool { return c.mac == b.By && e.Time-c.last < claimsOverlap }
		if i := slices.IndexFunc(x.claims, mine); i >= 0 && b.From != b.IP {
			x.claims[i].asks = true
			x.claims[i].ev.Add(e.Frame, e.Time)
		}
		if b.From.IsValid() { // who asks tells its own address too
			n.claimed(e, b.From, b.By, false)
		}
	case proto.Probes:
		if len(x.claims) > 0 && x.claims[0].mac != b.By || x.probed.Count > 0 && x.prober != b.By {
			x.conflict.Add(e.Frame, e.Time)
		}
		x.probed.Add(e.Frame, e.Time)
		x.prober = b.By
	case proto.Answers:
		unasked := e.Time-x.asked > answerWithin || x.asked == 0 || b.To != x.askerMAC
		if x.probed.Count > 0 && x.prober != b.MAC && e.Time-x.probed.End < answerWithin {
			x.conflict.Add(e.Frame, e.Time)
			unasked = false
		}
		if x.defends(e, b) {
			unasked = false
		}
		n.claimed(e, b.IP, b.MAC, unasked)
		n.heard = true
		x.answeredAt(e.Time)
	case proto.Announces:
		if x.probed.Count > 0 && x.prober != b.MAC && e.Time-x.probed.End < answerWithin {
			x.conflict.Add(e.Frame, e.Time) // the owner defends its address (RFC 4862, 5.4.3)
		}
		x.defends(e, b)
		n.claimed(e, b.IP, b.MAC, false)
		x.answeredAt(e.Time)
	}
}

// defends reports whether a claim is for the ears of one who has just said to have the
// address itself: its owner defends it (RFC 5227, 2.4).
func (x *neighbour) defends(e *proto.Event, b *proto.Neighbour) bool {
	said := func(c claim) bool { return c.mac == b.To && e.Time-c.last < answerWithin }
	if b.To == b.MAC || !slices.ContainsFunc(x.claims, said) {
		return false
	}
	x.owner, x.rival = b.MAC, b.To
	return true
}

func (x *neighbour) answeredAt(at int64) {
	x.answered = at
	x.open = finding.Evidence{}
	clear(x.askers)
}

// claimed notes that a station says to have an address.
func (n *neighbours) claimed(e *proto.Event, ip netip.Addr, mac [6]byte, unasked bool) {
	x := n.at[ip]
	if x == nil {
		if len(n.at) >= maxNeighbours {
			return
		}
		x = &neighbour{askers: map[netip.Addr]struct{}{}, v6: ip.Is6()}
		n.at[ip] = x
		n.order = append(n.order, ip)
	}
	if s := n.station(mac); s != nil && len(s.ips) < maxTracks {
		if s.ips == nil {
			s.ips = map[netip.Addr]struct{}{}
		}
		s.ips[ip] = struct{}{}
	}
	i := slices.IndexFunc(x.claims, func(c claim) bool { return c.mac == mac })
	if i < 0 {
		if len(x.claims) >= maxClaims {
			return
		}
		i = len(x.claims)
		x.claims = append(x.claims, claim{mac: mac, first: e.Time})
	}
	c := &x.claims[i]
	c.last = e.Time
	c.count++
	c.ev.Add(e.Frame, e.Time)
	if unasked {
		c.forged++
	}
	x.claimEv.Add(e.Frame, e.Time)
	if x.open.Count > 0 && e.Time > x.open.End {
		// Who speaks in the name of an address is there, whoever asked before:
		// DHCP servers ask for an address before they give it away.
		x.answeredAt(e.Time)
	}
}

// Conn notes whether anybody was answered at all.
func (n *neighbours) Conn(_ *Out, c *Folded) {
	n.latest = max(n.latest, c.Stop)
	n.heard = n.heard || c.Client.Packets > 0 && c.Server.Packets > 0
}

// End judges each address.
func (n *neighbours) End(o *Out) {
	for _, ip := range n.order {
		x := n.at[ip]
		if x.absent() {
			n.asking[x.asker]++
			n.absent++
		}
	}
	swept := map[netip.Addr]*finding.Evidence{}
	for _, ip := range n.order {
		x := n.at[ip]
		n.conflicts(o, ip, x)
		if !x.absent() {
			continue
		}
		if n.asking[x.asker] >= sweepAddresses && len(x.claims) == 0 {
			ev := swept[x.asker]
			if ev == nil {
				ev = &finding.Evidence{}
				swept[x.asker] = ev
			}
			if ev.Count == 0 || x.open.First >= ev.Last {
				ev.Add(x.open.First, x.open.Start)
			}
			continue
		}
		n.silent(o, ip, x)
	}
	for asker, ev := range swept {
		o.Emit(finding.Finding{
			Code: NeighbourSweep, Severity: finding.Notice, Host: asker, Evidence: *ev,
			Values: []finding.Value{finding.Num(n.asking[asker]), finding.Num(float64(ev.End-ev.Start) / 1e9)},
		})
	}
}

// absent reports whether the last questions for an address stayed open.
func (x *neighbour) absent() bool { return x.open.Count > 0 }

func (n *neighbours) silent(o *Out, ip netip.Addr, x *neighbour) {
	alone := !n.heard && n.absent <= aloneMost && len(x.claims) == 0 && n.latest-x.open.End >= aloneFor
	if !alone && (x.open.Count < unansweredAsks || x.open.End-x.open.Start < unansweredSpan) {
		return
	}
	code, severity := NoNeighbour, finding.Notice
	if len(x.claims) > 0 {
		code, severity = NeighbourStopped, finding.Warning
	}
	o.Emit(finding.Finding{
		Code: code, Severity: severity, Host: ip, Evidence: x.open,
		Values: []finding.Value{
			finding.Text(x.asker.String()), finding.Num(x.open.Count), finding.Num(len(x.askers)),
			finding.Num(float64(x.open.End-x.open.Start) / 1e9), flag(n.routes(ip, x)), flag(x.v6), flag(alone),
		},
	})
}

// routes reports whether an address is, as far as the capture shows, the router
// of its link: its station takes frames for several others. Without a station,
// one that a host asks for again and again while it talks to nobody else is
// taken for one when it is the first or last address of the usual ranges.
func (n *neighbours) routes(ip netip.Addr, x *neighbour) bool {
	for _, c := range x.claims {
		if s, _ := n.macs.get(stationKey(c.mac)); s != nil && len(s.peers) >= enoughPeers {
			return true
		}
	}
	if len(x.claims) > 0 || !ip.Is4() {
		return false
	}
	last := ip.As4()[3]
	return (last == 1 || last == 254) && n.asking[x.asker] == 1 && x.open.Count > unansweredAsks
}

// virtual are stations that share an address by design: VRRP (RFC 9568, 7.3),
// HSRP versions 1 and 2, GLBP, CARP.
func virtual(mac [6]byte) bool {
	switch {
	case mac[0] == 0 && mac[1] == 0 && mac[2] == 0x5e && mac[3] == 0 && (mac[4] == 1 || mac[4] == 2):
		return true
	case mac[0] == 0 && mac[1] == 0 && mac[2] == 0x0c && (mac[3] == 0x07 && mac[4] == 0xac || mac[3] == 0x9f):
		return true
	case mac[0] == 0 && mac[1] == 0x07 && mac[2] == 0xb4:
		return true
	}
	return false
}

// conflicts tells of an address with two owners, by accident or by forgery.
func (n *neighbours) conflicts(o *Out, ip netip.Addr, x *neighbour) {
	if x.conflict.Count > 0 && len(x.claims) > 0 {
		second, claims := x.prober, x.probed.Count
		if second != x.claims[0].mac {
			o.Emit(x.duplicate(ip, x.claims[0].mac, second, x.claims[0].count, claims, true))
			return
		}
	}
	for i := range x.claims {
		c := &x.claims[i]
		if virtual(c.mac) {
			continue
		}
		if owner, forged := n.forges(ip, x, c); forged {
			o.Emit(finding.Finding{
				Code: NeighbourSpoof, Severity: finding.Warning, Host: ip, Evidence: c.ev,
				Values: []finding.Value{
					finding.Text(text(c.mac)), finding.Text(owner), finding.Num(c.forged), finding.Num(n.claimedBy(c.mac)),
				},
			})
			return
		}
	}
	if none := [6]byte{}; x.owner != none && !virtual(x.owner) && !virtual(x.rival) {
		o.Emit(x.duplicate(ip, x.owner, x.rival, 1, 1, false))
		return
	}
	for i := 1; i < len(x.claims); i++ {
		a, b := &x.claims[0], &x.claims[i]
		// The first owner must speak again after the second appeared: else the
		// address has moved.
		if virtual(a.mac) || virtual(b.mac) || a.last <= b.first || b.first-a.last > claimsOverlap {
			continue
		}
		o.Emit(x.duplicate(ip, a.mac, b.mac, a.count, b.count, false))
		return
	}
}

// claimedBy is the number of addresses that a station claims.
func (n *neighbours) claimedBy(mac [6]byte) int {
	if s, _ := n.macs.get(stationKey(mac)); s != nil {
		return len(s.ips)
	}
	return 0
}

func (x *neighbour) duplicate(ip netip.Addr, a, b [6]byte, na, nb uint64, probe bool) finding.Finding {
	ev := x.claimEv
	if probe {
		ev = x.conflict
	}
	return finding.Finding{
		Code: DuplicateAddress, Severity: finding.Warning, Host: ip, Evidence: ev,
		Values: []finding.Value{finding.Text(text(a)), finding.Text(text(b)), finding.Num(na), finding.Num(nb), flag(probe)},
	}
}

// forges reports whether a claim is forged: the station answers unasked, again
// and again, for an address that has another owner or together with others; or
// the packets of a host go to it since such an answer.
func (n *neighbours) forges(ip netip.Addr, x *neighbour, c *claim) (owner string, forged bool) {
	s, _ := n.macs.get(stationKey(c.mac))
	if s == nil || c.forged == 0 {
		return "", false
	}
	if c.took && !virtual(c.from) {
		return text(c.from), true
	}
	if c.forged < forgedAnswers && !c.asks {
		return "", false
	}
	for i := range x.claims {
		if x.claims[i].mac != c.mac && x.claims[i].forged < forgedAnswers {
			return text(x.claims[i].mac), true
		}
	}
	if c.asks {
		return "", true
	}
	for other := range s.ips {
		y := n.at[other]
		if other == ip || y == nil {
			continue
		}
		if i := slices.IndexFunc(y.claims, func(o claim) bool { return o.mac == c.mac }); i >= 0 && y.claims[i].forged >= forgedAnswers {
			return "", true
		}
	}
	return "", false
}

func text(mac [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5])
}

func flag(b bool) finding.Value {
	if b {
		return finding.Num(1)
	}
	return finding.Num(0)
}
