package dialog

import (
	"bytes"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
)

// Mail counts what the messages of a client are, as tshark does: it takes what follows
// DATA for one, whatever the server answers, calls each segment of it text, and reads
// it when the last one is there (RFC 5321, 4.1.1.4; RFC 5322; RFC 2046, 5.1).
type Mail struct {
	on    bool
	kept  int // bytes at the beginning of what is offered that were read before
	parts bool
	where place
	line  []byte
	kind  string   // of the part at hand
	names []string // what was found so far
}

// place is where in a message a line stands.
type place uint8

const (
	inHeader place = iota
	inText
	inPart // the header of one
)

// Bounds: of the lines that are looked at, and of the names.
const (
	maxLine  = 1 << 10
	maxNames = 8
)

// NameMail is a message as Wireshark calls it.
const NameMail = "imf"

// MailNames are those that a Mail counts.
func MailNames() []string { return append(web.MediaNames(), NameMail) }

// begin is told of DATA.
func (m *Mail) begin() { *m = Mail{on: true, line: m.line[:0], names: m.names[:0]} }

// segment takes what the client's stream offers; what was offered before is known.
func (m *Mail) segment(s *proto.Scope, b []byte) {
	if !m.on || len(b) <= m.kept {
		return
	}
	end := -1
	if bytes.HasPrefix(b, []byte(endOfMail[2:])) {
		end = 0
	} else if i := bytes.Index(b, []byte(endOfMail)); i >= 0 {
		end = i + 2
	}
	if end < 0 {
		m.write(b[m.kept:])
		if bytes.IndexByte(b, '\n') >= 0 {
			s.Carries(web.NameText)
		}
		return
	}
	m.write(b[min(m.kept, end):end])
	m.ended()
	s.Carries(NameMail)
	for _, name := range m.names {
		s.Carries(name)
	}
	m.on = false
}

// left is told how many of the bytes that were offered will be so again.
func (m *Mail) left(n int) { m.kept = n }

func (m *Mail) write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		piece := b
		if i >= 0 {
			piece = b[:i]
		}
		m.line = append(m.line, piece[:min(len(piece), maxLine-len(m.line))]...)
		if i < 0 {
			return
		}
		m.one(bytes.TrimSuffix(m.line, []byte{'\r'}))
		m.line, b = m.line[:0], b[i+1:]
	}
}

// one takes a line.
func (m *Mail) one(line []byte) {
	delimiter := m.parts && bytes.HasPrefix(line, []byte("--"))
	switch {
	case delimiter:
		m.ended()
		if !bytes.HasSuffix(line, []byte("--")) {
			m.where = inPart
		}
	case m.where == inText:
	case len(line) == 0:
		if m.where == inPart {
			m.found(m.media())
		}
		m.where = inText
	default:
		m.field(line)
	}
}

// media is what the part at hand is.
func (m *Mail) media() string {
	if m.kind == "" {
		return web.Media(nil)
	}
	return m.kind
}

// field looks for the type. Wireshark reads that of a whole message only where it has
// parameters.
func (m *Mail) field(line []byte) {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !bytes.EqualFold(name, []byte("Content-Type")) {
		return
	}
	kind := web.Media(value)
	switch {
	case kind == web.NameMultipart:
		m.parts, m.kind = true, kind
		m.found(kind)
	case m.where == inPart:
		m.kind = kind
	case bytes.IndexByte(value, ';') >= 0:
		m.found(kind)
	}
}

// ended is told that a part is over.
func (m *Mail) ended() {
	if m.where == inPart { // it had no text
		m.where = inText
	}
	m.kind = ""
}

func (m *Mail) found(name string) {
	if len(m.names) < maxNames {
		m.names = append(m.names, name)
	}
}
