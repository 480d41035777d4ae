// Package imap reads the Internet Message Access Protocol (RFC 9051, RFC 3501):
// failed logins and other refusals.
package imap

import (
	"bytes"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "imap.login-failed"
	Refused     finding.Code = "imap.refused"
	Bye         finding.Code = "imap.bye"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: "imap", Doc: "Internet Message Access Protocol, RFC 9051",
		Carrier: proto.TCP, Ports: []uint16{143},
		Untold: [2]bool{flow.ToServer: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToServer || c == '*' },
		Probe:  probe,
		New:    func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "imap"}} },
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server answered LOGIN or AUTHENTICATE with NO (RFC 9051, 6.2).",
				Metrics: []finding.Metric{{Name: "user", Text: true, Doc: "as the client gave it"}, text, {Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
			{
				Code: Refused, Severity: finding.Info,
				Doc: "The server answered another command with NO or BAD (RFC 9051, 7.1).",
				Metrics: []finding.Metric{
					{Name: "command", Text: true, Doc: "the command"},
					{Name: "result", Text: true, Doc: "NO or BAD"},
					text,
					{Name: "replies", Merge: finding.Sum, Doc: "such replies"},
				},
			},
			{
				Code: Bye, Severity: finding.Notice,
				Doc:     "The server ended the session without being asked to (RFC 9051, 7.1.5).",
				Metrics: []finding.Metric{text},
			},
		},
	}
}

func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToServer {
		return proto.NeedMore // the server speaks first
	}
	for _, greeting := range []string{"* OK ", "* PREAUTH ", "* BYE "} {
		if len(b) >= len(greeting) && string(b[:len(greeting)]) == greeting {
			line, _, _ := bytes.Cut(b, []byte{'\n'})
			if bytes.Contains(bytes.ToUpper(line), []byte("IMAP")) {
				return proto.Certain
			}
			return proto.Likely
		}
		if len(b) < len(greeting) && strings.HasPrefix(greeting, string(b)) {
			return proto.NeedMore
		}
	}
	return proto.No
}

type analyzer struct {
	book   ask.Book
	open   []command
	skip   [2]int // bytes of a literal
	bye    bool   // the client said goodbye
	middle [2]bool
}

type command struct{ tag, verb, user string }

const maxCommands = 64

// Data takes one line, or a piece of a literal.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if n := min(a.skip[dir], len(b)); n > 0 {
		a.skip[dir] -= n
		return n, nil
	}
	line, used := frames.Line(b)
	if used == 0 {
		return 0, nil
	}
	goesOn := a.middle[dir]
	a.skip[dir], a.middle[dir] = literal(line)
	switch {
	case goesOn: // the rest of what began before a literal
	case dir == flow.ToServer:
		a.command(s, line)
	default:
		a.answer(s, line)
	}
	return used, nil
}

// literal returns the length that a line announces in braces at its end.
func literal(line []byte) (n int, ok bool) {
	i := bytes.LastIndexByte(line, '{')
	if i < 0 || !bytes.HasSuffix(line, []byte{'}'}) {
		return 0, false
	}
	for _, c := range line[i+1 : len(line)-1] {
		if c == '+' {
			continue
		}
		if c < '0' || c > '9' || n > 1<<28 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func (a *analyzer) command(s *proto.Scope, line []byte) {
	tag, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || len(a.open) >= maxCommands {
		return // the answer to a challenge, DONE
	}
	verb, arg, _ := bytes.Cut(rest, []byte{' '})
	c := command{tag: ask.Clip(tag), verb: strings.ToUpper(ask.Clip(verb))}
	switch c.verb {
	case "LOGIN":
		user, _, _ := bytes.Cut(arg, []byte{' '})
		c.user = strings.Trim(ask.Clip(user), `"`)
	case "LOGOUT":
		a.bye = true
	case "UID":
		sub, _, _ := bytes.Cut(arg, []byte{' '})
		c.verb += " " + strings.ToUpper(ask.Clip(sub))
	}
	a.open = append(a.open, c)
	a.book.Queue(s, hash(c.tag), c.verb, len(line))
}

func hash(tag string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(tag) {
		h = (h ^ uint64(tag[i])) * 1099511628211
	}
	return h
}

func (a *analyzer) answer(s *proto.Scope, line []byte) {
	tag, rest, _ := bytes.Cut(line, []byte{' '})
	word, text, _ := bytes.Cut(rest, []byte{' '})
	if string(tag) == "*" {
		if !a.bye && strings.EqualFold(string(word), "BYE") {
			s.Report(Bye, finding.Text(ask.Clip(text)))
		}
		return
	}
	result := strings.ToUpper(ask.Clip(word))
	if result != "OK" && result != "NO" && result != "BAD" {
		return
	}
	for i, c := range a.open {
		if c.tag != string(tag) {
			continue
		}
		a.open = append(a.open[:i], a.open[i+1:]...)
		a.book.Answer(s, hash(c.tag), result, result != "OK", len(line))
		a.judge(s, c, result, finding.Text(ask.Clip(text)))
		return
	}
}

func (*analyzer) judge(s *proto.Scope, c command, result string, text finding.Value) {
	ok := result == "OK"
	switch {
	case c.verb == "LOGIN" || c.verb == "AUTHENTICATE":
		s.Publish(&proto.Login{Protocol: "imap", Client: s.Client().Addr(), Server: s.Server(), User: c.user, OK: ok})
		if !ok {
			s.Report(LoginFailed, finding.Text(c.user), text, finding.Num(1))
		}
	case !ok:
		s.Report(Refused, finding.Text(c.verb), finding.Text(result), text, finding.Num(1))
	case c.verb == "STARTTLS":
		s.Become()
	}
}

// Gap passes over what is missing; lines go on behind it.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	if a.skip[dir] >= n {
		a.skip[dir] -= n
		return nil
	}
	return frames.ErrGap
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
