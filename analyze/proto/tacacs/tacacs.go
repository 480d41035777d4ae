// Package tacacs reads TACACS+ (RFC 8907): logins, commands and accounting that are
// refused where the bodies are in clear, and from outside where they are not: sessions
// without answer, and ends that do not agree on whether bodies are hidden.
package tacacs

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Refused  finding.Code = "tacacs.refused"
	Mismatch finding.Code = "tacacs.unencrypted-mismatch"
	NoAnswer finding.Code = "tacacs.no-answer"
)

const name = "tacplus"

// Spec declares the analyzer.
func Spec() proto.Spec {
	what := finding.Metric{Name: "what", Text: true, Doc: "login, authorization or accounting"}
	return proto.Spec{
		Name: name, Doc: "TACACS+, RFC 8907",
		Carrier: proto.TCP, Ports: []uint16{49},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToServer && c>>4 == majorNum && c&0xf <= 1 },
		Probe:  probe,
		New:    newAnalyzer,
		Counts: true,
		Codes: []finding.Def{
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "The server refused a login, a command or accounting, or had an error (RFC 8907, 5.2, 6.2 and 7.2). It can be read only where the bodies are in clear.",
				Metrics: []finding.Metric{
					what,
					{Name: "status", Text: true, Doc: "FAIL or ERROR"},
					{Name: "text", Text: true, Doc: "the server's words"},
					{Name: "user", Text: true, Doc: "of the login; empty: not read"},
					{Name: "times", Merge: finding.Sum, Doc: "refusals"},
				},
			},
			{
				Code: Mismatch, Severity: finding.Notice,
				Doc: "One end marks bodies as not hidden (flag 0x01), the other hides them: neither can read the other, and the session has to be ended (RFC 8907, 4.5).",
				Metrics: []finding.Metric{
					{Name: "clear_by_server", Merge: finding.Max, Doc: "1 when the server is the one in clear"},
					{Name: "times", Merge: finding.Sum, Doc: "sessions"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc:     "A session has no answer when the connection is closed, or after five seconds: servers close so where they do not know the client or where the key differs.",
				Metrics: []finding.Metric{what, {Name: "requests", Merge: finding.Sum, Doc: "sessions without answer"}, {Name: "closed", Merge: finding.Max, Doc: "1 when the connection was closed or reset"}},
			},
		},
	}
}

const (
	headLen  = 12
	longest  = 1 << 16 // RFC 8907, 4.1: implementations bound it
	majorNum = 0xc
	// Kinds.
	login, authorization, accounting = 1, 2, 3
	// Flags.
	inClear, single = 1, 4
	patience        = 5_000_000_000
)

func probe(dir flow.Dir, b []byte) proto.Verdict {
	switch {
	case dir == flow.ToClient || len(b) == 0 || b[0]>>4 != majorNum || b[0]&0xf > 1:
		return proto.No
	case len(b) < headLen:
		return proto.NeedMore
	case b[1] < login || b[1] > accounting || b[2] != 1 || b[3]&^(inClear|single) != 0 || binary.BigEndian.Uint32(b[8:]) > longest:
		return proto.No
	}
	return proto.Likely
}

type analyzer struct {
	frames.Reader

	book  ask.Book
	clear map[uint32]bool // by session: whether the client's bodies are in clear
	user  string
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: name}, clear: map[uint32]bool{}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		n := binary.BigEndian.Uint32(b[8:])
		if b[0]>>4 != majorNum || n > longest {
			return 0, errHead
		}
		return headLen + int(n), nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errHead fault = "no TACACS+ packet where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	s.Carries(name)
	kind, session, open := b[1], binary.BigEndian.Uint32(b[4:]), b[3]&inClear != 0
	const most = 256
	if dir == flow.ToServer {
		if _, known := a.clear[session]; known || len(a.clear) < most {
			a.clear[session] = open
		}
		if first := b[2] == 1; open && first && kind == login {
			a.user = userOf(b[headLen:])
		}
		a.book.Queue(s, uint64(session), label(kind), total)
		return
	}
	if asked, known := a.clear[session]; known && asked != open {
		server := 0
		if open {
			server = 1
		}
		s.Report(Mismatch, finding.Num(server), finding.Num(1))
	}
	if !open {
		a.book.Answer(s, uint64(session), "", false, total)
		return
	}
	status, text, refused := result(kind, b[headLen:])
	a.book.Answer(s, uint64(session), status, refused, total)
	if kind == login && (refused || status == pass) {
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), User: a.user, OK: !refused})
	}
	if refused {
		s.Report(Refused, finding.Text(label(kind)), finding.Text(status), finding.Text(text), finding.Text(a.user), finding.Num(1))
	}
}

func label(kind byte) string {
	switch kind {
	case login:
		return "login"
	case authorization:
		return "authorization"
	}
	return "accounting"
}

// userOf reads the name of a login's start (RFC 8907, 5.1): action, privilege, type,
// service, and four lengths before it.
func userOf(b []byte) string {
	const fixed = 8
	if len(b) < fixed || len(b) < fixed+int(b[4]) {
		return ""
	}
	return ask.Clip(b[fixed : fixed+int(b[4])])
}

const (
	pass  = "PASS"
	fails = "FAIL"
	wrong = "ERROR"
)

// result reads a reply in clear: its status, and the words for the user.
func result(kind byte, b []byte) (status, text string, refused bool) {
	at := 0 // of the status
	var words []byte
	switch {
	case kind == login && len(b) >= 6: // status, flags, two lengths (5.2)
		words = b[6:min(len(b), 6+int(binary.BigEndian.Uint16(b[2:])))]
	case kind == authorization && len(b) >= 6: // status, number of arguments, two lengths, a length for each (6.2)
		from := min(6+int(b[1]), len(b))
		words = b[from:min(len(b), from+int(binary.BigEndian.Uint16(b[2:])))]
	case kind == accounting && len(b) >= 5: // two lengths, status (7.2)
		at = 4
		words = b[5:min(len(b), 5+int(binary.BigEndian.Uint16(b)))]
	default:
		return "", "", false
	}
	return statusOf(kind, b[at], ask.Clip(words))
}

func statusOf(kind, n byte, words string) (status, text string, refused bool) {
	switch {
	case n == 1:
		return pass, words, false
	case kind == login && n == 2, kind == authorization && n == 0x10:
		return fails, words, true
	case kind == login && n == 7, kind == authorization && n == 0x11, kind == accounting && n == 2:
		return wrong, words, true
	}
	return strconv.Itoa(int(n)), words, false // it asks on, or changes what was asked
}

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, why proto.End) {
	closed, wait := 0, int64(patience)
	if why == proto.Closed || why == proto.Reset {
		closed, wait = 1, 0
	}
	a.book.GiveUp(s, wait, func(at *proto.Scope, r *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Text(r.Label), finding.Num(1), finding.Num(closed))
	})
}
