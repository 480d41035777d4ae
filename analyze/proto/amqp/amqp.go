// Package amqp reads the Advanced Message Queuing Protocol 0-9-1 (amqp.org):
// connections and channels that the broker closes, with its reason.
package amqp

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Closed is reported when an end closes with an error.
const Closed finding.Code = "amqp.closed"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "amqp", Doc: "Advanced Message Queuing Protocol 0-9-1",
		Carrier: proto.TCP, Ports: []uint16{5672},
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{{
			Code: Closed, Severity: finding.Notice,
			Doc: "One end closed the connection or a channel with an error code (AMQP 0-9-1, 1.4.2.9): 403 access refused, 404 not found, 406 precondition failed, 320 forced.",
			Metrics: []finding.Metric{
				{Name: "code", Doc: "reply code"},
				{Name: "text", Text: true, Doc: "reply text"},
				{Name: "by_server", Merge: finding.Max, Doc: "1 when the broker closed"},
				{Name: "connection", Merge: finding.Max, Doc: "1 when it was the whole connection"},
				{Name: "times", Merge: finding.Sum, Doc: "closes"},
			},
		}},
	}
}

const (
	headLen                     = 7
	method                      = 1
	classConnection, classChan  = 10, 20
	connOpen, connOK            = 40, 41
	connClose, chanClose        = 50, 40
	replySuccess, accessRefused = 200, 403
)

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
	if string(b[:8]) == "AMQP\x00\x00\x09\x01" || string(b[:8]) == "AMQP\x01\x01\x00\x09" {
		return proto.Certain
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	head bool // the client's introduction was read
	book ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "amqp"}}
	a.Length = func(dir flow.Dir, b []byte) (int, error) {
		if dir == flow.ToServer && !a.head || len(b) > 0 && b[0] == 'A' {
			if len(b) < 8 {
				return 0, nil
			}
			return 8, nil
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
		a.head = a.head || dir == flow.ToServer
		return
	}
	if b[0] != method || len(b) < headLen+4 {
		return
	}
	class, m := binary.BigEndian.Uint16(b[7:]), binary.BigEndian.Uint16(b[9:])
	v := b[headLen+4:]
	switch {
	case class == classConnection && m == connOpen:
		a.book.Queue(s, 0, "open", total)
	case class == classConnection && m == connOK:
		a.book.Answer(s, 0, "ok", false, total)
		s.Publish(&proto.Login{Protocol: "amqp", Client: s.Client().Addr(), Server: s.Server(), OK: true})
	case class == classConnection && m == connClose, class == classChan && m == chanClose:
		a.closed(s, dir, class == classConnection, v)
	}
}

func (*analyzer) closed(s *proto.Scope, dir flow.Dir, connection bool, v []byte) {
	if len(v) < 3 {
		return
	}
	code := binary.BigEndian.Uint16(v)
	if code == replySuccess || code == 0 {
		return
	}
	server, whole := 0, 0
	if dir == flow.ToClient {
		server = 1
	}
	if connection {
		whole = 1
	}
	text := ask.Clip(v[3:min(len(v), 3+int(v[2]))])
	s.Report(Closed, finding.Num(code), finding.Text(text), finding.Num(server), finding.Num(whole), finding.Num(1))
	if code == accessRefused && connection {
		s.Publish(&proto.Login{Protocol: "amqp", Client: s.Client().Addr(), Server: s.Server()})
	}
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
