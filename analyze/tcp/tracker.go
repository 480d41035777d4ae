package tcp

import (
	"math"

	"netwhy/analyze/flow"
	"netwhy/analyze/slab"
)

// Ref names a connection within its Tracker; 0 is none.
type Ref uint32

// Handler takes what the connections of a Tracker carry, in order (package
// analyze).
//
// The Segment handed in tells frame, time, direction and sequence number of the
// bytes or of the segment that showed the gap. For bytes that waited for an
// earlier segment Frame, Time, Dir, Seq and Len are set and nothing else. It is
// valid during the call only, as are the bytes.
type Handler interface {
	// Deliver takes bytes of the direction of s in order, each once.
	Deliver(conv uint32, s *Segment, b []byte)
	// Gap tells that n bytes of the direction of s are not in the capture:
	// lost at the tap, cut by the snaplen, or given up when the bound on
	// out-of-order bytes was reached.
	Gap(conv uint32, s *Segment, n uint32)
}

// Limits bound the memory of a Tracker. A zero field takes its default.
type Limits struct {
	Connection int // out-of-order payload bytes held for one connection; default 1 MiB
	Total      int // out-of-order payload bytes held in all; default 64 MiB
	Segments   int // unacknowledged segments remembered of a direction, for round trips; default 128, at most 255
	Nodes      int // remembered segments in all, but for the youngest of most directions; default 1,000,000 (32 bytes each)
}

// Defaults of Limits.
const (
	defaultConnection = 1 << 20
	defaultTotal      = 64 << 20
	defaultSegments   = 128
	defaultNodes      = 1_000_000
)

func (l Limits) orDefault() Limits {
	pick := func(v, d int) int {
		if v > 0 {
			return v
		}
		return d
	}
	return Limits{
		Connection: min(pick(l.Connection, defaultConnection), math.MaxUint16*blockSize), Total: pick(l.Total, defaultTotal),
		Segments: min(pick(l.Segments, defaultSegments), math.MaxUint8), Nodes: pick(l.Nodes, defaultNodes),
	}
}

// Tracker follows the connections of one lane. It takes no lock: one goroutine
// uses it.
type Tracker struct {
	limit Limits
	h     Handler
	conns connSlab
	rares slab.Slab[rare] // at most two of a connection, so that they need no bound
	nodes nodeSlab
	bytes blockSlab
	given Segment // handed to the Handler for bytes that waited
	busy  bool    // the Handler is being called
}

// NewTracker returns a Tracker that hands payload to h.
func NewTracker(limit Limits, h Handler) *Tracker {
	t := &Tracker{limit: limit.orDefault(), h: h}
	t.nodes.most = t.limit.Nodes
	t.bytes.most = max(t.limit.Total/blockSize, 1)
	return t
}

// Open begins a connection; conv is what the Handler will be told.
func (t *Tracker) Open(conv uint32) Ref {
	r, c := t.conns.get()
	c.conv = conv
	return r
}

// Reopen is Open for a conversation on the ports of an earlier one (Reused said
// so): its first segment is marked ReusedPorts.
func (t *Tracker) Reopen(conv uint32) Ref {
	r := t.Open(conv)
	t.conns.at(r).flags |= reusedPorts
	return r
}

// Close hands on what still waits, with its gaps, and gives the connection's
// memory back. r must not be used again. frame is that of its last segment.
func (t *Tracker) Close(r Ref, frame uint64) {
	c := t.conns.at(r)
	for d := range c.half {
		var f side
		t.unfold(&f, &c.half[d], c.half[d^1].acked, flow.Dir(d))
		t.drain(c, &f, frame)
		t.forget(f.half)
	}
	t.conns.put(r)
}

// Empty tells that no more connections will begin: the memory of those that are
// closed from now on is given back.
func (t *Tracker) Empty() { t.conns.empty() }

// Want switches the delivery of a direction on or off. It is on at first. While
// it is off nothing is buffered and the Handler is not called. The Handler may call
// it; no other method of the Tracker.
func (t *Tracker) Want(r Ref, dir flow.Dir, on bool) {
	c := t.conns.at(r)
	h := &c.half[dir]
	if on {
		h.flags &^= unwanted
		return
	}
	h.flags |= unwanted
	if !t.busy { // within a call of the Handler flush does it
		t.release(h)
	}
}

// Load is the number of open connections, of segments and ranges remembered in lists
// and of bytes held.
func (t *Tracker) Load() (connections, segments, held int) {
	return t.conns.used, t.nodes.used, t.bytes.used * blockSize
}
