package correlate

import (
	"maps"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of floods of datagrams and answers.
const (
	Reflection    finding.Code = "reflection.udp"
	SYNACKReflect finding.Code = "reflection.syn-ack"
	UDPFlood      finding.Code = "flood.udp"
	SYNSpray      finding.Code = "flood.syn-scattered"
)

const (
	// Answers of one service from twenty servers that nobody asked, or questions
	// in one name to twenty servers: no client has so many of them (RFC 9199
	// resolvers ask many name servers, but get answers to what they asked).
	reflectors = 20
	// A manager polls its devices some times a second; reflectors are used for
	// their rate. Name servers are chosen for answers near the largest datagram.
	reflectedPerSecond = 50
	longAnswer         = 400 // bytes, mean
	// A handshake that somebody answers without having been asked is a forged
	// source: a handful may be left over from connections before the capture.
	strangeSYNACKs = 20
	// A hundred SYNs within a second of which each has a source and a target of
	// its own, and none an answer or a repetition: the sources are made up. Clients
	// come again (RFC 6298, 2.1), and even where one direction is captured their
	// handshakes go on.
	scatteredSYNs = 90
	// Fast services (media, QUIC) send some thousand datagrams a second and get
	// answers or reports; a flood is one-sided and does not slow down.
	floodDatagrams = 2000
	floodSilent    = 0.01 // share of datagrams that are answered
)

// amplifier tells ports of services that answer with more than they are asked
// (US-CERT TA14-017A).
func amplifier(port uint16) bool {
	switch port {
	case 17, 19, 53, 69, 111, 123, 137, 161, 389, 427, 500, 520, 1434, 1900, 3283, 3702, 5093, 5353, 10001, 11211, 20800, 27015, 30718, 37810, 47808:
		return true
	}
	return false
}

// Floods finds victims of reflections and floods of datagrams.
func Floods() Spec {
	return Spec{
		Name: "floods", Doc: "answers that nobody asked for, and datagrams by the thousand",
		New: func() Correlator {
			return &floods{victims: map[service]*victim{}, synAcks: map[netip.Addr]*victim{}, udp: map[netip.Addr]*burst{}}
		},
		Codes: []finding.Def{
			{
				Code: Reflection, Severity: finding.Warning,
				Doc: "Datagrams of one service go between one host and twenty others or more, in one direction only, or answers outweigh questions ten times: somebody asks in the name of the host, and the answers hit it (RFC 2827). The finding's host is the victim.",
				Metrics: []finding.Metric{
					{Name: "port", Doc: "of the service that is abused"},
					{Name: "reflectors", Merge: finding.Max, Doc: "hosts that answer, or are asked"},
					{Name: "datagrams", Merge: finding.Sum, Doc: "datagrams"},
					{Name: "bytes", Merge: finding.Sum, Doc: "their payload"},
					{Name: "requests_seen", Merge: finding.Max, Doc: "1 when these are the questions in the victim's name, 0 when the answers"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
			{
				Code: SYNACKReflect, Severity: finding.Warning,
				Doc: "Twenty servers or more answered a SYN that is not in the capture to one host: somebody sends SYNs in its name (RFC 4987). The finding's host is the victim.",
				Metrics: []finding.Metric{
					{Name: "reflectors", Merge: finding.Max, Doc: "servers that answered"},
					{Name: "answers", Merge: finding.Sum, Doc: "conversations that begin with their answer"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
			{
				Code: SYNSpray, Severity: finding.Warning,
				Doc: "Ninety SYNs or more came within a second from as many sources to as many targets, and nothing followed any of them: somebody sends them with made-up sources (RFC 4987).",
				Metrics: []finding.Metric{
					{Name: "syns", Merge: finding.Max, Doc: "such SYNs"},
					{Name: "peak_per_second", Merge: finding.Max, Doc: "most within a second"},
					{Name: "sources", Merge: finding.Max, Doc: "different sources"},
					{Name: "targets", Merge: finding.Max, Doc: "different targets"},
				},
			},
			{
				Code: UDPFlood, Severity: finding.Notice,
				Doc: "A host got two thousand datagrams or more within a second, and answered none in a hundred. The finding's host is the target.",
				Metrics: []finding.Metric{
					{Name: "source", Text: true, Doc: "who sent most; empty: many"},
					{Name: "datagrams", Merge: finding.Sum, Doc: "datagrams"},
					{Name: "answered", Merge: finding.Sum, Doc: "datagrams in return"},
					{Name: "sources", Merge: finding.Max, Doc: "different addresses"},
					{Name: "ports", Merge: finding.Max, Doc: "different ports of the target"},
					{Name: "per_second", Merge: finding.Max, Doc: "mean rate"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"},
				},
			},
		},
	}
}

// victim gathers one-sided conversations.
type victim struct {
	others    map[netip.Addr]struct{}
	datagrams uint64
	bytes     uint64
	convs     uint64
	asked     uint64 // of the conversations, those that show questions
	twoSided  uint64
	ev        evidence
}

func newVictim() *victim { return &victim{others: map[netip.Addr]struct{}{}} }

func (v *victim) add(other netip.Addr, c *conn.Summary, packets, bytes uint64) {
	if len(v.others) < maxTracks {
		v.others[other] = struct{}{}
	}
	v.convs++
	v.datagrams += packets
	v.bytes += bytes
	v.ev.add(c.First, c.Start, c.Stop)
}

// burst gathers what one host gets.
type burst struct {
	sent, answered uint64
	sources        map[netip.Addr]uint64
	ports          map[uint16]struct{}
	ev             evidence
	stop           int64
}

type floods struct {
	victims map[service]*victim
	synAcks map[netip.Addr]*victim
	udp     map[netip.Addr]*burst
	spray   spray
}

// spray is SYNs that nothing follows.
type spray struct {
	sources, targets map[netip.Addr]struct{}
	seconds          map[int64]uint64
	syns             uint64
	ev               evidence
}

// Event does nothing: conversations tell all.
func (*floods) Event(*Out, *proto.Event) {}

// Conn weighs one conversation.
func (f *floods) Conn(_ *Out, c *conn.Summary) {
	switch c.ID.Proto {
	case flow.UDP:
		f.datagrams(c)
	case flow.TCP:
		if c.SYNs == 1 && c.Client.Packets == 1 && c.Server.Packets == 0 {
			f.spray.add(c)
		}
		// Its first frame is the answer to a SYN: the server sent it.
		if c.SYNs == 0 && c.ClientKnown && !c.Established && c.Server.Packets > 0 && c.Server.Bytes == 0 {
			if v := entry(f.synAcks, c.Client.Addr.Addr(), newVictim); v != nil {
				v.add(c.Server.Addr.Addr(), c, c.Server.Packets, 0)
			}
		}
	}
}

func (s *spray) add(c *conn.Summary) {
	if s.sources == nil {
		s.sources, s.targets, s.seconds = map[netip.Addr]struct{}{}, map[netip.Addr]struct{}{}, map[int64]uint64{}
	}
	if len(s.sources) < maxPairs {
		s.sources[c.Client.Addr.Addr()] = struct{}{}
	}
	if len(s.targets) < maxPairs {
		s.targets[c.Server.Addr.Addr()] = struct{}{}
	}
	if sec := c.Start / second; len(s.seconds) < maxPairs || s.seconds[sec] > 0 {
		s.seconds[sec]++
	}
	s.syns++
	s.ev.add(c.First, c.Start, c.Stop)
}

func (s *spray) end(o *Out) {
	peak := uint64(0)
	for _, n := range s.seconds {
		peak = max(peak, n)
	}
	const own = 0.8 // share of SYNs with a source and a target of their own
	if least := own * float64(s.syns); peak < scatteredSYNs || float64(len(s.sources)) < least || float64(len(s.targets)) < least {
		return
	}
	o.Emit(finding.Finding{
		Code: SYNSpray, Severity: finding.Warning, Evidence: s.ev.done(),
		Values: []finding.Value{finding.Num(s.syns), finding.Num(peak), finding.Num(len(s.sources)), finding.Num(len(s.targets))},
	})
}

func (f *floods) datagrams(c *conn.Summary) {
	client, server := &c.Client, &c.Server
	if amplifier(client.Addr.Port()) && !amplifier(server.Addr.Port()) {
		client, server = server, client
	}
	to := server.Addr.Addr()
	if amplifier(server.Addr.Port()) && !to.IsMulticast() {
		if v := entry(f.victims, service{client.Addr.Addr(), server.Addr.Port()}, newVictim); v != nil {
			switch {
			case client.Packets > 0 && server.Packets > 0:
				v.twoSided++
			case client.Packets > 0:
				v.asked++
				v.add(to, c, client.Packets, client.Bytes)
			default:
				v.add(to, c, server.Packets, server.Bytes)
			}
		}
	}
	f.burst(c.Client.Addr, c.Server.Addr, c.Client.Packets, c.Server.Packets, c)
	if c.Client.Packets == 0 {
		f.burst(c.Server.Addr, c.Client.Addr, c.Server.Packets, 0, c)
	}
}

func (f *floods) burst(from, to netip.AddrPort, sent, answered uint64, c *conn.Summary) {
	if sent == 0 || to.Addr().IsMulticast() {
		return
	}
	b := entry(f.udp, to.Addr(), func() *burst {
		return &burst{sources: map[netip.Addr]uint64{}, ports: map[uint16]struct{}{}}
	})
	if b == nil {
		return
	}
	b.sent += sent
	b.answered += answered
	if _, known := b.sources[from.Addr()]; known || len(b.sources) < maxTracks {
		b.sources[from.Addr()] += sent
	}
	if len(b.ports) < maxTracks {
		b.ports[to.Port()] = struct{}{}
	}
	b.stop = max(b.stop, c.Stop)
	b.ev.add(c.First, c.Start, c.Stop)
}

// End tells what was one-sided and much.
func (f *floods) End(o *Out) {
	f.spray.end(o)
	reflected := map[netip.Addr]bool{}
	for k, v := range f.victims {
		if len(v.others) < reflectors || v.twoSided*2 > v.convs || !v.hits(k.port) {
			continue
		}
		reflected[k.from] = true
		o.Emit(finding.Finding{
			Code: Reflection, Severity: finding.Warning, Host: k.from, Evidence: v.ev.done(),
			Values: []finding.Value{
				finding.Num(k.port), finding.Num(len(v.others)), finding.Num(v.datagrams), finding.Num(v.bytes),
				flag(v.asked*2 > v.convs), finding.Num(v.ev.seconds()),
			},
		})
	}
	for a, v := range f.synAcks {
		if len(v.others) >= strangeSYNACKs {
			o.Emit(finding.Finding{
				Code: SYNACKReflect, Severity: finding.Warning, Host: a, Evidence: v.ev.done(),
				Values: []finding.Value{finding.Num(len(v.others)), finding.Num(v.convs), finding.Num(v.ev.seconds())},
			})
		}
	}
	for a, b := range f.udp {
		f.flooded(o, a, b, reflected[a])
	}
}

// hits tells an attack from a capture that holds one direction of a resolver's or
// a manager's work: it is fast, and answers of name servers are long.
func (v *victim) hits(port uint16) bool {
	const portDNS = 53
	answers := v.asked*2 <= v.convs
	if port == portDNS && (!answers || v.bytes < longAnswer*v.datagrams) {
		return false
	}
	return float64(v.datagrams) >= reflectedPerSecond*max(v.ev.seconds(), 1)
}

func (*floods) flooded(o *Out, a netip.Addr, b *burst, reflected bool) {
	span := max(float64(b.stop-b.ev.start)/second, 0)
	rate := float64(b.sent) / max(span, 1)
	if reflected || rate < floodDatagrams || float64(b.answered) > floodSilent*float64(b.sent) {
		return
	}
	source := ""
	for _, s := range slices.SortedFunc(maps.Keys(b.sources), netip.Addr.Compare) {
		if b.sources[s]*2 > b.sent {
			source = s.String()
		}
	}
	o.Emit(finding.Finding{
		Code: UDPFlood, Severity: finding.Notice, Host: a, Evidence: b.ev.done(),
		Values: []finding.Value{
			finding.Text(source), finding.Num(b.sent), finding.Num(b.answered), finding.Num(len(b.sources)),
			finding.Num(len(b.ports)), finding.Num(rate), finding.Num(span),
		},
	})
}
