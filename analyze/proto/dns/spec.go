package dns

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Well-known ports.
const (
	portDNS   = 53
	portMDNS  = 5353 // RFC 6762
	portLLMNR = 5355 // RFC 4795
)

// Names of the protocol by port, as in Wireshark.
const (
	nameDNS   = "dns"
	nameMDNS  = "mdns"
	nameLLMNR = "llmnr"
)

// Codes of findings.
const (
	NXDomain         finding.Code = "dns.nxdomain"
	ServFail         finding.Code = "dns.servfail"
	Refused          finding.Code = "dns.refused"
	ErrorCode        finding.Code = "dns.error-code"
	NoAnswer         finding.Code = "dns.no-answer"
	SlowAnswer       finding.Code = "dns.slow-answer"
	Truncated        finding.Code = "dns.truncated"
	Retransmission   finding.Code = "dns.retransmission"
	DifferentAnswers finding.Code = "dns.different-answers"
	DuplicateAnswer  finding.Code = "dns.duplicate-answer"
	Unsolicited      finding.Code = "dns.unsolicited-answer"
)

// Spec declares DNS over UDP, and the codes of all the carriers.
func Spec() proto.Spec {
	s := datagrams(nameDNS, "DNS over UDP (RFC 1035, 6891)", portDNS)
	s.Codes = codes()
	return s
}

// MDNS is the same on its own port; Wireshark counts it apart.
func MDNS() proto.Spec {
	return onOwnPort(datagrams(nameMDNS, "multicast DNS (RFC 6762)", portMDNS))
}

// LLMNR is the same on its own port; Wireshark counts it apart.
func LLMNR() proto.Spec {
	return onOwnPort(datagrams(nameLLMNR, "link-local multicast name resolution (RFC 4795)", portLLMNR))
}

// onOwnPort makes a probe sure of nothing: what looks like DNS on a foreign port
// is DNS.
func onOwnPort(s proto.Spec) proto.Spec {
	s.Probe = func(dir flow.Dir, b []byte) proto.Verdict { return min(probeDatagram(dir, b), proto.Likely) }
	return s
}

func datagrams(name, doc string, port uint16) proto.Spec {
	return proto.Spec{
		Name: name, Doc: doc, Carrier: proto.UDP, Ports: []uint16{port}, Anywhere: name == nameDNS,
		Probe: probeDatagram,
		New:   func() proto.Analyzer { return &analyzer{last: never} },
	}
}

// TCP is DNS with two bytes of length before each message.
func TCP() proto.Spec {
	return proto.Spec{
		Name: nameDNS, Doc: "DNS over TCP (RFC 1035, 4.2.2; RFC 7766)",
		Carrier: proto.TCP, Ports: []uint16{portDNS}, Counts: true,
		Again: func(s *proto.Scope, _ flow.Dir, _ []byte) { s.Carries(nameDNS) },
		Probe: probeStream,
		New:   func() proto.Analyzer { return &analyzer{last: never, stream: &stream{}} },
	}
}

