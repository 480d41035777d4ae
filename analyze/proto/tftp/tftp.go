// Package tftp reads the Trivial File Transfer Protocol (RFC 1350): errors and
// requests. Data come from a port of the server's choice, in another conversation:
// whether a request has an answer is judged across conversations.
package tftp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Error is reported for an error message.
const Error finding.Code = "tftp.error"

// Request is published for each request to read or write a file, and for the first
// answers in conversations: to whom, if it came from another port than was asked.
type Request struct {
	Client, Server netip.AddrPort
	File           string // hostile
	Answered       bool
}

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "tftp", Doc: "Trivial File Transfer Protocol, RFC 1350",
		Carrier: proto.UDP, Ports: []uint16{port}, Anywhere: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "tftp"}} },
		Codes: []finding.Def{{
			Code: Error, Severity: finding.Notice,
			Doc: "One end ended a transfer with an error (RFC 1350, 5), such as file not found or access violation.",
			Metrics: []finding.Metric{
				{Name: "code", Doc: "number"},
				{Name: "text", Text: true, Doc: "its words"},
				{Name: "errors", Merge: finding.Sum, Doc: "errors"},
				{Name: "server", Text: true, Doc: "who serves the files: of a conversation for data, the end that began it"},
				{Name: "by_server", Merge: finding.Max, Doc: "1 when it sent the error"},
			},
		}},
	}
}

// Operations.
const (
	read, write, data, acknowledged, failure, options = 1, 2, 3, 4, 5, 6
)

// probe is sure of requests: a name and a known mode. Blocks and
// acknowledgements of the data's conversation are plausible at best: the first
// block, full or short, or an error with a text.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 4 || b[0] != 0 {
		return proto.No
	}
	op, n := b[1], binary.BigEndian.Uint16(b[2:])
	switch {
	case op == read || op == write:
		_, rest, ok := bytes.Cut(b[2:], []byte{0})
		mode, _, ok2 := bytes.Cut(rest, []byte{0})
		if m := strings.ToLower(string(mode[:min(len(mode), 16)])); ok && ok2 && (m == "octet" || m == "netascii" || m == "mail") {
			return proto.Certain
		}
	case op == data && n == 1 && len(b) == 4+512:
		return proto.Likely
	case op == failure && n <= 8 && len(b) > 5 && len(b) < 256 && b[len(b)-1] == 0 && printable(b[4:len(b)-1]):
		return proto.Certain
	}
	return proto.No
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

const port = 69

type analyzer struct {
	book  ask.Book
	asked bool // a request is in this conversation
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if len(b) < 4 || s.Duplicate() {
		return len(b), nil
	}
	op, code := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	switch op {
	case read, write:
		a.request(s, op, b)
	case data:
		if len(b) > 4 {
			s.Carries("data")
		}
	case failure:
		words, _, _ := bytes.Cut(b[4:], []byte{0})
		const optionRefused = 8 // the client may stop so after it has the size (RFC 2347)
		if code != optionRefused {
			a.failed(s, dir, code, ask.Clip(words))
		}
	}
	if dir == flow.ToClient && a.book.Open() > 0 {
		result := "ok"
		if op == failure {
			result = strconv.Itoa(int(code))
		}
		a.book.Answer(s, 0, result, op == failure, len(b))
		s.Publish(&Request{Client: s.Client(), Server: s.Server(), Answered: true})
	}
	if first := op == data && code == 1 || op == acknowledged && code == 0 || op == failure || op == options; first && !a.asked {
		x := &Request{Client: s.Server(), Server: s.Client(), Answered: true}
		if dir == flow.ToClient {
			x.Client, x.Server = s.Client(), s.Server()
		}
		s.Publish(x)
	}
	return len(b), nil
}

// failed reports an error. A server answers from a port of its choice (RFC 1350, 4),
// and so begins the conversation for the data.
func (a *analyzer) failed(s *proto.Scope, dir flow.Dir, code uint16, words string) {
	server, sender := s.Server(), flow.ToClient
	if !a.asked && server.Port() != port {
		server, sender = s.Client(), flow.ToServer
	}
	by := 0
	if dir == sender {
		by = 1
	}
	s.Report(Error, finding.Num(code), finding.Text(words), finding.Num(1), finding.Text(server.Addr().String()), finding.Num(by))
}

func (a *analyzer) request(s *proto.Scope, op uint16, b []byte) {
	name, _, _ := bytes.Cut(b[2:], []byte{0})
	file, verb := ask.Clip(name), "read "
	if op == write {
		verb = "write "
	}
	a.asked = true
	s.Attr("tftp.file", file)
	a.book.Ask(s, 0, verb+file, len(b))
	s.Publish(&Request{Client: s.Client(), Server: s.Server(), File: file})
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: an answer may have come in another conversation.
func (*analyzer) End(*proto.Scope, proto.End) {}
