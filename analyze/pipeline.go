package analyze

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"netwhy/analyze/decode"
	"netwhy/capture/packet"
)

// inFlight bounds the batches between source and collector, beside one for each lane. With
// few of them a stage that is ahead has to wait, and waking it costs more than what it
// waited for: with two a large capture takes 4% longer.
const inFlight = 8

// minDealers is enough for one to read while another deals.
const minDealers = 2

// work is a batch dealt out to the lanes. It is made once and used again.
type work struct {
	batch *packet.Batch
	of    [][]dealt // by lane: the frames that it analyses
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
	dealers  int
	pressure *atomic.Bool          // set by the caller while payload is to be left out; nil: never
	moments  atomic.Uint64         // asked for so far (live): lanes read it once a batch
	fault    atomic.Pointer[error] // the first panic of a stage
	abort    context.CancelCauseFunc
}

func newPipeline(opt Options, secrets *keyLog) *pipeline {
	n := opt.Workers
	p := &pipeline{
		free:     make(chan *work, inFlight+n),
		dealers:  max(n, minDealers),
		pressure: opt.Pressure,
		specs:    newSpecs(opt.Protocols),
	}
	p.called = newCalled(p.specs.names)
	for range inFlight + n {
		p.free <- &work{ready: make(chan struct{}, n), of: make([][]dealt, n)}
	}
	for i := range n {
		p.lanes = append(p.lanes, newLane(i, opt, secrets, p))
	}
	return p
}

// put hands a batch to every lane; they wait for it to be dealt out.
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

// intake is where the dealers take turns at the source.
type intake struct {
	turn    sync.Mutex
	src     Source
	secrets *keyLog
	seq     uint64
	over    bool
	err     error // of the source, other than its end
}

// read takes batches from the source until there are no more. Who has read a batch
// deals it out, while its bytes are still in the cache of this core and the next one reads.
func (p *pipeline) read(ctx context.Context, in *intake) {
	var odd decode.Packet
	for {
		w := p.next(ctx, in)
		if w == nil {
			return
		}
		p.deal(w, &odd)
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