func codes() []finding.Def {
	name := finding.Metric{Name: "name", Text: true, Doc: "name asked for"}
	typ := finding.Metric{Name: "type", Text: true, Doc: "type of record asked for"}
	response := finding.Metric{Name: "response_ms", Merge: finding.Max, Doc: "time from the first query to the answer; 0: query not captured"}
	return []finding.Def{
		{
			Code: NXDomain, Severity: finding.Info, Metrics: []finding.Metric{name, typ, response},
			Doc: "The answer says that the name does not exist (RFC 8020). One is normal: search lists and typing errors make them.",
		},
		{
			Code: ServFail, Severity: finding.Notice, Metrics: []finding.Metric{name, typ, response},
			Doc: "The resolver could not find an answer: its upstream is unreachable, or validation failed (RFC 1035, 4.1.1: SERVFAIL).",
		},
		{
			Code: Refused, Severity: finding.Notice, Metrics: []finding.Metric{name, typ, response},
			Doc: "The server does not want to answer this client or this name (RFC 1035, 4.1.1: REFUSED).",
		},
		{
			Code: ErrorCode, Severity: finding.Notice, Metrics: []finding.Metric{name, typ, response, {Name: "code", Text: true, Doc: "name of the code"}},
			Doc: "The answer has another code than NOERROR, NXDOMAIN, SERVFAIL and REFUSED.",
		},
		{
			Code: NoAnswer, Severity: finding.Notice, Metrics: []finding.Metric{
				name, typ,
				{Name: "queries", Merge: finding.Max, Doc: "times the query was sent"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first query until the client gave up: as long after the last try as between tries, 5 s after a single one, at most to the end of the capture"},
			},
			Doc: "A query has no answer in the capture. Said only if it was sent again or a second passed: glibc and Windows wait at least that long before they try again.",
		},
		{
			Code: SlowAnswer, Severity: finding.Notice, Metrics: []finding.Metric{name, typ, response, {Name: "code", Text: true, Doc: "name of the code"}},
			Doc: "The answer took 400 ms or more, and did not follow a repetition of the query at once (then the query was lost, not slow): longer than a resolver with a cold cache needs for one question to another continent and back (about 300 ms).",
		},
		{
			Code: Truncated, Severity: finding.Info, Metrics: []finding.Metric{name, typ},
			Doc: "The answer did not fit the datagram (TC); the client should ask again over TCP (RFC 7766, 5).",
		},
		{
			Code: Retransmission, Severity: finding.Info, Metrics: []finding.Metric{
				name, typ,
				{Name: "times", Merge: finding.Max, Doc: "times the query was sent"},
				{Name: "after_seconds", Merge: finding.Max, Doc: "from the first to this"},
			},
			Doc: "The same query with the same id was sent again on the same conversation.",
		},
		{
			Code: DifferentAnswers, Severity: finding.Warning, Metrics: []finding.Metric{
				name, typ,
				{Name: "first_answer", Text: true, Doc: "addresses or code of the first"},
				{Name: "second_answer", Text: true, Doc: "addresses or code of the other"},
				{Name: "apart_ms", Merge: finding.Max, Doc: "time between the two"},
				{Name: "first_ip_ttl", Doc: "IP TTL of the first"},
				{Name: "second_ip_ttl", Doc: "IP TTL of the second"},
			},
			Doc: "One query got two answers that contradict each other: someone else answers too, and the first is believed (RFC 5452).",
		},
		{
			Code: DuplicateAnswer, Severity: finding.Info, Metrics: []finding.Metric{name, typ},
			Doc: "The same answer came twice: a duplicated packet, or a server that answers a repeated query twice.",
		},
		{
			Code: Unsolicited, Severity: finding.Info, Metrics: []finding.Metric{name, typ},
			Doc: "An answer whose query is not in the capture, on a conversation that has queries: wrong id (RFC 5452, 9.1).",
		},
	}
}

// probeDatagram is sure of messages that read to their last byte, and holds what
// was cut (snaplen) or is an error without question for likely. Junk with a
// plausible header is asked for again: the answer to it tells.
func probeDatagram(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headerLen || !plausible(b) {
		return proto.No
	}
	var m message
	m.walk(b, nil)
	switch {
	case m.bad == "" && m.rest == 0 && m.qd+m.an > 0 && m.qd <= 1 && (m.qd == 0 || plausibleClass(m.qclass)):
		return proto.Certain
	case m.bad == "" && (m.qd > 0 && plausibleClass(m.qclass) || len(b) == headerLen && m.response() && m.rcode != 0):
		return proto.Likely
	case m.questions > 0 && plausibleClass(m.qclass):
		return proto.Likely // cut, or a broken record behind a good question
	case m.bad == faultName && m.qd == 1 && m.an == 0:
		return proto.Likely // cut inside the question
	case m.qd == 1 && m.response() && m.opcode() == opQuery:
		return proto.Likely // a broken question, answered all the same
	case m.qd == 1 || m.opcode() == opUpdate:
		return proto.NeedMore
	}
	return proto.No
}

func plausibleClass(c uint16) bool {
	c &= 0x7fff // mDNS: unicast response wanted (RFC 6762, 5.4)
	return c == 1 || c == 3 || c == 4 || c == 254 || c == 255
}

// plausible looks at the header only: a known opcode, and no more records than
// there are bytes for.
func plausible(b []byte) bool {
	flags := binary.BigEndian.Uint16(b[2:])
	if op := flags >> 11 & 15; op > opDSO || op == 3 {
		return false
	}
	if flags&0x8000 == 0 && flags&0x0f != 0 && flags>>11&15 != opUpdate {
		return false // a query with a code
	}
	qd := int(binary.BigEndian.Uint16(b[4:]))
	records := int(binary.BigEndian.Uint16(b[6:])) + int(binary.BigEndian.Uint16(b[8:])) + int(binary.BigEndian.Uint16(b[10:]))
	// A snaplen cuts messages: a full-size one has about 65,000/16 records.
	return qd <= 64 && records <= 4096 && (len(b) >= 64 || qd*5+records*minRR <= 2*len(b)+64)
}

func probeStream(dir flow.Dir, b []byte) proto.Verdict {
	if len(b) < 2 {
		return proto.NeedMore
	}
	n := int(binary.BigEndian.Uint16(b))
	if n < headerLen {
		return proto.No
	}
	if len(b) < 2+headerLen {
		return proto.NeedMore
	}
	b = b[2:]
	if !plausible(b) {
		return proto.No
	}
	if len(b) < n {
		var m message
		m.walk(b, nil)
		if m.questions > 0 && plausibleClass(m.qclass) {
			return proto.Likely
		}
		if m.bad == faultName || m.bad == faultRecord {
			return proto.NeedMore
		}
		return proto.No
	}
	return probeDatagram(dir, b[:n])
}
