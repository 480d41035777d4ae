package analyze

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/capture/packet"
)

// inFlight bounds the batches between source and collector, on top of the bound
// of the source's own pool: decoded packets take memory too.
const inFlight = 2

// minDecoders is enough for one to read while another decodes.
const minDecoders = 2

// work is a batch dealt out to the lanes. It is made once and used again.
type work struct {
	batch *packet.Batch
	of    [][]uint32 // by lane: the frames that it analyses
	tally tally
	ready chan struct{} // one token for each lane, given by the dealer
	left  atomic.Int32  // lanes that still read it
}

// pipeline holds the queues between the stages. Every queue has room for all
// work there is, so that sending never blocks; waiting happens only where a
// free work is fetched, and in the source.
type pipeline struct {
	free     chan *work
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
		decoders: max(n, minDecoders),
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

// put hands a batch to every lane; they wait for it to be decoded.
func (p *pipeline) put(b *packet.Batch) *work {
	w := <-p.free
	w.batch = b
	w.left.Store(int32(len(p.lanes)))
	for _, l := range p.lanes {
		l.in <- w
	}
	return w
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
	for _, l := range p.lanes {
		close(l.in)
	}
}

// intake is where the decoders take turns at the source.
type intake struct {
	turn    sync.Mutex
	src     Source
	secrets *keyLog
	seq     uint64
	over    bool
	err     error // of the source, other than its end
}

// decode takes batches from the source until there are no more. Who has read a batch
// decodes it, while its bytes are still in the cache of this core and the next one reads.
func (p *pipeline) decode(ctx context.Context, in *intake) {
	var odd decode.Packet
	for {
		w := p.next(ctx, in)
		if w == nil {
			return
		}
		p.decodeBatch(w, &odd)
		for range p.lanes {
			w.ready <- struct{}{}
		}
	}
}

// next takes a batch from the source and gives it its place in the queues of the lanes;
// nil: there are no more. It is the only serial part that touches every batch, and does
// nothing per frame.
func (p *pipeline) next(ctx context.Context, in *intake) *work {
	in.turn.Lock()
	defer in.turn.Unlock()
	if in.over {
		return nil
	}
	defer packet.Rescue("the source", func(err error) {
		in.over = true
		p.close()
		p.fail(err)
	})
	b, err := in.src.Next(ctx)
	if err != nil {
		in.over = true
		if !errors.Is(err, io.EOF) {
			in.err = err
		}
		p.close()
		return nil
	}
	for _, s := range b.Secrets {
		in.secrets.add(s)
	}
	b.Seq = in.seq
	in.seq++
	return p.put(b)
}

func (p *pipeline) decodeBatch(w *work, odd *decode.Packet) {
	defer packet.Rescue("the decoder", func(err error) {
		w.deal(0) // what stands there is of this batch and of one before
		p.fail(err)
	})
	w.deal(len(w.batch.Frames))
	w.tally = tally{counters: w.batch.Counters, rates: w.tally.rates[:0]}
	frames, of := w.batch.Frames, w.of
	lanes := uint32(len(of))
	for i := range frames {
		f := &frames[i]
		data := w.batch.Data(f)
		if f.Link == packet.LinkEthernet {
			if g, ok := decode.Glance(data); ok {
				w.tally.add(f, g.Protos)
				w.tally.rate(f, toAll(data))
				lane := share(g.Hash, lanes)
				of[lane] = append(of[lane], uint32(i))
				continue
			}
		}
		decode.Decode(f.Link, data, f.WireLen, odd)
		w.tally.add(f, odd.Protos)
		w.tally.rate(f, odd.L2Kind == decode.L2Ethernet && toAll(data[odd.L2:]))
		if odd.Kind == decode.KindUndecoded {
			w.tally.undecoded++
		}
		if odd.Broadcast {
			for lane := range of {
				of[lane] = append(of[lane], uint32(i))
			}
			continue
		}
		lane := owner(odd, lanes)
		of[lane] = append(of[lane], uint32(i))
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

func (t *tally) add(f *packet.Frame, protos decode.Set) {
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
	if protos != t.run {
		t.flush()
		t.run = protos
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

// toAll reports whether an Ethernet frame is for all: no multicast address begins so.
func toAll(frame []byte) bool { return frame[0] == 0xff && frame[1] == 0xff }

// rate counts the frames and broadcasts of each second.
func (t *tally) rate(f *packet.Frame, broadcast bool) {
	n := len(t.rates)
	if n == 0 || uint64(f.Time-t.rates[n-1].Start) >= second { // earlier ones too, by the wrap
		into := (f.Time%second + second) % second // also before 1970
		t.rates = append(t.rates, correlate.Rate{First: f.Number, Start: f.Time - into})
		n++
	}
	r := &t.rates[n-1]
	r.Frames++
	r.Last = f.Number
	if broadcast {
		r.Broadcasts++
	}
}
