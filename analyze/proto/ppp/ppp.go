// Package ppp reads what negotiates a point-to-point link (RFC 1661): passwords
// that are refused (PAP, RFC 1334; CHAP, RFC 1994; EAP, RFC 3748) and network
// protocols that do not come up (IPCP, RFC 1332). EAP over a LAN (IEEE 802.1X) and
// the keys of Wi-Fi are read here too.
package ppp

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	AuthFailed finding.Code = "ppp.auth-failed"
	NCPFailed  finding.Code = "ppp.ncp-failed"
	Terminated finding.Code = "ppp.terminated"
	NoAnswer   finding.Code = "ppp.no-answer"
	LCPFailed  finding.Code = "ppp.lcp-failed"
	EchoLost   finding.Code = "ppp.echo-unanswered"
)

// Protocol numbers (RFC 1661, 2; IANA).
const (
	lcp, pap, chap, eap = 0xc021, 0xc023, 0xc223, 0xc227
	ipcp, ipv6cp, ccp   = 0x8021, 0x8057, 0x80fd
)

// Codes of control packets (RFC 1661, 5).
const (
	confReq, confAck, confNak, confRej, termReq = 1, 2, 3, 4, 5
	echoReq, echoReply                          = 9, 10
	papReq, papNak                              = 1, 3
	chapFailure, eapFailure                     = 4, 4
)

const (
	typeNone, typePPPoE, typeGREPPP = 0, 0x8864, 0x880b
	maxLinks                        = 1 << 12
	// A negotiation converges in two or three rounds (RFC 1661, 4.6: Max-Failure 5).
	manyRounds = 5
	// The same refusal again: whoever was refused did not take the hint. Twice may be
	// a lost packet.
	sameRefusals = 3
	// Systems give a link up after three to five echoes in a row without reply.
	lostEchoes = 4
)

// Spec declares the analyzer of PPP.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "ppp", Doc: "Point-to-Point Protocol, RFC 1661",
		Also:    names(),
		Carrier: proto.Link, Numbers: []uint16{typeNone, typePPPoE, typeGREPPP},
		New: func() proto.Analyzer { return &analyzer{links: map[link]*state{}} },
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc: "The peer refused name and password (RFC 1334, 2.2; RFC 1994, 4.2; RFC 3748, 4.2).",
				Metrics: []finding.Metric{
					{Name: "method", Text: true, Doc: "pap, chap or eap"},
					{Name: "user", Text: true, Doc: "name given, where it is readable"},
					{Name: "message", Text: true, Doc: "the peer's words"},
					{Name: "attempts", Merge: finding.Sum, Doc: "refusals"},
				},
			},
			{
				Code: NCPFailed, Severity: finding.Notice,
				Doc: "The link is up but IP is not: the ends did not agree on addresses in five rounds, or one ended the negotiation (RFC 1332, 3.3).",
				Metrics: []finding.Metric{
					{Name: "protocol", Text: true, Doc: "ipcp or ipv6cp"},
					{Name: "address", Text: true, Doc: "address asked for last"},
					{Name: "offered", Text: true, Doc: "address that the other proposed last"},
					{Name: "same_address", Merge: finding.Max, Doc: "1 when both ends asked for the same address"},
					{Name: "requests", Merge: finding.Max, Doc: "requests sent"},
					{Name: "refusals", Merge: finding.Max, Doc: "refused or answered with another value"},
				},
			},
			{
				Code: Terminated, Severity: finding.Info,
				Doc:     "One end took the link down (RFC 1661, 5.5).",
				Metrics: []finding.Metric{{Name: "message", Text: true, Doc: "its words"}, {Name: "times", Merge: finding.Sum, Doc: "times"}},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc:     "One end asks to configure the link again and again, and no answer comes (RFC 1661, 4.6: Max-Configure 10).",
				Metrics: []finding.Metric{{Name: "requests", Merge: finding.Max, Doc: "requests in a row"}},
			},
			{
				Code: LCPFailed, Severity: finding.Notice,
				Doc: "The ends do not agree on the link: the same option was refused three times or more, or the link was ended after its refusal (RFC 1661, 5.3 and 5.4).",
				Metrics: []finding.Metric{
					{Name: "option", Text: true, Doc: "what is refused: authentication, MRU ..."},
					{Name: "offered", Text: true, Doc: "what the refusing end wants instead; empty: nothing"},
					{Name: "refusals", Merge: finding.Max, Doc: "refusals in a row"},
				},
			},
			{
				Code: EchoLost, Severity: finding.Notice,
				Doc:     "A link that worked no longer answers echo requests (RFC 1661, 5.8), four in a row.",
				Metrics: []finding.Metric{{Name: "requests", Merge: finding.Max, Doc: "echoes in a row without reply"}},
			},
		},
	}
}

