// Package irc reads Internet Relay Chat (RFC 2812) as far as logging in: servers that
// refuse it, and names that are taken.
package irc

import (
	"bytes"
	"strconv"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Refused finding.Code = "irc.refused"
	Closed  finding.Code = "irc.closed"
)

const name = "irc"

// Spec declares the analyzer.
func Spec() proto.Spec {
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: name, Doc: "Internet Relay Chat, RFC 2812",
		Carrier: proto.TCP, Ports: []uint16{6667, 6666, 6668, 6669, 7000},
		First: func(dir flow.Dir, c byte) bool {
			return dir == flow.ToClient && (c == ':' || c == 'N') || dir == flow.ToServer && (c == 'N' || c == 'C' || c == 'P')
		},
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} },
		Codes: []finding.Def{
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "The server refused a login before it had welcomed the client (RFC 2812, 5.2): wrong password, banned, no permission for this host, name taken or not allowed; or its reply to SASL.",
				Metrics: []finding.Metric{
					{Name: "numeric", Doc: "number of the reply; 0: it closed with ERROR"},
					text,
					{Name: "nick", Text: true, Doc: "name that the client wants"},
					{Name: "times", Merge: finding.Sum, Doc: "such replies"},
					{Name: "name_only", Merge: finding.Min, Doc: "1 when nothing but the name was refused: clients take another one"},
				},
			},
			{
				Code: Closed, Severity: finding.Notice,
				Doc:     "The server closed the link of a client that had been welcomed and did not say goodbye (RFC 2812, 3.7.4): killed, banned, or no answer to its PING.",
				Metrics: []finding.Metric{text, {Name: "times", Merge: finding.Sum, Doc: "links closed"}},
			},
		},
	}
}

// probe wants what a client begins with, or a server that greets unasked.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	line, used := frames.Line(b)
	if dir == flow.ToClient {
		rest := message(line)
		if used > 0 && (bytes.HasPrefix(rest, []byte("NOTICE AUTH :")) || bytes.HasPrefix(rest, []byte("NOTICE * :"))) {
			return proto.Certain
		}
		return proto.No
	}
	for _, verb := range [...]string{"NICK ", "CAP LS", "CAP REQ"} {
		n := min(len(b), len(verb))
		switch {
		case string(b[:n]) != verb[:n]:
		case n < len(verb):
			return proto.NeedMore
		default:
			return proto.Certain
		}
	}
	if !bytes.HasPrefix(b, []byte("PASS ")) {
		return proto.No
	}
	const nick = "NICK "
	next := string(b[used:min(len(b), used+len(nick))]) // others log in with a PASS too, but with the name before it
	switch {
	case used > 0 && (next == nick || next[:min(len(next), 4)] == "CAP "):
		return proto.Certain
	case used > 0 && next != nick[:len(next)]:
		return proto.No
	}
	return proto.NeedMore
}

// message is a line without who sends it (RFC 2812, 2.3).
func message(line []byte) []byte {
	if len(line) == 0 || line[0] != ':' {
		return line
	}
	_, rest, _ := bytes.Cut(line, []byte{' '})
	return rest
}

const welcome = 1

type analyzer struct {
	book     ask.Book
	nick     string
	welcomed bool
	leaving  bool // the client said QUIT
	lost     [2]bool
}

// Data takes one line.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	line, used := frames.Line(b)
	switch {
	case used == 0:
	case a.lost[dir]:
		a.lost[dir] = false
	case dir == flow.ToServer:
		a.command(s, line)
	default:
		a.reply(s, line)
	}
	return used, nil
}

func (a *analyzer) command(s *proto.Scope, line []byte) {
	verb, arg, _ := bytes.Cut(message(line), []byte{' '})
	switch strings.ToUpper(string(verb[:min(len(verb), 16)])) {
	case "NICK":
		a.nick = ask.Clip(bytes.TrimPrefix(arg, []byte{':'}))
	case "USER":
		a.book.Queue(s, 0, "login", len(line))
	case "QUIT":
		a.leaving = true
	}
}

func (a *analyzer) reply(s *proto.Scope, line []byte) {
	verb, args, _ := bytes.Cut(message(line), []byte{' '})
	if string(verb) == "ERROR" {
		a.closed(s, ask.Clip(bytes.TrimPrefix(args, []byte{':'})), len(line))
		return
	}
	code := numeric(verb)
	switch {
	case code == 0:
		return
	case code == welcome:
		a.welcomed = true
		a.book.Answer(s, 0, "001", false, len(line))
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), User: a.nick, OK: true})
		return
	case a.welcomed && !sasl(code):
		return
	}
	refused, nameOnly := refusal(code)
	if !refused {
		return
	}
	only := 0
	if nameOnly {
		only = 1
	}
	s.Report(Refused, finding.Num(code), finding.Text(words(args)), finding.Text(a.nick), finding.Num(1), finding.Num(only))
	if nameOnly {
		return
	}
	a.book.Answer(s, 0, strconv.Itoa(code), true, len(line))
	if code == wrongPassword || sasl(code) {
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), User: a.nick})
	}
}

// closed takes an ERROR, the last message of a server.
func (a *analyzer) closed(s *proto.Scope, text string, n int) {
	switch {
	case a.leaving:
	case a.welcomed:
		s.Report(Closed, finding.Text(text), finding.Num(1))
	default:
		if _, _, ok := a.book.Answer(s, 0, "ERROR", true, n); ok || a.nick != "" {
			s.Report(Refused, finding.Num(0), finding.Text(text), finding.Text(a.nick), finding.Num(1), finding.Num(0))
		}
	}
}

// numeric reads a reply's number; 0: it has none.
func numeric(verb []byte) int {
	if len(verb) != 3 {
		return 0
	}
	n := 0
	for _, c := range verb {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// words are the last argument of a reply.
func words(args []byte) string {
	if _, text, ok := bytes.Cut(args, []byte(" :")); ok {
		return ask.Clip(text)
	}
	return ask.Clip(args)
}

const wrongPassword = 464

// sasl reports whether a reply refuses a login by SASL, which may come later too
// (IRCv3, SASL 3.1); aborted ones are the client's wish.
func sasl(code int) bool { return code == 902 || code == 904 || code == 905 }

// refusal tells replies that refuse a login (RFC 2812, 5.2), and those that refuse
// the name alone.
func refusal(code int) (refused, nameOnly bool) {
	switch code {
	case 432, 433, 436, 437:
		return true, true
	case 463, wrongPassword, 465, 466, 484:
		return true, false
	}
	return sasl(code), false
}

// Gap passes over the rest of a line.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, _ int) error {
	a.lost[dir] = true
	return nil
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
