package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// Codes of datagrams and segments that look for something, or only fill the line.
const (
	UDPPorts finding.Code = "scan.udp-ports"
	UDPHosts finding.Code = "scan.udp-hosts"
	TCPFlood finding.Code = "flood.tcp"
	Land     finding.Code = "tcp.land"
)

const (
	// A datagram or two to each of fifty ports of one host, none answered: clients
	// know the port, and calls and games use a few. Traceroute uses ninety in a row
	// and is left out.
	probedPorts = 50
	// The same port on twenty hosts of one neighbourhood, none answered. Peers of file
	// sharing and name servers are spread over the Internet.
	probedHosts = 20
	probeTries  = 3   // datagrams of a probe
	probeAnswer = 0.1 // share of the answered
	// Segments of connections that never were, five hundred a second to one service:
	// a capture that begins in the middle of so many sees more than one of each.
	strayPerSecond = 500
	strayLeast     = 500
	neighbourhood  = 16 // bits of an IPv4 prefix
	firstUnasked   = 1024
)

// Probes finds scans by UDP that nobody refuses, and floods of segments without
// connections.
func Probes() Spec {
	duration := finding.Metric{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last"}
	return Spec{
		Name: "probes", Doc: "datagrams that look for ports and hosts, segments of connections that never were",
		New: func() Correlator { return &probes{} },
		Codes: []finding.Def{
			{
				Code: UDPPorts, Severity: finding.Notice,
				Doc: "One host sent a few datagrams to each of fifty UDP ports or more of another, and hardly any was answered. The finding's host is the one that scans.",
				Metrics: []finding.Metric{
					{Name: "target", Text: true, Doc: "the host scanned"},
					{Name: "ports", Merge: finding.Sum, Doc: "different ports"},
					{Name: "answered", Merge: finding.Sum, Doc: "ports that answered, after the first that did not"},
					duration,
				},
			},
			{
				Code: UDPHosts, Severity: finding.Notice,
				Doc: "One host sent a few datagrams to one UDP port of twenty hosts or more of one neighbourhood, and hardly any was answered. The finding's host is the one that scans.",
				Metrics: []finding.Metric{
					{Name: "port", Doc: "the port"},
					{Name: "hosts", Merge: finding.Sum, Doc: "different hosts"},
					{Name: "answered", Merge: finding.Sum, Doc: "hosts that answered, after the first that did not"},
					duration,
				},
			},
			{
				Code: TCPFlood, Severity: finding.Warning,
				Doc: "A service got single segments of five hundred connections a second that never began (no SYN, no answer but RST). The finding's host is the target.",
				Metrics: []finding.Metric{
					{Name: "port", Doc: "of the target"},
					{Name: "segments", Merge: finding.Sum, Doc: "such segments"},
					{Name: "peak_per_second", Merge: finding.Max, Doc: "most within a second"},
					duration,
				},
			},
			{
				Code: Land, Severity: finding.Warning,
				Doc:     "A SYN has the same address and port as source and target (land): made to confuse the target. The finding's host is the target.",
				Metrics: []finding.Metric{{Name: "port", Doc: "both ports"}, {Name: "packets", Merge: finding.Sum, Doc: "such connections"}},
			},
		},
	}
}

// quest is a series of probes of one host.
type quest struct {
	from, to hosts.Number
	port     uint16
	tried    uint32
	near     uint32 // of the hosts, those of the first one's neighbourhood
	answered uint32
	area     netip.Prefix
	ev       evidence
}

// quests are those by target, or by port.
type quests struct {
	cases[quest]

	tried hosts.Set // by the place of the quest
}

// stray is the segments of one target that belong to no connection.
type stray struct {
	host  hosts.Number
	port  uint16
	count uint64
	pace
	ev evidence
}

type probes struct {
	ports, hosts quests
	strays       cases[stray]
	land         cases[stray]
	trail        trail
}

// Conn notes what one conversation is.
func (p *probes) Conn(_ *Out, c *Folded) {
	switch c.ID.Proto {
	case flow.UDP:
		p.datagram(c)
	case flow.TCP:
		switch {
		case c.SYNs > 0 && c.Client.Addr == c.Server.Addr && !c.Client.Addr.Addr().IsLoopback():
			p.count(&p.land, c)
		case c.SYNs == 0 && c.Client.Packets == 1 && c.Server.Packets <= 1 && c.Server.Bytes == 0:
			p.count(&p.strays, c)
		}
	}
}

func (p *probes) count(of *cases[stray], c *Folded) {
	port := c.Server.Addr.Port()
	x, _ := of.entry(service(c.To, port), maxPairs)
	if x == nil {
		return
	}
	x.host, x.port = c.To, port
	x.count++
	x.tick(c.Start)
	x.ev.add(&p.trail, c.First, c.Start, c.Stop)
}

func (p *probes) datagram(c *Folded) {
	from, to := c.Client.Addr, c.Server.Addr
	port := to.Port()
	switch {
	case from.Port() < firstUnasked || port >= traceroutePort && port < traceroutePort+traceroutePorts, to.Addr().IsMulticast():
		return
	case c.Server.Packets > 0:
		if x, _ := p.ports.get(pair(c.From, c.To)); x != nil {
			x.answered++
		}
		if x, _ := p.hosts.get(service(c.From, port)); x != nil {
			x.answered++
		}
		return
	case c.Client.Packets > probeTries:
		return
	}
	if x, at := p.ports.entry(pair(c.From, c.To), maxPairs); x != nil {
		x.from, x.to = c.From, c.To
		p.try(&p.ports, x, service(at, port), c)
	}
	if x, at := p.hosts.entry(service(c.From, port), maxPairs); x != nil {
		x.from, x.port = c.From, port
		if !x.area.IsValid() {
			x.area, _ = to.Addr().Prefix(neighbourhood)
		}
		if p.try(&p.hosts, x, pair(at, c.To), c) && x.area.Contains(to.Addr()) {
			x.near++
		}
	}
}

// try adds a probe to a quest and reports whether its target is a new one.
func (p *probes) try(of *quests, x *quest, target uint64, c *Folded) bool {
	x.ev.add(&p.trail, c.First, c.Start, c.Stop)
	if target == 0 || x.tried >= maxTracks || of.tried.Len() >= maxMembers || !of.tried.Add(target) {
		return false
	}
	x.tried++
	return true
}

func (x *quest) inVain() bool { return float64(x.answered) <= probeAnswer*float64(x.tried) }

// End tells what the probes amount to.
func (p *probes) End(o *Out) {
	emit := func(host hosts.Number, code finding.Code, severity finding.Severity, ev *evidence, v ...finding.Value) {
		o.Emit(finding.Finding{Code: code, Severity: severity, Host: o.Hosts.Addr(host), Evidence: ev.done(&p.trail), Values: v})
	}
	for x := range p.ports.all.each() {
		if x.tried >= probedPorts && x.inVain() {
			emit(x.from, UDPPorts, finding.Notice, &x.ev, finding.Text(o.Hosts.Addr(x.to).String()), finding.Num(x.tried),
				finding.Num(x.answered), finding.Num(x.ev.seconds()))
		}
	}
	for x := range p.hosts.all.each() {
		if x.tried >= probedHosts && x.near*5 >= x.tried*4 && x.inVain() {
			emit(x.from, UDPHosts, finding.Notice, &x.ev, finding.Num(x.port), finding.Num(x.tried), finding.Num(x.answered), finding.Num(x.ev.seconds()))
		}
	}
	for x := range p.strays.all.each() {
		if x.peak >= strayPerSecond && x.count >= strayLeast {
			emit(x.host, TCPFlood, finding.Warning, &x.ev, finding.Num(x.port), finding.Num(x.count), finding.Num(x.peak), finding.Num(x.ev.seconds()))
		}
	}
	for x := range p.land.all.each() {
		emit(x.host, Land, finding.Warning, &x.ev, finding.Num(x.port), finding.Num(x.count))
	}
}
