package correlate

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
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
	case 17, 19, 53, 69, 111, 123, 137, 161, 389, 427, 500, 520, 1434, 1900, 3283, 3389, 3702, 5093, 5353, 5683, 10001, 11211, 20800, 27015, 30718, 32414, 33848, 37810, 47808:
		return true
	}
	return false
}

// Floods finds victims of reflections and floods of datagrams.
func Floods() Spec {
	return Spec{
		Name: "floods", Doc: "answers that nobody asked for, and datagrams by the thousand",
		New: func() Correlator { return &floods{} },
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
	key       uint64
	host      hosts.Number
	port      uint16 // of the service
	others    uint32
	datagrams uint64
	bytes     uint64
	convs     uint64
	asked     uint64 // of the conversations, those that show questions
	twoSided  uint64 // that there was no room to count
	ev        evidence
}

// victims are those of one kind of reflection.
type victims struct {
	cases[victim]

	others hosts.Set // by the place of the victim
}

// burst gathers what one host gets.
type burst struct {
	host           hosts.Number
	sent, answered uint64
	sources, ports uint32
	chief          hosts.Number // who sent most
	most           uint64       // its datagrams
	ev             evidence
	stop           int64
}

type floods struct {
	udpVictims, synVictims victims
	twoSided               healthy // conversations, by client and service
	bursts                 cases[burst]
	sources                hosts.Table[uint64] // datagrams, by the place of the burst and who sent them
	ports                  hosts.Set           // by the place of the burst
	spray                  spray
	trail                  trail
}

// spray is SYNs that nothing follows.
type spray struct {
	sources, targets hosts.Set
	seconds          hosts.Table[uint64] // SYNs of each
	peak             uint64
	syns             uint64
	ev               evidence
}

// Conn weighs one conversation.
func (f *floods) Conn(_ *Out, c *Folded) {
	switch c.ID.Proto {
	case flow.UDP:
		f.datagrams(c)
	case flow.TCP:
		if c.SYNs == 1 && c.Client.Packets == 1 && c.Server.Packets == 0 {
			f.spray.add(&f.trail, c)
		}
		// Its first frame is the answer to a SYN: the server sent it.
		if c.SYNs == 0 && c.ClientKnown && !c.Established && c.Server.Packets > 0 && c.Server.Bytes == 0 {
			if v, at := f.synVictims.entry(uint64(c.From), maxPairs); v != nil {
				v.host = c.From
				f.add(&f.synVictims, v, pair(at, c.To), c, c.Server.Packets, 0)
			}
		}
	}
}

func (f *floods) add(of *victims, v *victim, other uint64, c *Folded, packets, bytes uint64) {
	if other != 0 && v.others < maxTracks && of.others.Len() < maxMembers && of.others.Add(other) {
		v.others++
	}
	v.convs++
	v.datagrams += packets
	v.bytes += bytes
	v.ev.add(&f.trail, c.First, c.Start, c.Stop)
}

func (s *spray) add(t *trail, c *Folded) {
	if c.From != 0 && s.sources.Len() < maxPairs {
		s.sources.Add(uint64(c.From))
	}
	if c.To != 0 && s.targets.Len() < maxPairs {
		s.targets.Add(uint64(c.To))
	}
	const notZero = 1 << 63                                                                            // whatever the second
	if sec := uint64(c.Start/second) ^ notZero; s.seconds.Len() < maxPairs || s.seconds.Get(sec) > 0 { //nolint:gosec // any bits will do
		n := s.seconds.At(sec)
		*n++
		s.peak = max(s.peak, *n)
	}
	s.syns++
	s.ev.add(t, c.First, c.Start, c.Stop)
}

func (s *spray) end(o *Out, t *trail) {
	const own = 0.8 // share of SYNs with a source and a target of their own
	if least := own * float64(s.syns); s.peak < scatteredSYNs || float64(s.sources.Len()) < least || float64(s.targets.Len()) < least {
		return
	}
	o.Emit(finding.Finding{
		Code: SYNSpray, Severity: finding.Warning, Evidence: s.ev.done(t),
		Values: []finding.Value{finding.Num(s.syns), finding.Num(s.peak), finding.Num(s.sources.Len()), finding.Num(s.targets.Len())},
	})
}

func (f *floods) datagrams(c *Folded) {
	client, server, from, to := &c.Client, &c.Server, c.From, c.To
	if amplifier(client.Addr.Port()) && !amplifier(server.Addr.Port()) {
		client, server, from, to = server, client, to, from
	}
	if port := server.Addr.Port(); amplifier(port) && !server.Addr.Addr().IsMulticast() {
		f.amplified(from, to, port, client, server, c)
	}
	f.burst(&c.Server, c.From, c.To, c.Client.Packets, c.Server.Packets, c)
	if c.Client.Packets == 0 {
		f.burst(&c.Client, c.To, c.From, c.Server.Packets, 0, c)
	}
}

// amplified takes a conversation with a service that may be abused.
func (f *floods) amplified(from, to hosts.Number, port uint16, client, server *conn.Side, c *Folded) {
	k := service(from, port)
	if k == 0 {
		return
	}
	if client.Packets > 0 && server.Packets > 0 {
		if !f.twoSided.count(k) {
			if v, _ := f.udpVictims.get(k); v != nil {
				v.twoSided++
			}
		}
		return
	}
	v, at := f.udpVictims.get(k)
	if v == nil {
		if f.twoSided.unsure(k) {
			return
		}
		if v, at = f.udpVictims.entry(k, maxPairs); v == nil {
			return
		}
		v.key, v.host, v.port = k, from, port
	}
	side := server
	if client.Packets > 0 {
		v.asked++
		side = client
	}
	f.add(&f.udpVictims, v, pair(at, to), c, side.Packets, side.Bytes)
}

func (f *floods) burst(target *conn.Side, from, to hosts.Number, sent, answered uint64, c *Folded) {
	if sent == 0 || target.Addr.Addr().IsMulticast() {
		return
	}
	b, at := f.bursts.entry(uint64(to), maxPairs)
	if b == nil {
		return
	}
	b.host = to
	b.sent += sent
	b.answered += answered
	f.source(b, at, from, sent)
	if b.ports < maxTracks && f.ports.Len() < maxMembers && f.ports.Add(service(at, target.Addr.Port())) {
		b.ports++
	}
	b.stop = max(b.stop, c.Stop)
	b.ev.add(&f.trail, c.First, c.Start, c.Stop)
}

// source counts what one source sends to the target of a burst.
func (f *floods) source(b *burst, at uint32, from hosts.Number, sent uint64) {
	k := pair(at, from)
	if k == 0 {
		return
	}
	n := f.sources.Get(k)
	if n == 0 {
		if b.sources >= maxTracks || f.sources.Len() >= maxMembers {
			return
		}
		b.sources++
	}
	n += sent
	*f.sources.At(k) = n
	if n > b.most {
		b.chief, b.most = from, n
	}
}

// End tells what was one-sided and much.
func (f *floods) End(o *Out) {
	f.spray.end(o, &f.trail)
	reflected := map[hosts.Number]bool{}
	for v := range f.udpVictims.all.each() {
		if v.others < reflectors || (v.twoSided+uint64(f.twoSided.n.Get(v.key)))*2 > v.convs || !v.hits() {
			continue
		}
		reflected[v.host] = true
		o.Emit(finding.Finding{
			Code: Reflection, Severity: finding.Warning, Host: o.Hosts.Addr(v.host), Evidence: v.ev.done(&f.trail),
			Values: []finding.Value{
				finding.Num(v.port), finding.Num(v.others), finding.Num(v.datagrams), finding.Num(v.bytes),
				flag(v.asked*2 > v.convs), finding.Num(v.ev.seconds()),
			},
		})
	}
	for v := range f.synVictims.all.each() {
		if v.others >= strangeSYNACKs {
			o.Emit(finding.Finding{
				Code: SYNACKReflect, Severity: finding.Warning, Host: o.Hosts.Addr(v.host), Evidence: v.ev.done(&f.trail),
				Values: []finding.Value{finding.Num(v.others), finding.Num(v.convs), finding.Num(v.ev.seconds())},
			})
		}
	}
	for b := range f.bursts.all.each() {
		f.flooded(o, b, reflected[b.host])
	}
}

// hits tells an attack from a capture that holds one direction of a resolver's or
// a manager's work: it is fast, and answers of name servers are long.
func (v *victim) hits() bool {
	const portDNS = 53
	answers := v.asked*2 <= v.convs
	if v.port == portDNS && (!answers || v.bytes < longAnswer*v.datagrams) {
		return false
	}
	return float64(v.datagrams) >= reflectedPerSecond*max(v.ev.seconds(), 1)
}

func (f *floods) flooded(o *Out, b *burst, reflected bool) {
	span := max(float64(b.stop-b.ev.start)/second, 0)
	rate := float64(b.sent) / max(span, 1)
	if reflected || rate < floodDatagrams || float64(b.answered) > floodSilent*float64(b.sent) {
		return
	}
	source := ""
	if b.most*2 > b.sent {
		source = o.Hosts.Addr(b.chief).String()
	}
	o.Emit(finding.Finding{
		Code: UDPFlood, Severity: finding.Notice, Host: o.Hosts.Addr(b.host), Evidence: b.ev.done(&f.trail),
		Values: []finding.Value{
			finding.Text(source), finding.Num(b.sent), finding.Num(b.answered), finding.Num(b.sources),
			finding.Num(b.ports), finding.Num(rate), finding.Num(span),
		},
	})
}