// link tells links apart: by session and addresses, where there are any.
type link struct {
	session uint32
	low     [6]byte
	high    [6]byte
}

type state struct {
	user   string
	silent int // LCP requests since the last answer
	same   int // refusals of the same, in a row
	refuse string
	failed disagreement
	echoes int // requests since the last reply
	echoed bool
	ncp    [2]ncp
}

// disagreement is what kept a link from coming up; a login or an address that is
// agreed on later ends it.
type disagreement struct {
	option, offered string
	refusals        int
	ev              finding.Evidence
}

// ncp is one network protocol.
type ncp struct {
	requests, refusals int
	asked              [2]netip.Addr // by either end, in the order of appearance
	last, offered      netip.Addr
	acks               int
}

type analyzer struct {
	links map[link]*state
	order []*state
}

// Data takes one packet; which protocol it is stands before it.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || !p.Protos.Has(decode.PPP) || p.Payload < 2 || int(p.Payload) > len(s.Bytes()) {
		return len(b), nil
	}
	number := binary.BigEndian.Uint16(s.Bytes()[p.Payload-2:])
	name := nameOf(number)
	switch {
	case name == "" && p.Err == decode.UnknownType:
		name = "data"
	case name == "":
		return len(b), nil
	}
	s.Carries(name)
	const protocolReject, rejected = 8, 6 // RFC 1661, 5.7: the packet that nobody wants follows
	if number == lcp && len(b) > rejected && b[0] == protocolReject {
		if name := nameOf(binary.BigEndian.Uint16(b[4:])); name != "" {
			s.Carries(name)
		}
	}
	if len(b) < 4 || s.Duplicate() {
		return len(b), nil
	}
	n := min(int(binary.BigEndian.Uint16(b[2:])), len(b))
	if n < 4 {
		s.Malformed("length of a PPP control packet is impossible")
		return len(b), nil
	}
	x := a.link(p, s.Bytes())
	if x == nil {
		return len(b), nil
	}
	v := b[4:n]
	const agreed = 2 // PAP accepts, an NCP acknowledges
	if b[0] == agreed && (number == ipcp || number == ipv6cp || number == pap) {
		x.failed = disagreement{}
	}
	switch number {
	case lcp:
		x.lcp(s, b[0], v)
	case pap:
		x.pap(s, b[0], v)
	case chap:
		if b[0] == chapFailure {
			x.refused(s, "chap", ask.Clip(v))
		} else if b[0] == 2 && len(v) > 0 && len(v) > int(v[0]) {
			x.user = ask.Clip(v[1+v[0]:])
		}
	case eap:
		if b[0] == eapFailure {
			x.refused(s, "eap", "")
		}
	case ipcp:
		x.ncp[0].take(s, "ipcp", b[0], v)
	case ipv6cp:
		x.ncp[1].take(s, "ipv6cp", b[0], v)
	}
	return len(b), nil
}

func (a *analyzer) link(p *decode.Packet, raw []byte) *state {
	src, dst, _ := p.MACs(raw)
	k := link{session: p.TunnelID, low: src, high: dst}
	if proto.MACText(dst) < proto.MACText(src) {
		k.low, k.high = dst, src
	}
	x := a.links[k]
	if x == nil && len(a.links) < maxLinks {
		x = &state{}
		a.links[k] = x
		a.order = append(a.order, x)
	}
	return x
}

func (x *state) lcp(s *proto.Scope, code byte, v []byte) {
	switch code {
	case confReq:
		const manySilent = 5
		if x.silent++; x.silent >= manySilent {
			s.Report(NoAnswer, finding.Num(x.silent))
		}
		x.ncp = [2]ncp{}
	case confAck:
		x.silent = 0
	case confNak, confRej:
		x.silent = 0
		x.refusal(s, code, v)
	case echoReq:
		if x.echoes++; x.echoed && x.echoes >= lostEchoes {
			s.Report(EchoLost, finding.Num(x.echoes))
		}
	case echoReply:
		x.echoes, x.echoed = 0, true
	case termReq:
		x.silent = 0
		if x.same > 0 && x.refuse[0] == confRej && x.refuse[1] == optAuth {
			x.disagree(s) // who wants the other to log in does not do without
		}
		s.Report(Terminated, finding.Text(ask.Clip(v)), finding.Num(1))
		if n := &x.ncp[0]; n.requests > 0 && n.acks < 2 {
			n.fail(s, "ipcp")
		}
	}
}

