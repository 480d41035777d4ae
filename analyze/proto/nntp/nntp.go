// Package nntp reads the Network News Transfer Protocol (RFC 3977, RFC 4643): logins,
// groups and articles that a server refuses.
package nntp

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
	LoginFailed finding.Code = "nntp.login-failed"
	Unavailable finding.Code = "nntp.unavailable"
	Refused     finding.Code = "nntp.refused"
)

const name = "nntp"

// Spec declares the analyzer.
func Spec() proto.Spec {
	code := finding.Metric{Name: "code", Doc: "reply code"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	command := finding.Metric{Name: "command", Text: true, Doc: "the command"}
	return proto.Spec{
		Name: name, Doc: "Network News Transfer Protocol, RFC 3977",
		Carrier: proto.TCP, Ports: []uint16{119, 433},
		First: func(dir flow.Dir, c byte) bool { return dir == flow.ToServer || c == '2' || c == '4' || c == '5' },
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} },
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server did not accept user and password (RFC 4643, 2.3.2: 481 and 482), or refuses this client altogether (502).",
				Metrics: []finding.Metric{code, {Name: "user", Text: true, Doc: "as the client gave it"}, text, {Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
			{
				Code: Unavailable, Severity: finding.Notice,
				Doc:     "The server says that it is not there for now, or ends the session (RFC 3977, 3.2.1: 400 and 403).",
				Metrics: []finding.Metric{code, command, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
			{
				Code: Refused, Severity: finding.Info,
				Doc:     "The server refused another command (RFC 3977, 3.2): no such group, posting not allowed or failed, login needed, not understood. Articles that are not there, or not wanted, belong to the normal course and are not told.",
				Metrics: []finding.Metric{code, command, {Name: "argument", Text: true, Doc: "its argument"}, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
		},
	}
}

// probe wants a greeting that tells what it is, or a command that only this protocol
// has.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	line, used := frames.Line(b)
	if dir == flow.ToClient {
		if used == 0 || !dialog.ProbeReply(b, "200", "201", "400", "502") {
			if used == 0 && len(b) < 4 {
				return proto.NeedMore
			}
			return proto.No
		}
		text := bytes.ToUpper(line)
		for _, word := range [...]string{"NNTP", "NNRP", "INTERNETNEWS", "NEWS", "POSTING"} {
			if bytes.Contains(text, []byte(word)) {
				return proto.Likely
			}
		}
		return proto.No
	}
	if used == 0 {
		return proto.NeedMore
	}
	verb, _, _ := bytes.Cut(bytes.ToUpper(line), []byte{' '})
	switch string(verb) {
	case "AUTHINFO", "GROUP", "IHAVE", "CHECK", "TAKETHIS", "XOVER", "XHDR", "NEWNEWS", "NEWGROUPS", "LISTGROUP":
		return proto.Likely
	case "MODE":
		if bytes.EqualFold(line, []byte("MODE READER")) || bytes.EqualFold(line, []byte("MODE STREAM")) {
			return proto.Certain
		}
	}
	return proto.No
}

const maxCommands = 256

type command struct{ verb, arg string }

type analyzer struct {
	book    ask.Book
	waiting []command
	user    string
	article [2]bool // lines follow, up to a single dot
	inside  [2]bool // some of them were passed over
	taken   bool    // nobody asked for those of the client
	greeted bool
	lost    [2]bool
}

// Data takes a line, or lines up to a single dot.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if a.article[dir] {
		return a.lines(s, dir, b), nil
	}
	line, used := frames.Line(b)
	switch {
	case used == 0:
	case a.lost[dir]:
		a.lost[dir] = false
	case dir == flow.ToServer:
		a.command(s, line, used)
	default:
		a.reply(s, line, used)
	}
	return used, nil
}

// lines passes over them.
func (a *analyzer) lines(s *proto.Scope, dir flow.Dir, b []byte) int {
	end := []byte("\r\n.\r\n")
	if !a.inside[dir] && bytes.HasPrefix(b, end[2:]) {
		a.over(s, dir)
		return len(end) - 2
	}
	if i := bytes.Index(b, end); i >= 0 {
		a.over(s, dir)
		return i + len(end)
	}
	used := max(len(b)-len(end)+1, 0)
	a.inside[dir] = a.inside[dir] || used > 0
	return used
}

func (a *analyzer) over(s *proto.Scope, dir flow.Dir) {
	a.article[dir], a.inside[dir] = false, false
	if dir == flow.ToServer && !a.taken {
		a.queue(s, command{verb: "article"}, 0)
	}
	a.taken = a.taken && dir != flow.ToServer
}

func (a *analyzer) queue(s *proto.Scope, c command, n int) {
	if len(a.waiting) >= maxCommands {
		a.waiting = a.waiting[1:]
	}
	a.waiting = append(a.waiting, c)
	label := c.verb
	if c.arg != "" {
		label += " " + c.arg
	}
	a.book.Queue(s, 0, label, n)
}

func (a *analyzer) command(s *proto.Scope, line []byte, n int) {
	verb, arg, _ := bytes.Cut(line, []byte{' '})
	c := command{strings.ToUpper(ask.Clip(verb)), ask.Clip(arg)}
	if c.verb == "AUTHINFO" {
		kind, rest, _ := bytes.Cut(arg, []byte{' '})
		if strings.EqualFold(string(kind[:min(len(kind), 8)]), "USER") {
			a.user = ask.Clip(rest)
		}
		c.arg = strings.ToUpper(ask.Clip(kind)) // what follows is secret
	}
	a.queue(s, c, n)
	if c.verb == "TAKETHIS" { // the article comes without being asked for (RFC 4644, 2.5)
		a.article[flow.ToServer], a.taken = true, true
	}
}

func (a *analyzer) reply(s *proto.Scope, line []byte, n int) {
	if len(line) < 3 || line[0] < '1' || line[0] > '5' || line[1] < '0' || line[1] > '9' || line[2] < '0' || line[2] > '9' {
		return
	}
	code := int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	var c command
	switch {
	case len(a.waiting) > 0:
		c = a.waiting[0]
		a.waiting = a.waiting[1:]
		a.book.Answer(s, 0, string(line[:3]), code >= 400 && !normal(code), n)
	case !a.greeted:
		c.verb = dialog.Greeting
	}
	a.greeted = true
	switch {
	case manyLines(code, c.verb):
		a.article[flow.ToClient] = true
	case code == 340 || code == 335:
		a.article[flow.ToServer] = true
	case code == 382:
		s.Become()
	}
	a.judge(s, code, c, ask.Clip(bytes.TrimLeft(line[3:], " ")))
}

func (a *analyzer) judge(s *proto.Scope, code int, c command, text string) {
	login := proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), User: a.user}
	number, words, one := finding.Num(code), finding.Text(text), finding.Num(1)
	switch {
	case c.verb == "AUTHINFO" && code == 281:
		login.OK = true
		s.Publish(&login)
	case c.verb == "AUTHINFO" && (code == 481 || code == 482 || code == 502):
		s.Report(LoginFailed, number, finding.Text(a.user), words, one)
		s.Publish(&login)
	case c.verb == dialog.Greeting && code == 502:
		s.Report(LoginFailed, number, finding.Text(""), words, one)
	case code == 400 || code == 403:
		s.Report(Unavailable, number, finding.Text(c.verb), words, one)
	case code >= 400 && !normal(code):
		s.Report(Refused, number, finding.Text(c.verb), finding.Text(c.arg), words, one)
	}
}

// manyLines reports whether a reply is followed by lines (RFC 3977, 3.2; 211 after
// LISTGROUP only).
func manyLines(code int, verb string) bool {
	switch code {
	case 100, 101, 215, 220, 221, 222, 224, 225, 230, 231, 282:
		return true
	case 211:
		return verb == "LISTGROUP"
	}
	return false
}

// normal reports whether an error belongs to the normal course: no such article, or
// nothing selected, an article that is not wanted, or has to be offered later, a
// command that old servers do not know.
func normal(code int) bool {
	switch code {
	case 420, 421, 422, 423, 430, 431, 435, 436, 437, 438, 439, 500, 503:
		return true
	}
	return false
}

// Gap passes over the rest of a line; which reply belongs to which command is no
// longer known.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, _ int) error {
	a.lost[dir] = !a.article[dir]
	a.waiting, a.book = nil, ask.Book{Protocol: name}
	a.greeted = true
	return nil
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
