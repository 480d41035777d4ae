package capture

import (
	"sync"

	"netwhy/capture/packet"
)

// Ring keeps the latest frames in memory, up to a number of bytes, so that what
// came before a fault can still be written when the fault is known. One goroutine
// adds; any may copy out.
type Ring struct {
	mu     sync.Mutex
	buf    []byte
	frames []packet.Frame // a queue in a circle; Offset is the place in buf
	first  int            // of the oldest
	count  int
	next   int // where the next bytes go
}

// perFrame is what a frame is expected to have: as many are described as fit.
const perFrame = 256

// NewRing makes a ring of a size in bytes; what describes the frames comes on top,
// at most a sixth of it.
func NewRing(bytes int) *Ring {
	return &Ring{buf: make([]byte, bytes), frames: make([]packet.Frame, max(bytes/perFrame, 1))}
}

// Add appends the frames of a batch; the oldest make room. A frame longer than
// the ring is left out.
func (r *Ring) Add(b *packet.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b.Frames {
		r.add(&b.Frames[i], b.Data(&b.Frames[i]))
	}
}

func (r *Ring) add(f *packet.Frame, data []byte) {
	if len(data) > len(r.buf) {
		return
	}
	if r.next+len(data) > len(r.buf) { // frames are never cut in two: the rest stays unused
		r.evict(r.next, len(r.buf))
		r.next = 0
	}
	r.evict(r.next, r.next+len(data))
	if r.count == len(r.frames) {
		r.drop()
	}
	own := *f
	own.Offset, own.CapLen = uint32(r.next), uint32(len(data)) //nolint:gosec // rings are below 4 GiB
	copy(r.buf[r.next:], data)
	r.frames[(r.first+r.count)%len(r.frames)] = own
	r.count++
	r.next += len(data)
}

func (r *Ring) drop() {
	r.first = (r.first + 1) % len(r.frames)
	r.count--
}

// evict forgets the oldest frames that lie between two places of buf. The oldest
// is always the next in the way of the writing place.
func (r *Ring) evict(from, to int) {
	for r.count > 0 {
		f := &r.frames[r.first]
		begin, end := int(f.Offset), int(f.Offset+f.CapLen)
		if begin >= to || end <= from && (f.CapLen != 0 || begin < from) {
			return
		}
		r.drop()
	}
}

// Span returns the times of the oldest and latest frame, and how many there are.
func (r *Ring) Span() (first, last int64, frames int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return 0, 0, 0
	}
	return r.frames[r.first].Time, r.frames[(r.first+r.count-1)%len(r.frames)].Time, r.count
}

// Each calls f for every frame, oldest first, until it returns false. The bytes
// are valid during the call; the ring takes no frame meanwhile.
func (r *Ring) Each(f func(*packet.Frame, []byte) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.count {
		x := &r.frames[(r.first+i)%len(r.frames)]
		if !f(x, r.buf[x.Offset:x.Offset+x.CapLen:x.Offset+x.CapLen]) {
			return
		}
	}
}
