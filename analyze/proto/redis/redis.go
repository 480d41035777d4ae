// Package redis reads the protocol of Redis and its kin (RESP2 and RESP3,
// redis.io/docs/reference/protocol-spec): error replies and how long commands take.
package redis

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
	Error    finding.Code = "redis.error"
	Redirect finding.Code = "redis.redirect"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	command := finding.Metric{Name: "command", Text: true, Doc: "the command that failed"}
	return proto.Spec{
		Name: "resp", Doc: "Redis serialization protocol",
		Carrier: proto.TCP, Ports: []uint16{6379, 6380, 26379}, Unlisted: []uint16{6380, 26379},
		Untold: [2]bool{flow.ToClient: true},
		First: func(dir flow.Dir, c byte) bool {
			return dir == flow.ToClient || c == '*' || dialog.Begins(dir, c, "ASCPI", "")
		},
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Error, Severity: finding.Info,
				Doc: "The server answered a command with an error. access says that credentials or rights are missing (NOAUTH, WRONGPASS, NOPERM), unable that it cannot serve (LOADING, OOM, MISCONF, READONLY, CLUSTERDOWN, MASTERDOWN, BUSY, max clients).",
				Metrics: []finding.Metric{
					{Name: "kind", Text: true, Doc: "first word of the error"},
					{Name: "text", Text: true, Doc: "the error"},
					command,
					{Name: "errors", Merge: finding.Sum, Doc: "error replies"},
					{Name: "replies", Merge: finding.Max, Doc: "all replies of the conversation so far"},
					{Name: "access", Merge: finding.Max, Doc: "1 when access is refused"},
					{Name: "unable", Merge: finding.Max, Doc: "1 when the server cannot serve"},
				},
			},
			{
				Code: Redirect, Severity: finding.Info,
				Doc: "A node of a cluster named another one for the key (MOVED, ASK).",
				Metrics: []finding.Metric{
					{Name: "text", Text: true, Doc: "the reply"},
					command,
					{Name: "times", Merge: finding.Sum, Doc: "such replies"},
				},
			},
		},
	}
}

const longestNumber = 12

// number reads the digits of a line behind its type; ok is false when they are
// none.
func number(line []byte) (n int, ok bool) {
	if len(line) == 0 || len(line) > longestNumber {
		return 0, false
	}
	if string(line) == "-1" {
		return -1, true
	}
	for _, c := range line {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// inline judges a command without the protocol's frame (inline commands), of those
// that nobody else begins with.
func inline(b []byte) proto.Verdict {
	for _, verb := range [...]string{"AUTH ", "SELECT ", "CONFIG ", "PING", "INFO"} {
		n := min(len(b), len(verb))
		if b[0]|0x20 != verb[0]|0x20 || !strings.EqualFold(string(b[:n]), verb[:n]) {
			continue
		}
		line, used := frames.Line(b)
		switch {
		case used == 0 && len(b) < frames.MaxLine:
			return proto.NeedMore
		case used > 0 && len(line) >= len(verb) && (len(line) == len(verb)) != (verb[len(verb)-1] == ' '):
			return proto.Likely
		}
	}
	return proto.No
}

// probe wants an array of texts from the client, the head of which is checked, or a
// command as people type it.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToClient {
		return proto.NeedMore // a reply alone is not telling
	}
	if len(b) == 0 {
		return proto.No
	}
	if b[0] != '*' {
		return inline(b)
	}
	line, used := frames.Line(b)
	if used == 0 {
		if len(b) > longestNumber {
			return proto.No
		}
		return proto.NeedMore
	}
	if n, ok := number(line[1:]); !ok || n < 1 || n > 1<<20 {
		return proto.No
	}
	b = b[used:]
	if len(b) == 0 {
		return proto.NeedMore
	}
	if b[0] != '$' {
		return proto.No
	}
	line, used = frames.Line(b)
	if used == 0 {
		return proto.NeedMore
	}
	if n, ok := number(line[1:]); !ok || n < 1 || n > 64 {
		return proto.No
	}
	return proto.Certain
}

// half reads one direction: values within values.
type half struct {
	left  []int // elements to come, of the outermost aggregate first
	bulk  int   // bytes of a text to come, its line end included
	words []string
	bytes int
	at    int64
	frame uint64
}

type analyzer struct {
	half    [2]half
	book    ask.Book
	replies uint64
}

func newAnalyzer() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} }

const (
	name     = "redis" // of the service; Wireshark calls what it speaks RESP
	maxDepth = 16
	maxBulk  = 1 << 30
)

type fault string

func (f fault) Error() string { return string(f) }

const errValue fault = "not a value of the Redis protocol"

