// Package amqp reads the Advanced Message Queuing Protocol, 0-9-1 (amqp.org) and 1.0
// (OASIS, ISO/IEC 19464): connections and channels that the broker closes, with its
// reason, and versions that it does not speak.
package amqp

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Closed  finding.Code = "amqp.closed"
	Version finding.Code = "amqp.version-refused"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: protocol, Doc: "Advanced Message Queuing Protocol 0-9-1 and 1.0",
		Carrier: proto.TCP, Ports: []uint16{5672},
		Untold: [2]bool{flow.ToClient: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToClient || c == 'A' },
		Probe:  probe,
		New:    newAnalyzer,
		Codes: []finding.Def{{
			Code: Closed, Severity: finding.Notice,
			Doc: "One end closed the connection or a channel with an error code (AMQP 0-9-1, 1.4.2.9; AMQP 1.0, 2.8.14), or refused the login: 403 access refused, 404 not found, 406 precondition failed, 320 forced.",
			Metrics: []finding.Metric{
				{Name: "code", Doc: "reply code; 0: the text has the condition of version 1.0"},
				{Name: "text", Text: true, Doc: "reply text"},
				{Name: "by_server", Merge: finding.Max, Doc: "1 when the broker closed"},
				{Name: "connection", Merge: finding.Max, Doc: "1 when it was the whole connection"},
				{Name: "times", Merge: finding.Sum, Doc: "closes"},
			},
		}, {
			Code: Version, Severity: finding.Notice,
			Doc: "The broker answered the client's protocol header with another one and so refused its version (AMQP 0-9-1, 4.2.2; AMQP 1.0, 2.2): it then closes the connection.",
			Metrics: []finding.Metric{
				{Name: "asked", Text: true, Doc: "version of the client"},
				{Name: "offered", Text: true, Doc: "version of the broker"},
				{Name: "times", Merge: finding.Sum, Doc: "such answers"},
			},
		}},
	}
}

const (
	protocol                    = "amqp"
	resultOK                    = "ok"
	headLen                     = 7
	method                      = 1
	classConnection, classChan  = 10, 20
	connOpen, connOK            = 40, 41
	connClose, chanClose        = 50, 40
	start, startOK, tune        = 10, 11, 30
	replySuccess, accessRefused = 200, 403
)

// version is what a protocol header names: an id, major, minor and revision.
type version [4]byte

// of1 reports whether it is that of version 1.0, alone, with TLS or with SASL, which
// has frames of its own.
func (v version) of1() bool { return v[1] == 1 && v[2] == 0 && v[3] == 0 && v[0] <= 3 && v[0] != 1 }

func (v version) String() string {
	switch {
	case v == version{0, 1, 0, 0}:
		return "1.0"
	case v.of1():
		return [...]string{"", "", "1.0 with TLS", "1.0 with SASL"}[v[0]]
	case v[0] == 1: // before 0-9-1: protocol 1, instance 1, then the version
		return fmt.Sprintf("%d-%d", v[2], v[3])
	}
	return fmt.Sprintf("%d-%d-%d", v[1], v[2], v[3])
}

func probe(dir flow.Dir, b []byte) proto.Verdict {
	const magic = "AMQP"
	if dir == flow.ToClient {
		return proto.NeedMore // the client introduces itself
	}
	if len(b) < 8 {
		if len(b) <= 4 && string(b) == magic[:len(b)] || len(b) > 4 && string(b[:4]) == magic {
			return proto.NeedMore
		}
		return proto.No
	}
	if string(b[:4]) == magic && (version(b[4:8]).of1() || b[4] <= 1 && b[5] <= 1 && b[6] <= 10) {
		return proto.Certain
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	head    bool      // the client's introduction was read
	asked   version   // the latest of the client's
	waiting []version // those without an answer
	book    ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: protocol}}
	a.Length = func(dir flow.Dir, b []byte) (int, error) {
		if dir == flow.ToServer && !a.head || len(b) > 0 && b[0] == 'A' {
			if len(b) < 8 {
				return 0, nil
			}
			return 8, nil
		}
		if a.asked.of1() {
			return length1(b)
		}
		if len(b) < headLen {
			return 0, nil
		}
		n := binary.BigEndian.Uint32(b[3:])
		if b[0] == 0 || b[0] > 8 || n > 1<<26 {
			return 0, errFrame
		}
		return headLen + int(n) + 1, nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errFrame fault = "no AMQP frame where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	if b[0] == 'A' {
		a.introduced(s, dir, version(b[4:8]), total)
		return
	}
	if a.asked.of1() {
		a.frame1(s, dir, b, total)
		return
	}
	if b[0] != method || len(b) < headLen+4 {
		return
	}
	class, m := binary.BigEndian.Uint16(b[7:]), binary.BigEndian.Uint16(b[9:])
	v := b[headLen+4:]
	switch {
	case class == classConnection && m == start:
		a.waiting = nil
		a.book.Answer(s, 0, resultOK, false, total)
	case class == classConnection && m == startOK:
		a.book.Queue(s, 0, "login", total)
	case class == classConnection && m == tune:
		a.book.Answer(s, 0, resultOK, false, total)
	case class == classConnection && m == connOpen:
		a.book.Queue(s, 0, "open", total)
	case class == classConnection && m == connOK:
		a.book.Answer(s, 0, resultOK, false, total)
		s.Publish(&proto.Login{Protocol: protocol, Client: s.Client().Addr(), Server: s.Server(), OK: true})
	case class == classConnection && m == connClose, class == classChan && m == chanClose:
		a.closed(s, dir, class == classConnection, v, total)
	}
}

// introduced takes a protocol header. A broker of version 1.0 answers with the same
// one if it agrees; others answer with theirs only if they do not.
func (a *analyzer) introduced(s *proto.Scope, dir flow.Dir, v version, total int) {
	const most = 4 // one for TLS, one for SASL, one for the protocol itself
	if dir == flow.ToServer {
		if a.head, a.asked = true, v; len(a.waiting) < most {
			a.waiting = append(a.waiting, v)
			a.book.Queue(s, 0, "version "+v.String(), total)
		}
		return
	}
	if len(a.waiting) == 0 {
		return
	}
	asked := a.waiting[0]
	a.waiting = a.waiting[1:]
	refused := v != asked
	a.book.Answer(s, 0, v.String(), refused, total)
	if refused {
		s.Report(Version, finding.Text(asked.String()), finding.Text(v.String()), finding.Num(1))
	}
}

func (a *analyzer) closed(s *proto.Scope, dir flow.Dir, connection bool, v []byte, total int) {
	if len(v) < 3 {
		return
	}
	code := binary.BigEndian.Uint16(v)
	if code == replySuccess || code == 0 {
		return
	}
	if connection && dir == flow.ToClient {
		a.book.Answer(s, 0, strconv.Itoa(int(code)), true, total)
	}
	tell(s, dir, code, ask.Clip(v[3:min(len(v), 3+int(v[2]))]), connection)
	if code == accessRefused && connection {
		s.Publish(&proto.Login{Protocol: protocol, Client: s.Client().Addr(), Server: s.Server()})
	}
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
