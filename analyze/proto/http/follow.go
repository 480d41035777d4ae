package http

import (
	"bytes"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
)

// sync is how tshark takes what a direction says. It reads segment by segment, and
// where one begins that is no message, it may wait for a line end: what comes with
// that is no message either, though it may be one.
type sync uint8

const (
	synced  sync = iota // as the analyzer does
	alone               // a segment is looked at by itself
	waiting             // for a line end
)

// follow is what tshark would make of a direction.
type follow struct {
	sync   sync
	fin    bool   // it said its last
	parted bool   // the segment that was looked at last was cut by the snaplen
	seen   uint64 // its frame
	head   int    // bytes of a head that came before
	colon  bool   // there is one in the line that waits for its end
}

// Finish implements proto.Finisher.
func (a *analyzer) Finish(_ *proto.Scope, dir flow.Dir) { a.half[dir].fin = true }

// segment looks at the first bytes of a segment where tshark is not in step. known
// tells that a request was seen before.
func (f *follow) segment(s *proto.Scope, dir flow.Dir, b []byte, known bool) {
	if f.seen == s.Frame() {
		return
	}
	f.seen = s.Frame()
	if f.parted {
		f.sync, f.parted = alone, false
	}
	b, f.head = b[min(f.head, len(b)):], 0
	if s.Late() || len(b) == 0 {
		return
	}
	if f.sync == alone && len(b) > 2 && string(b[:2]) == lineEnds {
		b = b[2:] // one empty line may stand before a message
	}
	ends := bytes.ContainsAny(b, lineEnds)
	switch {
	case f.sync == alone && mayBegin(dir, b): // the rest will tell
	case f.sync == waiting && !ends:
		f.colon = f.colon || bytes.IndexByte(b, ':') >= 0
	case f.sync == alone && waits(b):
		f.sync, f.colon = waiting, bytes.IndexByte(b, ':') >= 0
	case f.sync == alone && begins(dir, b):
		f.sync = synced
	default:
		if begun := f.sync == waiting; known || startsField(b, begun, f.colon) {
			s.Carries(name)
			continued(s, b, begun, f.colon)
		}
		f.sync, f.colon = alone, false
	}
}

// lineEnds are the bytes that end a line: either or both.
const lineEnds = "\r\n"

// printable reports whether a line may begin with a byte.
func printable(c byte) bool { return c >= ' ' && c <= '~' || c == '\t' }

// waits reports whether tshark waits for the end of the line that bytes begin.
func waits(b []byte) bool { return printable(b[0]) && !bytes.ContainsAny(b, lineEnds) }

// startsField reports whether the first line of bytes that begin no message may be a
// field: without a request before, tshark takes nothing else for HTTP. begun tells
// that more of the line came before, and colon that there was one in it.
func startsField(b []byte, begun, colon bool) bool {
	if !begun && (b[0] == '\t' || !printable(b[0])) {
		return false
	}
	n := bytes.IndexAny(b, lineEnds)
	return n >= 0 && (colon || bytes.IndexByte(b[:n], ':') >= 0)
}

// continued counts what tshark makes of bytes that begin no message: fields of a header,
// as long as there is a colon in each line, and a body behind an empty one. What is
// no field is data, but for a line without an end. begun tells that more of the first
// line came before, and colon that there was one in it.
func continued(s *proto.Scope, b []byte, begun, colon bool) {
	if !begun && (b[0] == '\t' || !printable(b[0]) && b[0] != '\r' && b[0] != '\n') {
		s.Carries(web.Media(nil))
		return
	}
	var h head
	for len(b) > 0 {
		n := bytes.IndexAny(b, lineEnds)
		if n < 0 {
			return
		}
		line := b[:n]
		if b = b[n:]; bytes.HasPrefix(b, []byte(lineEnds)) {
			b = b[1:]
		}
		b = b[1:]
		switch {
		case n == 0 && !begun:
			bodied(s, &h, b)
			return
		case !colon && bytes.IndexByte(line, ':') < 0:
			s.Carries(web.Media(nil))
			return
		case !begun:
			h.field(line)
		}
		begun, colon = false, false
	}
}

