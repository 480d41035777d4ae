package run

import (
	"context"
	"time"

	"netwhy/analyze"
	"netwhy/capture/packet"
)

// paced hands frames on at a multiple of the capture's own pace. It copies:
// a batch of the source may hold minutes.
type paced struct {
	src   analyze.Source
	speed float64
	pool  *packet.Pool
	batch *packet.Batch // of the source, being handed on
	next  int           // first of its frames not yet handed on

	begun   time.Time // when frames of time first were due
	first   int64     // capture time, ns
	started bool
}

// paceStep is the time of frames that are handed on together.
const paceStep = 10 * time.Millisecond

func newPaced(src analyze.Source, speed float64) *paced {
	const batches = 24
	return &paced{src: src, speed: speed, pool: packet.NewPool(batches, packet.DefaultBatchBytes)}
}

// Next waits until the next frame is due and returns all that are.
func (p *paced) Next(ctx context.Context) (*packet.Batch, error) {
	if p.batch == nil {
		b, err := p.src.Next(ctx)
		if err != nil {
			return nil, err
		}
		p.batch, p.next = b, 0
		if len(b.Frames) == 0 {
			p.batch = nil
			return b, nil // it may carry secrets
		}
	}
	frames := p.batch.Frames
	if !p.started {
		p.begun, p.first, p.started = time.Now(), frames[p.next].Time, true
	}
	if err := p.wait(ctx, frames[p.next].Time); err != nil {
		return nil, err
	}
	out, err := p.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	out.Counters = p.batch.Counters
	if p.next == 0 {
		out.Secrets = p.batch.Secrets
	}
	limit := p.captureTime(time.Since(p.begun) + paceStep)
	for p.next < len(frames) && (frames[p.next].Time <= limit || len(out.Frames) == 0) {
		f := frames[p.next]
		if !out.Append(f, p.batch.Data(&f)) {
			break
		}
		p.next++
	}
	if p.next == len(frames) {
		p.batch.Release()
		p.batch = nil
	}
	return out, nil
}

// captureTime is the time of the capture that is reached after so long.
func (p *paced) captureTime(elapsed time.Duration) int64 {
	return p.first + int64(float64(elapsed)*p.speed)
}

func (p *paced) wait(ctx context.Context, at int64) error {
	due := time.Duration(float64(at-p.first) / p.speed)
	left := due - time.Since(p.begun)
	if left <= 0 {
		return nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