const optAuth = 3

// refusal notes what one end does not accept. Options are refused one after the
// other, and a refusal that is taken does not come again.
func (x *state) refusal(s *proto.Scope, code byte, v []byte) {
	if len(v) < 2 {
		return
	}
	const most = 32
	what := string(append([]byte{code}, v[:min(len(v), most)]...))
	if what != x.refuse {
		x.refuse, x.same = what, 0
	}
	if x.same++; x.same >= sameRefusals {
		x.disagree(s)
	}
}

func (x *state) disagree(s *proto.Scope) {
	names := map[byte]string{1: "MRU", optAuth: "authentication", 4: "quality protocol", 5: "magic number", 7: "protocol field compression", 8: "address field compression"}
	option := names[x.refuse[1]]
	if option == "" {
		option = "option " + strconv.Itoa(int(x.refuse[1]))
	}
	offered := ""
	if v := x.refuse[1:]; x.refuse[0] == confNak && v[0] == optAuth && len(v) >= 4 {
		switch binary.BigEndian.Uint16([]byte(v[2:4])) {
		case pap:
			offered = "PAP"
		case chap:
			offered = "CHAP"
		case eap:
			offered = "EAP"
		}
	}
	f := &x.failed
	f.option, f.offered, f.refusals = option, offered, max(f.refusals, x.same)
	f.ev.Add(s.Frame(), s.Now())
}

func (x *state) pap(s *proto.Scope, code byte, v []byte) {
	text := func() string {
		if len(v) < 1 || len(v) < 1+int(v[0]) {
			return ""
		}
		return ask.Clip(v[1 : 1+v[0]])
	}
	switch code {
	case papReq:
		x.user = text()
	case papNak:
		x.refused(s, "pap", text())
	}
}

func (x *state) refused(s *proto.Scope, method, message string) {
	s.Report(AuthFailed, finding.Text(method), finding.Text(x.user), finding.Text(message), finding.Num(1))
}

func (n *ncp) take(s *proto.Scope, name string, code byte, v []byte) {
	switch code {
	case confReq:
		n.requests++
		if a := address(v); a.IsValid() {
			n.last = a
			switch {
			case !n.asked[0].IsValid():
				n.asked[0] = a
			case n.requests > 1:
				n.asked[1] = a
			}
		}
	case confAck:
		n.acks++
	case confNak, confRej:
		n.refusals++
		n.offered = address(v)
		if n.refusals >= manyRounds && n.acks < 2 {
			n.fail(s, name)
		}
	case termReq:
		// Ended before it is up, or because the other's address is one's own.
		if n.acks < 2 || n.asked[0].IsValid() && n.asked[0] == n.asked[1] {
			n.fail(s, name)
		}
		*n = ncp{}
	}
}

func (n *ncp) fail(s *proto.Scope, name string) {
	same := 0
	if n.asked[0].IsValid() && n.asked[0] == n.asked[1] {
		same = 1
	}
	s.Report(NCPFailed, finding.Text(name), finding.Text(text(n.last)), finding.Text(text(n.offered)), finding.Num(same),
		finding.Num(n.requests), finding.Num(n.refusals))
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// address is the IP address among the options (RFC 1332, 3.3).
func address(v []byte) netip.Addr {
	const ipAddress = 3
	for len(v) >= 2 && int(v[1]) >= 2 && int(v[1]) <= len(v) {
		if v[0] == ipAddress && v[1] == 6 {
			return netip.AddrFrom4([4]byte(v[2:6]))
		}
		v = v[v[1]:]
	}
	return netip.Addr{}
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells of links that never came up.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	for _, x := range a.order {
		if f := &x.failed; f.ev.Count > 0 {
			s.ReportEvidence(netip.Addr{}, LCPFailed, f.ev, finding.Text(f.option), finding.Text(f.offered), finding.Num(f.refusals))
		}
	}
}
