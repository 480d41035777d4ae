package analyze

import (
	"context"
	"sync/atomic"

	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/capture/packet"
)

// inFlight bounds the batches between source and collector, on top of the bound
// of the source's own pool: decoded packets take memory too.
const inFlight = 2

// work is a batch with what was decoded of it. It is made once and used again.
type work struct {
	batch *packet.Batch
	pkts  []decode.Packet
	of    [][]uint32 // by lane: the packets that it analyses
	tally tally
	ready chan struct{} // one token for each lane, given by the decoder
	left  atomic.Int32  // lanes that still read it
}

// pipeline holds the queues between the stages. Every queue has room for all
// work there is, so that sending never blocks; waiting happens only where a
// free work is fetched, and in the source.
type pipeline struct {
	free     chan *work
	toDecode chan *work
	lanes    []*lane
	specs    *specs
	called   *called
	decoders int
	pressure *atomic.Bool          // set by the caller while payload is to be left out; nil: never
	moments  atomic.Uint64         // asked for so far (live): lanes read it once a batch
	fault    atomic.Pointer[error] // the first panic of a stage
	abort    context.CancelCauseFunc
}

func newPipeline(opt Options, secrets *keyLog) *pipeline {
	n := opt.Workers
	p := &pipeline{
		free:     make(chan *work, inFlight+n),
		toDecode: make(chan *work, inFlight+n),
		decoders: n,
		pressure: opt.Pressure,
		specs:    newSpecs(opt.Protocols),
	}
	p.called = newCalled(p.specs.names)
	for range inFlight + n {
		p.free <- &work{ready: make(chan struct{}, n), of: make([][]uint32, n)}
	}
	for i := range n {
		p.lanes = append(p.lanes, newLane(i, opt, secrets, p))
	}
	return p
}

// put hands a batch to the decoders and to every lane.
func (p *pipeline) put(b *packet.Batch) {
	w := <-p.free
	w.batch = b
	w.left.Store(int32(len(p.lanes)))
	p.toDecode <- w
	for _, l := range p.lanes {
		l.in <- w
	}
}

// drop takes one lane's reference to a work; the last one returns batch and
// work to where they came from.
func (p *pipeline) drop(w *work) {
	if w.left.Add(-1) == 0 {
		w.batch.Release()
		w.batch = nil
		p.free <- w
	}
}

// fail ends the run for a panic in one of its stages. The stage goes on to pass
// its queue through, so that the others come to their end; what they found stands.
func (p *pipeline) fail(err error) {
	p.fault.CompareAndSwap(nil, &err)
	p.abort(err)
}

func (p *pipeline) close() {
	close(p.toDecode)
	for _, l := range p.lanes {
		close(l.in)
	}
}

// decode reads batches until there are no more.
func (p *pipeline) decode() {
	for w := range p.toDecode {
		p.decodeBatch(w)
		for range p.lanes {
			w.ready <- struct{}{}
		}
	}
}

func (p *pipeline) decodeBatch(w *work) {
	defer packet.Rescue("the decoder", func(err error) {
		w.deal(0) // what stands there is of this batch and of one before
		p.fail(err)
	})
	n := len(w.batch.Frames)
	if cap(w.pkts) < n {
		w.pkts = make([]decode.Packet, n, n+n/4)
	}
	w.pkts = w.pkts[:n]
	w.deal(n)
	w.tally = tally{counters: w.batch.Counters, rates: w.tally.rates[:0]}
	for i := range w.batch.Frames {
		f := &w.batch.Frames[i]
		pkt := &w.pkts[i]
		decode.Decode(f.Link, w.batch.Data(f), f.WireLen, pkt)
		w.tally.add(f, pkt, w.batch.Data(f))
		if pkt.Broadcast {
			for lane := range w.of {
				w.of[lane] = append(w.of[lane], uint32(i))
			}
			continue
		}
		lane := owner(pkt, uint32(len(w.of)))
		w.of[lane] = append(w.of[lane], uint32(i))
	}
	w.tally.flush()
	w.tally.latest = max(w.tally.latest, w.batch.Clock)
}

// deal makes ready to deal n packets out to the lanes.
func (w *work) deal(n int) {
	for lane := range w.of {
		if cap(w.of[lane]) < n {
			w.of[lane] = make([]uint32, 0, n+n/4)
		}
		w.of[lane] = w.of[lane][:0]
	}
}

// tally is what is counted of a batch without any state: by the decoder, once.
type tally struct {
	counters    packet.Counters // of the source
	packets     uint64
	bytes       uint64 // on the wire
	first, last int64  // times of the first and last frame
	latest      int64
	reversals   uint64 // frames older than the one before, within the batch
	snapped     uint64 // frames cut by the snaplen
	undecoded   uint64
	protocols   [decode.Protos]uint64

	rates []correlate.Rate // by second

	run  decode.Set // of the last packets: most have the same stack
	runs uint64
}

func (t *tally) add(f *packet.Frame, p *decode.Packet, data []byte) {
	if t.packets == 0 {
		t.first, t.last, t.latest = f.Time, f.Time, f.Time
	}
	t.packets++
	t.bytes += uint64(f.WireLen)
	if f.Time < t.last {
		t.reversals++
	}
	t.last = f.Time
	t.latest = max(t.latest, f.Time)
	if f.CapLen < f.WireLen {
		t.snapped++
	}
	if p.Kind == decode.KindUndecoded {
		t.undecoded++
	}
	t.rate(f, p, data)
	if p.Protos != t.run {
		t.flush()
		t.run = p.Protos
	}
	t.runs++
}

func (t *tally) flush() {
	if t.runs > 0 {
		for p := range t.run.All() {
			t.protocols[p] += t.runs
		}
	}
	t.runs = 0
}

// rate counts the frames and broadcasts of each second.
func (t *tally) rate(f *packet.Frame, p *decode.Packet, data []byte) {
	n := len(t.rates)
	if n == 0 || uint64(f.Time-t.rates[n-1].Start) >= second { // earlier ones too, by the wrap
		into := (f.Time%second + second) % second // also before 1970
		t.rates = append(t.rates, correlate.Rate{First: f.Number, Start: f.Time - into})
		n++
	}
	r := &t.rates[n-1]
	r.Frames++
	r.Last = f.Number
	if p.L2Kind == decode.L2Ethernet && data[p.L2] == 0xff && data[p.L2+1] == 0xff { // no multicast address begins so
		r.Broadcasts++
	}
}
