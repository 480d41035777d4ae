package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of ICMP errors, both versions.
const (
	HostUnreachable     finding.Code = "icmp.host-unreachable"
	PortUnreachable     finding.Code = "icmp.port-unreachable"
	LateAnswer          finding.Code = "icmp.late-answer"
	Prohibited          finding.Code = "icmp.prohibited"
	ProtocolUnreachable finding.Code = "icmp.protocol-unreachable"
	FragmentationNeeded finding.Code = "icmp.fragmentation-needed"
	TTLExceeded         finding.Code = "icmp.ttl-exceeded"
	RoutingLoop         finding.Code = "icmp.routing-loop"
	Traceroute          finding.Code = "icmp.traceroute"
	Redirect            finding.Code = "icmp.redirect"
	ParameterProblem    finding.Code = "icmp.parameter-problem"
	SourceQuench        finding.Code = "icmp.source-quench"
	ErrorFlood          finding.Code = "icmp.error-flood"
)

const (
	// Systems send with a TTL of 64, 128 or 255 (RFC 1340 and usage), and the
	// longest paths of the Internet have about 30 hops: one that is used up from
	// more than this went in a circle. Traceroute begins at 1 and ends at 30.
	normalTTL = 31
	// The first ports that traceroute uses, and a bound on those after it.
	traceroutePort, traceroutePorts = 33434, 512
	maxErrors                       = 1 << 14
)

// ICMPErrors groups error messages by what they say, who says it and which
// destination it is about.
func ICMPErrors() Spec {
	metrics := []finding.Metric{
		{Name: "from", Text: true, Doc: "who sent the errors"},
		{Name: "sender", Text: true, Doc: "who was told"},
		{Name: "transport", Text: true, Doc: "of the packets that were refused: tcp, udp, icmp"},
		{Name: "port", Doc: "they were sent to; 0: none"},
		{Name: "type", Doc: "ICMP type"},
		{Name: "icmp_code", Doc: "ICMP code"},
		{Name: "mtu", Merge: finding.Min, Doc: "of the next hop, where told; bytes"},
		{Name: "routers", Merge: finding.Max, Doc: "different senders of such errors about this destination"},
		{Name: "sent_ttl", Merge: finding.Max, Doc: "TTL that the packets had at the tap; 0: not seen"},
		{Name: "from_target", Merge: finding.Max, Doc: "1 when the destination itself sent them"},
		{Name: "v6", Doc: "1 for ICMPv6"},
	}
	def := func(c finding.Code, s finding.Severity, doc string) finding.Def {
		return finding.Def{Code: c, Severity: s, Doc: doc + " The finding's host is the destination of the packets.", Metrics: metrics}
	}
	return Spec{
		Name: "icmp-errors", Doc: "ICMP and ICMPv6 error messages, by what they say and about whom",
		New: func() Correlator {
			return &icmpErrors{group: map[errorKey]*errorGroup{}, senders: map[netip.Addr]*errorSender{}}
		},
		Codes: []finding.Def{
			def(HostUnreachable, finding.Notice, "A router has no route to a host, or the host did not answer on its link (RFC 792; RFC 4443, 3.1)."),
			def(PortUnreachable, finding.Notice, "Nothing listens on a UDP port (RFC 792, code 3; RFC 4443, 3.1, code 4)."),
			def(LateAnswer, finding.Info, "A client refused an answer that came after it had stopped waiting: port unreachable about a packet from a service."),
			def(Prohibited, finding.Notice, "A router or host says that policy forbids the packets (RFC 1812, 5.2.7.1, codes 9, 10 and 13; RFC 4443, 3.1, codes 1, 5 and 6)."),
			def(ProtocolUnreachable, finding.Notice, "A host does not know the transport protocol (RFC 792, code 2)."),
			def(FragmentationNeeded, finding.Notice, "Packets were too big for a link on the path and could not be fragmented (RFC 1191; RFC 4443, 3.2)."),
			def(TTLExceeded, finding.Notice, "The TTL of packets was used up on the way (RFC 792, type 11; RFC 4443, 3.3)."),
			def(RoutingLoop, finding.Warning, "Packets went in a circle between routers until their TTL was used up, or the same packet came by again and again with a falling TTL."),
			def(Traceroute, finding.Info, "Time exceeded in answer to packets that were sent with a small TTL on purpose."),
			def(ParameterProblem, finding.Notice, "A host or router cannot read a field or header of the packets (RFC 792, type 12; RFC 4443, 3.4)."),
			def(SourceQuench, finding.Notice, "A host or router asks to send more slowly (RFC 792, type 4; deprecated by RFC 6633)."),
			errorFlood(),
			def(Redirect, finding.Info, "A router tells of a better first hop (RFC 792, type 5; RFC 4861, 4.5)."),
		},
	}
}

