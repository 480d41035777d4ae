package packet

import (
	"context"
	"sync/atomic"
)

// DefaultBatchBytes is the size of a batch's buffer: large enough that one
// hand-over costs nothing per packet, small enough to stay in the L2 cache.
const DefaultBatchBytes = 256 << 10

// Batch is a run of frames and their bytes. A source fills it; from then on it
// is read-only, shared by all workers, and goes back to its pool when the last
// of them has released it.
type Batch struct {
	Seq      uint64   // 0-based number of the batch within the run
	Frames   []Frame  // in capture order
	Buf      []byte   // frames lie in it at their Offset; bytes between them are of no meaning
	Counters Counters // of the source, up to here
	Secrets  [][]byte // contents of pcapng decryption-secrets blocks (NSS key log) met in this batch; own copies
	Clock    int64    // live: all that the capture point saw before this time (ns) has been handed on; 0: not known
	Break    bool     // live: the clock jumped before this batch, or the machine slept: times on both sides do not compare

	refs atomic.Int32
	pool *Pool
}

// Data returns the captured bytes of f, valid until Release. Its capacity is
// clipped: an append never overwrites the next frame.
func (b *Batch) Data(f *Frame) []byte {
	end := f.Offset + f.CapLen
	return b.Buf[f.Offset:end:end]
}

// Append copies data behind what the batch holds, as a frame described by f
// (whose Offset and CapLen are set here), and reports whether there was room.
// An empty batch takes a frame of any length by growing once.
func (b *Batch) Append(f Frame, data []byte) bool {
	n := len(b.Buf)
	if n+len(data) > cap(b.Buf) {
		if len(b.Frames) > 0 {
			return false
		}
		b.Buf = make([]byte, 0, len(data))
		n = 0
	}
	b.Buf = append(b.Buf[:n], data...)
	f.Offset, f.CapLen = uint32(n), uint32(len(data)) //nolint:gosec // a batch is far below 4 GiB
	f.WireLen = max(f.WireLen, f.CapLen)
	b.Frames = append(b.Frames, f)
	return true
}

// Next returns a frame behind the others, to be filled in where it stands: a literal
// would be made beside it, in pieces, and the copy would wait for them. Each of its
// fields has to be set.
func (b *Batch) Next() *Frame {
	n := len(b.Frames)
	if n == cap(b.Frames) {
		b.Frames = append(b.Frames, Frame{})
	}
	b.Frames = b.Frames[:n+1]
	return &b.Frames[n]
}

// Retain adds n references. A batch leaves its pool with one.
func (b *Batch) Retain(n int32) { b.refs.Add(n) }

// Release gives one reference back; the last one returns the batch to its pool,
// after which neither the batch nor its bytes may be touched.
func (b *Batch) Release() {
	if b.refs.Add(-1) != 0 || b.pool == nil {
		return
	}
	b.reset()
	b.pool.free <- b // never blocks: the channel has room for every batch of the pool
}

func (b *Batch) reset() {
	b.Seq = 0
	b.Frames = b.Frames[:0]
	b.Buf = b.Buf[:0]
	if cap(b.Buf) > 4*b.pool.bytes { // one giant frame must not stay in memory for ever
		b.Buf = make([]byte, 0, b.pool.bytes)
	}
	b.Counters = Counters{}
	b.Secrets = nil
	b.Clock, b.Break = 0, false
}

// Pool is a fixed number of batches: the bound on bytes between a source and
// the workers.
type Pool struct {
	free  chan *Batch
	bytes int
}

// NewPool makes a pool of n batches with buffers of the given number of bytes.
// Buffers are allocated on first use.
func NewPool(n, bytes int) *Pool {
	p := &Pool{free: make(chan *Batch, n), bytes: bytes}
	for range n {
		p.free <- &Batch{pool: p}
	}
	return p
}

// Size returns the number of batches.
func (p *Pool) Size() int { return cap(p.free) }

// Free returns the number of batches that nobody holds at the moment.
func (p *Pool) Free() int { return len(p.free) }

// Owns reports whether the batch belongs to this pool.
func (p *Pool) Owns(b *Batch) bool { return b.pool == p }

// Get waits for a free batch: a file loses nothing. It fails with the
// context's cause only.
func (p *Pool) Get(ctx context.Context) (*Batch, error) {
	select {
	case b := <-p.free:
		return p.ready(b), nil
	default:
	}
	select {
	case b := <-p.free:
		return p.ready(b), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TryGet never waits: a live source without a free batch sheds the frame and
// counts it.
func (p *Pool) TryGet() (*Batch, bool) {
	select {
	case b := <-p.free:
		return p.ready(b), true
	default:
		return nil, false
	}
}

func (p *Pool) ready(b *Batch) *Batch {
	if b.Buf == nil {
		b.Buf = make([]byte, 0, p.bytes)
	}
	b.refs.Store(1)
	return b
}
