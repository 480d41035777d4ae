package analyze

import "netwhy/analyze/flow"

// A box that numbers the bytes of connections anew may be captured on both sides: each
// segment comes twice then, one of them far from the stream of the other. Wireshark
// follows whichever is ahead. Where that is the one that is no part of our stream, its
// twin counts in its place.

// twinKey is a conversation's direction.
type twinKey struct {
	serial uint32 // of the conversation
	dir    flow.Dir
}

// twin is a segment far ahead of its stream that Wireshark has read.
type twin struct {
	frame uint64
	head  uint64
	n     uint32
}

// maxTwins bounds those that are remembered; beyond, all are forgotten.
const maxTwins = 1 << 10

// astray notes the segment at hand, which is no part of its stream.
func (l *lane) astray(c *conversation) {
	if l.twins == nil || len(l.twins) >= maxTwins {
		l.twins = make(map[twinKey]twin)
	}
	l.twins[twinKey{c.serial, l.seg.Dir}] = twin{l.frame.Number, l.seg.Head, l.seg.Len}
}

// twin returns the frame of the twin of the segment at hand that came before; 0: none did.
func (l *lane) twin(c *conversation) uint64 {
	if t := l.twins[twinKey{c.serial, l.seg.Dir}]; t.n == l.seg.Len && t.head == l.seg.Head {
		return t.frame
	}
	return 0
}

// twice counts the twin of a segment that was sent again fast: Wireshark reads both.
func (l *lane) twice(slot uint32, c *conversation, payload []byte) {
	frame := l.twin(c)
	k := l.sockets[c.socket]
	if frame == 0 || k.analyzer == nil {
		return
	}
	if k.spec.Again == nil {
		l.carries(int(k.name), frame)
		return
	}
	l.setScope(slot, c, k)
	l.scope.FrameNo, l.scope.Held = frame, false
	k.spec.Again(&l.scope, l.seg.Dir, payload)
}