// Looped is published by the lanes when the same packet comes by again with a
// TTL that fell by more than one hop, or again and again.
type Looped struct {
	From, To netip.Addr
	TTL      uint8
	V6       bool
}

type errorKey struct {
	code   finding.Code
	target netip.Addr
	port   uint16
	proto  uint8
}

type errorGroup struct {
	e       ICMPError
	routers map[netip.Addr]struct{}
	mtu     uint16
	ttl     uint8
	target  bool
	ev      finding.Evidence
}

type icmpErrors struct {
	group   map[errorKey]*errorGroup
	order   []errorKey
	senders map[netip.Addr]*errorSender
}

// Hears implements Listener.
func (*icmpErrors) Hears() []any {
	return []any{(*ICMPError)(nil), (*proto.Redirected)(nil), (*Looped)(nil)}
}

// Event takes one error message.
func (x *icmpErrors) Event(_ *Out, ev *proto.Event) {
	switch e := ev.Body.(type) {
	case *ICMPError:
		x.add(ev, e, classify(e))
		x.sent(ev, e)
	case *proto.Redirected:
		x.add(ev, &ICMPError{From: e.From, To: e.To, Type: redirect6, V6: true, Quoted: flow.Key{A: e.To.As16(), B: e.For.As16()}, QuotedSrcA: true}, Redirect)
	case *Looped:
		x.add(ev, &ICMPError{From: netip.Addr{}, To: e.From, V6: e.V6, Quoted: loopKey(e), QuotedSrcA: true, SentTTL: e.TTL}, RoutingLoop)
	}
}

func loopKey(l *Looped) flow.Key {
	return flow.Key{A: l.From.As16(), B: l.To.As16()}
}

func (x *icmpErrors) add(ev *proto.Event, e *ICMPError, code finding.Code) {
	if code == "" {
		return
	}
	to, port := e.target()
	switch code {
	case TTLExceeded, RoutingLoop, Traceroute, HostUnreachable, LateAnswer:
		port = 0 // it is about the host
	}
	k := errorKey{code: code, target: to, port: port, proto: e.Quoted.Proto}
	g := x.group[k]
	if g == nil {
		if len(x.group) >= maxErrors {
			return
		}
		g = &errorGroup{e: *e, routers: map[netip.Addr]struct{}{}}
		x.group[k] = g
		x.order = append(x.order, k)
	}
	if e.From.IsValid() && len(g.routers) < maxTracks {
		g.routers[e.From] = struct{}{}
	}
	if e.MTU > 0 && (g.mtu == 0 || e.MTU < g.mtu) {
		g.mtu = e.MTU
	}
	g.ttl = max(g.ttl, e.SentTTL)
	g.target = g.target || e.From == to
	g.ev.Add(ev.Frame, ev.Time)
}

// target is the destination of the packet that an error is about.
func (e *ICMPError) target() (netip.Addr, uint16) {
	if e.QuotedSrcA {
		return flow.Addr(e.Quoted.B), e.Quoted.PortB
	}
	return flow.Addr(e.Quoted.A), e.Quoted.PortA
}

