package tcp

import "netwhy/analyze/flow"

// connection is all that is kept of one: plain numbers, in the slab.
type connection struct {
	conv  uint32 // in the free list: the next free one
	flags uint16
	held  uint16 // ranges that wait beyond a hole
	irtt  int64  // if measured: SYN to the first segment after the handshake, ns; else time of the last SYN
	half  [2]half
}

// Flags of a connection.
const (
	reusedPorts = 1 << iota // it began on the ports of an earlier one
	sawSYN
	sawSYNACK
	sawReset
	established
	refused
	midStream
	timed    // a SYN was seen
	measured // irtt is what its name says
	calm     // expected may judge
)

// half is what is known of one direction. As in Wireshark, a sequence or
// acknowledgement number of 0 is one that is not known yet.
type half struct { // in the order that leaves no room between
	nextAt  int64  // when next was reached, ns
	ackedAt int64  // when acked was reached, ns
	isn     uint32 // of the SYN; without one: of the first segment, less one
	next    uint32 // sequence number after the highest one sent
	acked   uint32 // acknowledgement number last sent
	more    uint32 // its rare; 0: all of that is usual
	frame   uint32 // of the youngest segment out, if it reached next at nextAt; 0: it is in the list, or none
	list    uint32 // the last of the other segments out, after which comes the first; 0: none
	window  uint16 // last announced, unscaled
	out     uint16 // segments sent and not acknowledged, about
	flags   uint16
	scale   uint8 // of the window, or unknownScale or noScale
	kept    uint8 // of the segments out, the remembered ones
}

// rare is the rest of what is known of a direction: by a side itself, in the slab by how much
// it differs from what is usual. Mostly all was sent in order and taken, so that nothing
// differs and nothing is kept.
type rare struct {
	edge  uint32 // highest sequence number that may be acknowledged; usual: next
	pos   uint32 // what is delivered next, if hasPos; usual: next, less a FIN
	limit uint32 // highest acknowledgement that the other side gave, if hasLimit; usual: the last
	fin   uint32 // sequence number after the FIN, if hasFIN; usual: next
	wait  uint32 // head of the ranges beyond a hole, in order
	last  uint32 // tail of them
	dups  uint32 // duplicate acknowledgements sent in a row
}

// side is all that is known of a direction, while a segment takes the long way.
type side struct {
	*half
	rare
	dir flow.Dir
}

// unfold makes f the side of h, of whose other direction acked is the acknowledgement number.
func (t *Tracker) unfold(f *side, h *half, acked uint32, d flow.Dir) {
	f.half, f.dir = h, d
	pos := h.next
	if h.flags&hasFIN != 0 {
		pos--
	}
	f.edge, f.pos, f.limit, f.fin = h.next, pos, acked, h.next
	f.wait, f.last, f.dups = 0, 0, 0
	if h.more != 0 {
		m := t.rares.At(h.more)
		f.edge += m.edge
		f.pos += m.pos
		f.limit += m.limit
		f.fin += m.fin
		f.wait, f.last, f.dups = m.wait, m.last, m.dups
	}
}

// fold keeps of a side what is not usual.
func (t *Tracker) fold(f *side, acked uint32) {
	h := f.half
	edge, pos, limit, fin := f.edge-h.next, f.pos-h.next, f.limit-acked, uint32(0)
	if h.flags&hasFIN != 0 {
		fin = f.fin - h.next
		pos++
	}
	if h.flags&hasPos == 0 {
		pos = 0
	}
	if h.flags&hasLimit == 0 {
		limit = 0
	}
	h.flags &^= uneven
	odd := edge | pos | limit | fin | f.wait
	if odd != 0 {
		h.flags |= uneven
	}
	switch {
	case odd|f.dups != 0:
		if h.more == 0 {
			h.more, _ = t.rares.Get()
		}
		*t.rares.At(h.more) = rare{edge: edge, pos: pos, limit: limit, fin: fin, wait: f.wait, last: f.last, dups: f.dups}
	case h.more != 0:
		t.rares.Put(h.more)
		h.more = 0
	}
}

// Flags of a direction.
const (
	hasISN = 1 << iota
	seen   // it sent a segment
	hasWindow
	plainWindow // window is not scaled: of a SYN (RFC 7323, 2.2) or, in Wireshark, of what follows it up to an ACK
	hasPos
	hasLimit
	hasFIN
	unwanted
	lastKeepAlive // its last segment was a keep-alive
	lastProbe     // its last segment was a zero window probe
	sentSYN
	overAcked // an acknowledgement beyond next came: counts as duplicate acknowledgements
	delivered // bytes were taken, so that pos no longer moves
	uneven    // more than dups of its rare is not usual
)

// before reports whether a comes before b in sequence space (RFC 9293, 3.4).
func before(a, b uint32) bool {
	return int32(a-b) < 0 //nolint:gosec // the wrap is meant
}

// after reports whether a comes after b. Of two numbers half the space apart each
// is before the other, and none after it.
func after(a, b uint32) bool {
	return int32(a-b) > 0 //nolint:gosec // the wrap is meant
}

// phantom is the number of sequence numbers that the flags take. Wireshark gives
// SYN and FIN together one.
func phantom(flags uint16) uint32 {
	if flags&(FlagSYN|FlagFIN) != 0 {
		return 1
	}
	return 0
}
