package http

import (
	"bytes"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
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
}

// Finish implements proto.Finisher.
func (a *analyzer) Finish(_ *proto.Scope, dir flow.Dir) { a.half[dir].fin = true }

// segment looks at the first bytes of a segment where tshark is not in step. known
// tells that a message was seen before: else it takes nothing for HTTP at once.
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
	const lineEnd, tab, firstPrintable, lastPrintable = "\r\n", '\t', ' ', '~'
	ends := bytes.ContainsAny(b, lineEnd)
	printable := b[0] >= firstPrintable && b[0] <= lastPrintable || b[0] == tab
	switch {
	case f.sync == alone && mayBegin(dir, b): // the rest will tell
	case f.sync == waiting && !ends, f.sync == alone && printable && !ends:
		f.sync = waiting
	case f.sync == alone && begins(dir, b):
		f.sync = synced
	default:
		if known || f.sync == waiting {
			s.Carries(name)
			s.Carries("data")
		}
		f.sync = alone
	}
}

// piece looks at the first bytes of a segment that was cut by the snaplen: tshark waits
// for no rest, and takes what comes next for something new. asked tells that a request
// was seen: without one it makes nothing of what begins with an empty line.
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
	case asked || b[0] != '\r' && b[0] != '\n':
		s.Carries(name)
		s.Carries("data")
	}
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

// misses reports whether tshark does not join the segment at hand to the body that it
// is of: it waits for so many bytes, or for the next segment where there are chunks.
func (h *half) misses(s *proto.Scope) bool {
	switch h.phase {
	case inBody, untilClose:
		return s.Resent()
	case inChunk, atChunkSize, atTrailer:
		return s.Late()
	case atHead, lost:
	}
	return false
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