// source is its sender's port.
func (e *ICMPError) source() uint16 {
	if e.QuotedSrcA {
		return e.Quoted.PortA
	}
	return e.Quoted.PortB
}

// Types of ICMP (RFC 792) and ICMPv6 (RFC 4443).
const (
	unreachable4, quench4, redirect4               = 3, 4, 5
	exceeded4, parameter4                          = 11, 12
	unreachable6, tooBig6, exceeded6, parameter6   = 1, 2, 3, 4
	redirect6                                      = 137
	reassembly                                     = 1 // code of time exceeded
	netUnreachable, hostUnreach, protoUnreach      = 0, 1, 2
	portUnreach, fragNeeded, sourceRouteFailed     = 3, 4, 5
	netProhibited, hostProhibited, adminProhibited = 9, 10, 13
)

func classify(e *ICMPError) finding.Code {
	if e.V6 {
		return classify6(e)
	}
	switch e.Type {
	case unreachable4:
		switch e.Code {
		case protoUnreach:
			return ProtocolUnreachable
		case portUnreach:
			return portOrLate(e)
		case fragNeeded:
			return FragmentationNeeded
		case netProhibited, hostProhibited, adminProhibited:
			return Prohibited
		}
		return HostUnreachable
	case quench4:
		return SourceQuench
	case redirect4:
		return Redirect
	case exceeded4:
		return exceeded(e)
	case parameter4:
		return ParameterProblem
	}
	return ""
}

func classify6(e *ICMPError) finding.Code {
	switch e.Type {
	case unreachable6:
		switch e.Code {
		case 1, 5, 6: // administratively prohibited, source address policy, reject route
			return Prohibited
		case 4:
			return portOrLate(e)
		}
		return HostUnreachable
	case tooBig6:
		return FragmentationNeeded
	case parameter6:
		return ParameterProblem
	case exceeded6:
		return exceeded(e)
	}
	return ""
}

// portOrLate tells a missing service from an answer that nobody waits for any
// more: the latter comes from a lower, registered port (RFC 6335, 6).
func portOrLate(e *ICMPError) finding.Code {
	const dynamic, system = 32768, 1024
	_, to := e.target()
	if from := e.source(); to >= dynamic && from < dynamic || to >= system && from < system {
		return LateAnswer
	}
	return PortUnreachable
}

// exceeded tells a loop from a traceroute by the TTL that the packet had when it
// passed the tap.
func exceeded(e *ICMPError) finding.Code {
	_, port := e.target()
	switch {
	case e.Code == reassembly:
		return ""
	case e.SentTTL >= normalTTL:
		return RoutingLoop
	case e.SentTTL > 0, e.Quoted.Proto == flow.UDP && port >= traceroutePort && port < traceroutePort+traceroutePorts:
		return Traceroute
	}
	return TTLExceeded
}

// End reports each group, and who sends too many.
func (x *icmpErrors) End(o *Out) {
	x.floods(o)
	severity := map[finding.Code]finding.Severity{}
	for _, d := range ICMPErrors().Codes {
		severity[d.Code] = d.Severity
	}
	for _, k := range x.order {
		g := x.group[k]
		o.Emit(finding.Finding{
			Code: k.code, Severity: severity[k.code], Host: k.target, Evidence: g.ev,
			Values: []finding.Value{
				finding.Text(addrText(g.e.From)), finding.Text(g.e.To.String()), finding.Text(transport(k.proto)), finding.Num(k.port),
				finding.Num(g.e.Type), finding.Num(g.e.Code), finding.Num(g.mtu), finding.Num(len(g.routers)),
				finding.Num(g.ttl), flag(g.target), flag(g.e.V6),
			},
		})
	}
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func transport(p uint8) string {
	switch p {
	case flow.TCP:
		return "tcp"
	case flow.UDP:
		return "udp"
	case flow.ICMP, flow.ICMPv6:
		return "icmp"
	}
	return "ip"
}
