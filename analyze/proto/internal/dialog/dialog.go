// Package dialog reads protocols in which the client sends lines with a command
// and the server answers with three digits: SMTP (RFC 5321, 4.2) and FTP (RFC
// 959, 4.2).
package dialog

import (
	"bytes"
	"slices"
	"strings"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
	"netwhy/analyze/proto/internal/web"
)

// Greeting is the verb of the reply that nobody asked for: the first.
const Greeting = "connect"

// Content is the verb of the reply to a message's end.
const Content = "content"

// Reply is one answer, with the command that it answers.
type Reply struct {
	Code int
	Text string // of the last line; hostile
	Verb string // in capitals, or Greeting or Content
	Arg  string // hostile
}

// Dialog is one conversation. Protocol and Reply must be set.
type Dialog struct {
	Reply func(s *proto.Scope, r *Reply)
	Mail  *Mail // counts the client's messages; nil: there are none
	// Secret are verbs whose argument is not kept.
	Secret []string

	book    ask.Book
	args    []string // of the commands that wait, in their order
	verbs   []string
	started bool
	content bool // the client sends a message
	data    bool // the client's next line is no command (AUTH)
	chunk   int  // bytes of BDAT to come
	lost    [2]bool
}

// New makes a dialog of a protocol.
func New(protocol string, reply func(s *proto.Scope, r *Reply), secret ...string) *Dialog {
	return &Dialog{Reply: reply, Secret: secret, book: ask.Book{Protocol: protocol}}
}

// Begins reports whether the first byte of a direction is one of those that a verb begins
// with, in any case, or a reply.
func Begins(dir flow.Dir, c byte, verbs, replies string) bool {
	if dir == flow.ToClient {
		return strings.IndexByte(replies, c) >= 0
	}
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(verbs, c) >= 0
}

// ProbeReply recognises a first reply with one of the codes, and asks for more
// bytes until it has a line.
func ProbeReply(b []byte, codes ...string) bool {
	if len(b) < 4 || b[3] != ' ' && b[3] != '-' {
		return false
	}
	return slices.Contains(codes, string(b[:3]))
}

const maxCommands = 256

// endOfMail is the line with a single dot, and the end of the line before.
const endOfMail = "\r\n.\r\n"

// Data implements the analyzer's Data.
func (d *Dialog) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToClient || d.Mail == nil {
		return d.one(s, dir, b)
	}
	d.Mail.segment(s, b)
	used, err := d.one(s, dir, b)
	d.Mail.left(len(b) - used)
	return used, err
}

// one takes a line, or a part of a message.
func (d *Dialog) one(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToServer && !d.data {
		if n := min(d.chunk, len(b)); n > 0 {
			d.chunk -= n
			return n, nil
		}
		if d.content {
			return d.body(s, b), nil
		}
	}
	line, used := frames.Line(b)
	if used == 0 {
		return 0, nil
	}
	if d.lost[dir] { // the rest of a line that began in the gap
		d.lost[dir] = false
		return used, nil
	}
	if dir == flow.ToServer {
		d.command(s, line)
	} else {
		d.answer(s, line)
	}
	return used, nil
}

// body passes over a message to the line with a single dot.
func (d *Dialog) body(s *proto.Scope, b []byte) int {
	end := []byte(endOfMail)
	if bytes.HasPrefix(b, end[2:]) {
		d.finish(s)
		return 3
	}
	if i := bytes.Index(b, end); i >= 0 {
		d.finish(s)
		return i + len(end)
	}
	return max(len(b)-len(end)+1, 0)
}

func (d *Dialog) finish(s *proto.Scope) {
	d.content = false
	d.queue(s, Content, "")
}

func (d *Dialog) queue(s *proto.Scope, verb, arg string) {
	if len(d.verbs) >= maxCommands {
		d.verbs, d.args = d.verbs[1:], d.args[1:]
	}
	label := verb
	if arg != "" {
		label += " " + arg
	}
	d.verbs, d.args = append(d.verbs, verb), append(d.args, arg)
	d.book.Queue(s, 0, label, 0)
}

func (d *Dialog) command(s *proto.Scope, line []byte) {
	if d.data {
		d.data = false
		d.queue(s, "AUTH", "")
		return
	}
	const shortest = 4 // verb, or else tshark takes the line for text
	if d.Mail != nil && len(line) < shortest && len(line) > 0 && line[0] != '.' {
		s.Carries(web.NameText)
	}
	verb, arg, _ := bytes.Cut(line, []byte{' '})
	v := strings.ToUpper(ask.Clip(verb))
	a := ask.Clip(arg)
	if v == "DATA" && d.Mail != nil {
		d.Mail.begin()
	}
	if v == "BDAT" {
		for _, c := range arg {
			if c < '0' || c > '9' || d.chunk > 1<<28 {
				break
			}
			d.chunk = d.chunk*10 + int(c-'0')
		}
	}
	for _, secret := range d.Secret {
		if v == secret {
			a = ""
		}
	}
	d.queue(s, v, a)
}

func (d *Dialog) answer(s *proto.Scope, line []byte) {
	if len(line) < 3 || !digits(line[:3]) || len(line) > 3 && line[3] != ' ' {
		return // "250-..." goes on; other lines are texts between
	}
	r := Reply{Code: int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0'), Verb: Greeting}
	if len(line) > 4 {
		r.Text = ask.Clip(line[4:])
	}
	preliminary := r.Code < 200 // FTP: a second reply follows (RFC 959, 4.2)
	if len(d.verbs) > 0 {
		r.Verb, r.Arg = d.verbs[0], d.args[0]
		if !preliminary {
			d.verbs, d.args = d.verbs[1:], d.args[1:]
			d.book.Answer(s, 0, string(line[:3]), r.Code >= 400, len(line))
		}
	} else if d.started {
		r.Verb = "" // nobody asked, or the question was not captured
	}
	d.started = true
	switch r.Code {
	case 354:
		d.content = true
	case 334:
		d.data = true
	}
	d.Reply(s, &r)
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Gap implements the analyzer's Gap: lines go on behind it, but which reply
// belongs to which command is no longer known.
func (d *Dialog) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	if dir == flow.ToServer && d.chunk > n {
		d.chunk -= n
		return nil
	}
	d.chunk = 0
	d.lost[dir] = !d.content || dir == flow.ToClient
	d.verbs, d.args, d.book = nil, nil, ask.Book{Protocol: d.book.Protocol}
	return nil
}
