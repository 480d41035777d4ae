// Package mqtt reads MQTT (OASIS MQTT 3.1.1 and 5.0): connections that are
// refused, disconnects with a reason, messages before the introduction.
package mqtt

import (
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Refused      finding.Code = "mqtt.refused"
	Unintroduced finding.Code = "mqtt.no-connect"
	Disconnected finding.Code = "mqtt.disconnected"
	Failed       finding.Code = "mqtt.request-failed"
	Broken       finding.Code = "mqtt.protocol-broken"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	reason := finding.Metric{Name: "reason", Text: true, Doc: "meaning of the code"}
	code := finding.Metric{Name: "code", Doc: "return or reason code"}
	return proto.Spec{
		Name: "mqtt", Doc: "MQTT 3.1.1 and 5.0",
		Carrier: proto.TCP, Ports: []uint16{1883},
		First: func(dir flow.Dir, c byte) bool { return c == connect<<4 || dir == flow.ToServer && c>>4 == publish },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Refused, Severity: finding.Notice,
				Doc:     "The broker refused a connection (MQTT 3.1.1, 3.2.2.3; MQTT 5, 3.2.2.2).",
				Metrics: []finding.Metric{code, reason, {Name: "client_id", Text: true, Doc: "as the client gave it"}, {Name: "times", Merge: finding.Sum, Doc: "refusals"}},
			},
			{
				Code: Unintroduced, Severity: finding.Notice,
				Doc:     "Something else came first than CONNECT or its answer, at the beginning of the connection: the other end must close it (MQTT 3.1.1, 3.1 and 3.2).",
				Metrics: []finding.Metric{{Name: "packet", Text: true, Doc: "what was sent"}, {Name: "by_server", Merge: finding.Max, Doc: "1 when the broker sent it"}},
			},
			{
				Code: Broken, Severity: finding.Notice,
				Doc:     "One end breaks the protocol in a way after which the other must close the connection: a second CONNECT, a reserved type or quality of service, an answer that nobody asked for (MQTT 3.1.1, 3.1 and 4.8).",
				Metrics: []finding.Metric{{Name: "what", Text: true, Doc: "what was sent"}, {Name: "by_server", Merge: finding.Max, Doc: "1 when the broker sent it"}},
			},
			{
				Code: Disconnected, Severity: finding.Notice,
				Doc:     "The broker ended the connection with a reason (MQTT 5, 3.14).",
				Metrics: []finding.Metric{code, reason},
			},
			{
				Code: Failed, Severity: finding.Info,
				Doc:     "The broker refused a subscription or a publication.",
				Metrics: []finding.Metric{{Name: "packet", Text: true, Doc: "kind of the answer"}, code, reason, {Name: "times", Merge: finding.Sum, Doc: "refusals"}},
			},
		},
	}
}

// Packet types (MQTT 3.1.1, 2.2.1).
const (
	connect, connack, publish, puback = 1, 2, 3, 4
	subscribe, suback                 = 8, 9
	pingreq, pingresp, disconnect     = 12, 13, 14
)