// Data takes one line or a piece of a text.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	s.App(name)
	h := &a.half[dir]
	if h.bulk > 0 {
		return a.textual(s, dir, h, b), nil
	}
	line, used := frames.Line(b)
	if used == 0 || used >= frames.MaxLine && len(line) == used {
		return used, nil
	}
	if len(line) == 0 {
		return used, nil
	}
	if len(h.left) == 0 {
		h.words, h.bytes = nil, 0
		h.at, h.frame = s.Began()
	}
	h.bytes += used
	n, ok := number(line[1:])
	switch line[0] {
	case '*', '>', '~', '%', '|':
		if !ok || len(h.left) >= maxDepth {
			return used, errValue
		}
		if line[0] == '%' || line[0] == '|' {
			n *= 2
		}
		if n > 0 {
			h.left = append(h.left, n)
			return used, nil
		}
		a.value(s, dir, h, nil)
	case '$', '=', '!':
		switch {
		case !ok || n > maxBulk:
			return used, errValue
		case n < 0:
			a.value(s, dir, h, nil)
		default:
			h.bulk = n + 2
		}
	case '+', '-', ':', ',', '#', '_', '(':
		a.value(s, dir, h, line)
	default:
		if dir == flow.ToClient || len(h.left) > 0 {
			return used, errValue
		}
		verb, _, _ := bytes.Cut(line, []byte{' '}) // inline command
		h.words = append(h.words, strings.ToUpper(ask.Clip(verb)))
		a.whole(s, dir, h, nil)
	}
	return used, nil
}

// textual takes bytes of a text; the first words of a command are kept.
func (a *analyzer) textual(s *proto.Scope, dir flow.Dir, h *half, b []byte) int {
	const longestWord = 64
	if dir == flow.ToServer && len(h.words) < 2 && h.bulk <= longestWord+2 {
		if len(b) < h.bulk {
			return 0
		}
		n := h.bulk
		h.words = append(h.words, string(b[:max(n-2, 0)]))
		h.bulk = 0
		h.bytes += n
		a.value(s, dir, h, nil)
		return n
	}
	n := min(h.bulk, len(b))
	h.bulk -= n
	h.bytes += n
	if h.bulk == 0 {
		a.value(s, dir, h, nil)
	}
	return n
}

// value ends one value; when it was the last of all around it, the message ends.
func (a *analyzer) value(s *proto.Scope, dir flow.Dir, h *half, line []byte) {
	for i := len(h.left) - 1; i >= 0; i-- {
		if h.left[i]--; h.left[i] > 0 {
			return
		}
		h.left = h.left[:i]
	}
	a.whole(s, dir, h, line)
}

func (a *analyzer) whole(s *proto.Scope, dir flow.Dir, h *half, line []byte) {
	at := *s
	at.BeganAt, at.BeganFrame = h.at, h.frame
	if dir == flow.ToServer {
		label := "command"
		if len(h.words) > 0 {
			label = strings.ToUpper(h.words[0])
			if len(h.words) > 1 && label != "AUTH" && label != "HELLO" {
				label += " " + h.words[1]
			}
		}
		a.book.Queue(&at, 0, label, h.bytes)
		return
	}
	a.replies++
	failed := len(line) > 0 && line[0] == '-'
	code := "OK"
	if failed {
		kind, _, _ := bytes.Cut(line[1:], []byte{' '})
		code = ask.Clip(kind)
	}
	r, _, _ := a.book.Answer(&at, 0, code, failed && code != "MOVED" && code != "ASK", h.bytes)
	if failed {
		a.fails(s, code, ask.Clip(line[1:]), r.Label)
	} else if r.Label == "AUTH" {
		a.login(s, true)
	}
}

func (*analyzer) login(s *proto.Scope, ok bool) {
	s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), OK: ok})
}

func (a *analyzer) fails(s *proto.Scope, kind, text, command string) {
	access, unable := 0, 0
	switch kind {
	case "MOVED", "ASK":
		s.Report(Redirect, finding.Text(text), finding.Text(command), finding.Num(1))
		return
	case "NOAUTH", "WRONGPASS", "NOPERM", "DENIED":
		access = 1
	case "LOADING", "OOM", "MISCONF", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "BUSY", "TRYAGAIN", "NOREPLICAS":
		unable = 1
	case "ERR":
		switch {
		case strings.Contains(text, "max number of clients"):
			unable = 1
		case strings.Contains(text, "operation not permitted"), strings.Contains(text, "invalid password"):
			access = 1
		}
	}
	if command == "AUTH" && access == 1 || kind == "WRONGPASS" {
		a.login(s, false)
	}
	s.Report(Error, finding.Text(kind), finding.Text(text), finding.Text(command), finding.Num(1),
		finding.Num(a.replies), finding.Num(access), finding.Num(unable))
}

// Gap ends the analysis unless it is inside a text: where values begin is
// unknown behind it.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	if h := &a.half[dir]; h.bulk > n {
		h.bulk -= n
		return nil
	}
	return frames.ErrGap
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