// bodied counts a body that is there in whole.
func bodied(s *proto.Scope, h *head, body []byte) {
	if len(body) == 0 {
		return
	}
	var p half
	p.expect(h)
	p.media = web.Seen(p.kind, body)
	if p.json != nil {
		p.json.Write(body)
	}
	p.carries(s)
}

// piece looks at the first bytes of a segment that was cut by the snaplen: tshark waits
// for no rest, and takes what comes next for something new. asked tells that a request
// was seen.
func (h *half) piece(s *proto.Scope, dir flow.Dir, b []byte, asked bool) {
	if h.seen == s.Frame() || len(b) == 0 {
		return
	}
	h.seen, h.parted, h.muted = s.Frame(), true, true
	switch {
	case s.Late() || s.Waited(): // the latter was counted when it came
	case begins(dir, b):
		h.sync = synced
		s.Carries(name)
		started(s, dir, b)
	default:
		other(s, b, asked)
	}
}

// started counts what is there of the body behind a head that was cut with it: what
// comes in chunks is not unpacked then.
func started(s *proto.Scope, dir flow.Dir, b []byte) {
	var h head
	ok, is := h.parse(b, dir == flow.ToClient)
	if b = b[min(h.size, len(b)):]; !ok || !is || h.chunked || len(b) == 0 || dir == flow.ToServer && h.length <= 0 {
		return
	}
	body := b
	if h.length >= 0 && h.length < int64(len(b)) {
		body = b[:h.length]
	}
	switch {
	case h.encoded && len(body) > 0:
		s.Carries(web.Media(nil))
	default:
		bodied(s, &h, body)
	}
	if b = b[len(body):]; len(b) > 0 {
		other(s, b, true)
	}
}

// other counts what begins no message, in a segment that was cut. Without a request
// tshark looks whether it may be text.
func other(s *proto.Scope, b []byte, asked bool) {
	if len(b) > len(lineEnds) && string(b[:len(lineEnds)]) == lineEnds {
		b = b[len(lineEnds):]
	}
	if !asked && (b[0] == '\t' || !printable(b[0])) {
		return
	}
	s.Carries(name)
	if waits(b) && b[0] != '\t' {
		if bytes.IndexByte(b, ':') < 0 {
			s.Carries(web.Media(nil))
		}
		return
	}
	continued(s, b, false, false)
}

// lose is told of bytes that begin no message.
func (h *half) lose(s *proto.Scope, dir flow.Dir, b []byte, known bool) {
	h.phase = lost
	if h.sync == synced && !h.parted && dir == flow.ToClient { // any word may be a method
		h.sync, h.seen = alone, 0
		h.segment(s, dir, b, known)
	}
}

// begin is told that a message begins. Of one whose end came late, or in a cut segment
// after others, tshark sees no beginning.
func (h *half) begin(s *proto.Scope) {
	_, first := s.Began()
	missed := s.Late() || cut(s) && first != s.Frame()
	h.muted, h.head = h.sync != synced || missed, 0
	if missed && h.sync == synced {
		h.sync, h.seen = alone, s.Frame()
	}
}

// begun is told that n bytes of a head came so far.
func (f *follow) begun(s *proto.Scope, n int) {
	if f.head = n; s.Late() && f.sync == synced {
		f.sync, f.seen = alone, s.Frame()
	}
}

// misses notes whether tshark does not join the segment at hand to the body that it
// is of: it waits for so many bytes, or for the next segment where there are chunks.
// What comes when it has that, it looks at alone.
func (h *half) misses(s *proto.Scope) {
	switch h.phase {
	case inBody, untilClose:
		h.muted = h.muted || s.Resent()
	case inChunk, atChunkSize, atTrailer:
		if s.Late() || s.Waited() {
			if h.muted = true; h.sync == synced {
				h.sync = alone
			}
		}
	case atHead, lost:
	}
}

// mayBegin reports whether b is less than the first line of a response.
func mayBegin(dir flow.Dir, b []byte) bool {
	const least = "HTTP/1.1 200"
	return dir == flow.ToClient && len(b) < len(least) && bytes.HasPrefix([]byte(least), b[:min(len(b), len("HTTP/1."))])
}

// begins reports whether b begins with a message of a direction.
func begins(dir flow.Dir, b []byte) bool {
	response := bytes.HasPrefix(b, []byte("HTTP/"))
	return probe(dir, b) >= proto.Likely && (dir == flow.ToClient) == response
}