func typeName(t byte) string {
	names := [...]string{"reserved", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH"}
	return names[t&15]
}

// length reads the fixed head: remaining length, up to four bytes.
func length(b []byte) (head, n int, ok bool) {
	for i := 1; i < len(b) && i <= 4; i++ {
		n |= int(b[i]&0x7f) << (7 * (i - 1))
		if b[i] < 0x80 {
			return i + 1, n, true
		}
	}
	return 0, 0, len(b) > 4
}

// probe is sure of CONNECT with its name; other packets are plausible when they
// fill what is there to the last byte.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if len(b) < 2 {
		return proto.NeedMore
	}
	head, n, ok := length(b)
	switch {
	case !ok:
		return proto.NeedMore
	case head == 0:
		return proto.No
	case b[0] == connect<<4:
		if len(b) < head+6 {
			return proto.NeedMore
		}
		if name := string(b[head : head+6]); name == "\x00\x04MQTT" || name == "\x00\x06MQIs" {
			return proto.Certain
		}
		return proto.No
	case dir == flow.ToClient:
		return proto.No // what a broker says is short and tells little
	case b[0]>>4 == publish && b[0]>>1&3 != 3 && head+n == len(b) && n > 4:
		t := int(b[head])<<8 | int(b[head+1])
		if t < 1 || head+2+t > len(b) {
			return proto.No
		}
		for _, c := range b[head+2 : head+2+t] {
			if c < ' ' || c > '~' {
				return proto.No
			}
		}
		return proto.Likely
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	book       ask.Book
	introduced bool
	welcomed   bool
	told       bool
	lost       bool // there was a gap
	id         string
	version    byte
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "mqtt"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 2 {
			return 0, nil
		}
		head, n, ok := length(b)
		switch {
		case !ok:
			return 0, nil
		case head == 0:
			return 0, errLength
		}
		return head + n, nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "remaining length of an MQTT packet is impossible"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	head, _, _ := length(b)
	v, t := b[head:], b[0]>>4
	if dir == flow.ToServer {
		switch {
		case t == connect && a.introduced:
			s.Report(Broken, finding.Text("a second CONNECT"), finding.Num(0))
		case t == connect:
			a.connect(s, v, total)
		case !a.introduced && !a.told:
			a.told = true
			s.Report(Unintroduced, finding.Text(typeName(t)), finding.Num(0))
		case t == 0 || t == publish && b[0]>>1&3 == 3:
			s.Report(Broken, finding.Text(broken(t)), finding.Num(0))
		case t == subscribe && len(v) >= 2:
			a.book.Queue(s, id(suback, v), "SUBSCRIBE", total)
		case t == pingreq:
			a.book.Queue(s, pingresp, "PINGREQ", total)
		case t == publish && b[0]>>1&3 == 1: // QoS 1
			if n := 2 + int(be(v)); n+2 <= len(v) {
				a.book.Queue(s, id(puback, v[n:]), "PUBLISH "+ask.Clip(v[2:n]), total)
			}
		}
		return
	}
	const auth = 15
	if !a.welcomed && t != connack && t != auth && !a.told {
		a.told = true
		s.Report(Unintroduced, finding.Text(typeName(t)), finding.Num(1))
	}
	a.welcomed = true
	switch t {
	case connack:
		a.connack(s, v, total)
	case suback, puback:
		code := byte(0)
		switch {
		case t == puback && len(v) > 2:
			code = v[2]
		case t == suback && len(v) > 2:
			code = v[len(v)-1]
		}
		if len(v) >= 2 {
			_, _, asked := a.book.Answer(s, id(t, v), strconv.Itoa(int(code)), code >= 0x80, total)
			if !asked && t == suback && !a.lost {
				s.Report(Broken, finding.Text("SUBACK without SUBSCRIBE"), finding.Num(1))
			}
		}
		if code >= 0x80 {
			s.Report(Failed, finding.Text(typeName(t)), finding.Num(code), finding.Text(reason(code)), finding.Num(1))
		}
	case pingresp:
		a.book.Answer(s, pingresp, "ok", false, total)
	case disconnect:
		if len(v) > 0 && v[0] >= 0x80 {
			s.Report(Disconnected, finding.Num(v[0]), finding.Text(reason(v[0])))
		}
	}
}

func broken(t byte) string {
	if t == 0 {
		return "a packet of the reserved type 0"
	}
	return "PUBLISH with quality of service 3"
}

func be(v []byte) uint16 {
	if len(v) < 2 {
		return 0
	}
	return uint16(v[0])<<8 | uint16(v[1])
}

func id(kind byte, v []byte) uint64 { return uint64(kind)<<16 | uint64(be(v)) }

func (a *analyzer) connect(s *proto.Scope, v []byte, total int) {
	a.introduced = true
	a.book.Queue(s, connack, "CONNECT", total)
	n := 2 + int(be(v))
	if len(v) < n+4 {
		return
	}
	a.version = v[n]
	p := v[n+4:]
	const v5 = 5
	if a.version == v5 && len(p) > 0 { // properties
		skip := 1 + int(p[0])
		if p[0] >= 0x80 || len(p) < skip {
			return
		}
		p = p[skip:]
	}
	if n := int(be(p)); len(p) >= 2+n {
		a.id = ask.Clip(p[2 : 2+n])
		s.Attr("mqtt.client_id", a.id)
	}
}

func (a *analyzer) connack(s *proto.Scope, v []byte, total int) {
	if len(v) < 2 {
		return
	}
	code := v[1]
	a.book.Answer(s, connack, strconv.Itoa(int(code)), code != 0, total)
	s.Publish(&proto.Login{Protocol: "mqtt", Client: s.Client().Addr(), Server: s.Server(), OK: code == 0})
	if code != 0 {
		s.Report(Refused, finding.Num(code), finding.Text(reason(code)), finding.Text(a.id), finding.Num(1))
	}
}

func reason(code byte) string {
	switch code {
	case 1, 0x84:
		return "protocol version not supported"
	case 2, 0x85:
		return "client identifier not valid"
	case 3, 0x88:
		return "server unavailable"
	case 4, 0x86:
		return "bad user name or password"
	case 5, 0x87:
		return "not authorized"
	case 0x80:
		return "unspecified error"
	case 0x81:
		return "malformed packet"
	case 0x82:
		return "protocol error"
	case 0x89:
		return "server busy"
	case 0x8a:
		return "banned"
	case 0x8b:
		return "server shutting down"
	case 0x8d:
		return "keep alive timeout"
	case 0x8e:
		return "session taken over"
	case 0x8f, 0x90:
		return "topic not valid"
	case 0x93, 0x97:
		return "quota exceeded"
	case 0x9c, 0x9d:
		return "use another server"
	case 0x9f:
		return "connection rate exceeded"
	}
	return strconv.Itoa(int(code))
}

// Gap implements proto.Analyzer: behind a gap nobody knows where packets begin.
func (a *analyzer) Gap(s *proto.Scope, dir flow.Dir, n int) error {
	a.told, a.lost = true, true // the introduction may be in the gap
	return a.Reader.Gap(s, dir, n)
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
