// Package pop reads the Post Office Protocol, version 3 (RFC 1939): failed logins
// and other refusals.
package pop

import (
	"bytes"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/dialog"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "pop.login-failed"
	Refused     finding.Code = "pop.refused"
)

// Spec declares the analyzer: what shows by its content that it is POP.
func Spec() proto.Spec {
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: name, Doc: doc,
		Carrier: proto.TCP, Ports: []uint16{110},
		First: func(dir flow.Dir, c byte) bool { return dialog.Begins(dir, c, "ACU", fine[:1]) },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server did not accept user and password (RFC 1939, 7).",
				Metrics: []finding.Metric{{Name: "user", Text: true, Doc: "as the client gave it"}, text, {Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
			{
				Code: Refused, Severity: finding.Info,
				Doc:     "The server answered another command with -ERR.",
				Metrics: []finding.Metric{{Name: "command", Text: true, Doc: "the command"}, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
		},
	}
}

// Port declares the same for the port of POP, where a greeting need not tell
// what it greets for. Codes are declared by Spec.
func Port() proto.Spec {
	return proto.Spec{
		Name: name, Doc: doc,
		Carrier: proto.TCP, Ports: []uint16{110}, Weak: true,
		Probe: probePort,
		New:   newAnalyzer,
	}
}

const (
	name = "pop"
	doc  = "Post Office Protocol 3, RFC 1939"
	fine = "+OK "
)

func newAnalyzer() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} }

// probe wants words that only this protocol has: many protocols of lines answer
// +OK, and share commands with it.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToServer {
		if word := verb(b); bytes.EqualFold(word, []byte("APOP")) || bytes.EqualFold(word, []byte("CAPA")) || bytes.EqualFold(word, []byte("UIDL")) {
			return proto.Likely
		}
		return proto.No
	}
	if !bytes.HasPrefix(b, []byte(fine)) {
		return proto.No
	}
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	if !bytes.Contains(bytes.ToUpper(line), []byte("POP")) && !timestamp(line) {
		return proto.No
	}
	return proto.Certain
}

// timestamp reports whether a greeting has one, as a message identifier (RFC 1939, 7).
func timestamp(line []byte) bool {
	_, rest, open := bytes.Cut(line, []byte{'<'})
	id, _, closed := bytes.Cut(rest, []byte{'>'})
	return open && closed && bytes.Contains(id, []byte{'.'}) && bytes.Contains(id, []byte{'@'})
}

func verb(b []byte) []byte {
	word, _, _ := bytes.Cut(bytes.TrimRight(b[:min(len(b), 6)], "\r\n"), []byte{' '})
	return word
}

func probePort(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToServer {
		// The server speaks first; from the middle of a session on, only a
		// command is one of this protocol: others answer +OK too.
		switch string(bytes.ToUpper(verb(b))) {
		case "USER", "PASS", "APOP", "AUTH", "CAPA", "STLS", "STAT", "LIST", "RETR", "DELE", "NOOP", "RSET", "QUIT", "TOP", "UIDL", "UTF8":
			return proto.NeedMore
		}
		return proto.No
	}
	if len(b) < len(fine) {
		if strings.HasPrefix(fine, string(b)) {
			return proto.NeedMore
		}
		return proto.No
	}
	if string(b[:len(fine)]) != fine {
		return proto.No
	}
	return proto.Likely
}

type analyzer struct {
	book    ask.Book
	verbs   []string
	args    []string
	user    string
	listing bool // the server sends lines to a single dot
	auth    bool // the client's next line answers a challenge
}

const maxCommands = 64

// Data takes one line.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToClient && a.listing {
		return a.list(b), nil
	}
	line, used := frames.Line(b)
	switch {
	case used == 0:
	case dir == flow.ToServer:
		a.command(s, line)
	default:
		a.answer(s, line)
	}
	return used, nil
}

func (a *analyzer) list(b []byte) int {
	end := []byte("\r\n.\r\n")
	if bytes.HasPrefix(b, end[2:]) {
		a.listing = false
		return 3
	}
	if i := bytes.Index(b, end); i >= 0 {
		a.listing = false
		return i + len(end)
	}
	return max(len(b)-len(end)+1, 0)
}

func (a *analyzer) command(s *proto.Scope, line []byte) {
	if a.auth || len(a.verbs) >= maxCommands {
		a.auth = false
		return
	}
	verb, arg, _ := bytes.Cut(line, []byte{' '})
	v, x := strings.ToUpper(ask.Clip(verb)), ask.Clip(arg)
	if v == "USER" {
		a.user = x
	}
	if v == "APOP" {
		a.user, _, _ = strings.Cut(x, " ")
	}
	label := v
	if v == "RETR" || v == "TOP" || v == "DELE" {
		label += " " + x
	}
	a.verbs, a.args = append(a.verbs, v), append(a.args, x)
	a.book.Queue(s, 0, label, len(line))
}

func (a *analyzer) answer(s *proto.Scope, line []byte) {
	ok := bytes.HasPrefix(line, []byte("+OK"))
	if bytes.HasPrefix(line, []byte("+ ")) || string(line) == "+" {
		a.auth = true
		return
	}
	if !ok && !bytes.HasPrefix(line, []byte("-ERR")) {
		return
	}
	if len(a.verbs) == 0 {
		return // the greeting
	}
	verb, arg := a.verbs[0], a.args[0]
	a.verbs, a.args = a.verbs[1:], a.args[1:]
	code, text := "+OK", ""
	if !ok {
		code, text = "-ERR", ask.Clip(bytes.TrimSpace(line[4:]))
	}
	a.book.Answer(s, 0, code, !ok, len(line))
	login := proto.Login{Protocol: "pop", Client: s.Client().Addr(), Server: s.Server(), User: a.user, OK: ok}
	switch verb {
	case "PASS", "APOP", "AUTH":
		s.Publish(&login)
		if !ok {
			s.Report(LoginFailed, finding.Text(a.user), finding.Text(text), finding.Num(1))
		}
	case "STLS":
		if ok {
			s.Become()
		}
	case "RETR", "TOP", "CAPA":
		a.listing = ok
	case "LIST", "UIDL":
		a.listing = ok && arg == ""
	}
	if !ok && verb != "PASS" && verb != "APOP" && verb != "AUTH" {
		s.Report(Refused, finding.Text(verb), finding.Text(text), finding.Num(1))
	}
}

// Gap ends the analysis: which answer belongs to which command is unknown.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return frames.ErrGap }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
