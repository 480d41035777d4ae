package analyze

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
	"netwhy/capture/packet"
)

// Source is where batches come from. Next ends with io.EOF; any other error ends
// the run too, and what was found stands. Batches must be numbered from 0
// without a gap (Batch.Seq is set here).
type Source interface {
	Next(ctx context.Context) (*packet.Batch, error)
}

// Options of a run. The zero value works.
type Options struct {
	Workers        int          // lanes; 0: one per core
	MaxConnections int          // live ones kept; 0: DefaultConnections
	MaxSummaries   int          // conversations kept in Result.Connections; 0: DefaultSummaries
	IdleTimeout    int64        // ns of capture time after which a conversation is folded; 0: never (files)
	Live           bool         // emit findings as they are established, not only at the end
	Secrets        []byte       // a TLS key log (NSS format)
	Protocols      []proto.Spec // nil: Protocols()

	// Connection, if not nil, gets every conversation when it is folded, from
	// one goroutine, in a fixed order. The summary is valid during the call.
	Connection func(*conn.Summary)

	// Diary keeps besides what Zeek's conn.log tells (conn.Summary.History,
	// conn.Side.NetBytes); some 200 bytes for each open conversation.
	Diary bool

	// Found, if not nil, gets each symptom when it is first seen, while the capture
	// is read, from one goroutine, in an order that depends on the packets alone. It
	// is valid during the call. The result has them all, as they are in the end.
	Found func(*Found)
	// Moments asks for the result so far (live): each function sent gets it,
	// called from the collector between two batches.
	Moments <-chan func(*Result)
	// Pressure, if not nil, is read once a batch: while it is set payload is left
	// unread (live), and Result.Unread counts it. The state of connections goes on.
	Pressure *atomic.Bool
}

// Defaults and bounds of Options.
const (
	DefaultConnections = 1_000_000
	DefaultSummaries   = 10_000
)

// Run analyses what src gives until its end or the end of ctx, and returns what
// was found in every case, together with the source's error or the context's
// cause. It owns every goroutine it starts and returns after all of them; a panic
// in one of them ends the run with a *packet.PanicError. emit may be nil; it is
// called from one goroutine, for a finding that is new or has grown
// (Options.Live), and for each at the end.
func Run(ctx context.Context, src Source, opt Options, emit func(finding.Finding)) (*Result, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.MaxConnections <= 0 {
		opt.MaxConnections = DefaultConnections
	}
	if opt.MaxSummaries <= 0 {
		opt.MaxSummaries = DefaultSummaries
	}
	if opt.Protocols == nil {
		opt.Protocols = Protocols()
	}
	secrets := newKeyLog()
	secrets.add(opt.Secrets)

	p := newPipeline(opt, secrets)
	ctx, p.abort = context.WithCancelCause(ctx)
	defer p.abort(nil)
	var wg sync.WaitGroup
	in := intake{src: src, secrets: secrets}
	for range p.dealers {
		wg.Go(func() { p.read(ctx, &in) })
	}
	for i := range p.lanes {
		wg.Go(func() { p.lanes[i].run() })
	}
	col := newCollector(opt, p, emit)
	wg.Go(col.run)
	wg.Wait()
	err := in.err
	if fault := p.fault.Load(); fault != nil {
		err = *fault
	}
	return col.outcome(), err
}
