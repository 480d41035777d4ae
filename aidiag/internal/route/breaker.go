package route

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"netwhy/aidiag/internal/llm"
)

var (
	errFailed  = errors.New("failed")
	errNeutral = errors.New("neutral")
	errGated   = errors.New("gate closed")
)

// breaker is gobreaker's two-step breaker with a lock-free gate in front, whose
// time grows with each failed probe.
type breaker struct {
	cb        *gobreaker.TwoStepCircuitBreaker[struct{}]
	gate      atomic.Int64 // closed until then, ns of the router's clock; 0: not
	probes    atomic.Int32 // failed probes in a row
	state     atomic.Int32 // gobreaker.State as last reported; asking it would move it
	trips     atomic.Int64
	now       func() int64
	rand      func() float64
	open, max time.Duration
}

// jitter shortens each open time by up to this part, so that many instances do
// not probe in step.
const jitter = 0.2

func newBreaker(name string, p Pace, failures uint32, now func() int64, rnd func() float64) *breaker {
	b := &breaker{now: now, rand: rnd, open: p.Open, max: p.OpenMax}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        name,
		MaxRequests: 1,
		Interval:    0,          // a window shorter than an answer takes would forget every failure
		Timeout:     p.Open / 2, // the gate decides; this must be over before it
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNeutral) },
		// Runs under gobreaker's mutex: atomics only.
		OnStateChange: func(_ string, from, to gobreaker.State) { b.changed(from, to) },
	})
	return b
}

func (b *breaker) changed(from, to gobreaker.State) {
	b.state.Store(int32(to)) //nolint:gosec // three values
	switch to {
	case gobreaker.StateOpen:
		k := int32(0)
		if from == gobreaker.StateHalfOpen {
			k = b.probes.Add(1)
		} else {
			b.probes.Store(0)
		}
		const doublings = 16 // far beyond any limit, and no overflow
		d := min(b.max, b.open<<min(k, doublings))
		b.gate.Store(b.now() + int64(float64(d)*(1-jitter*b.rand())))
		b.trips.Add(1)
	case gobreaker.StateClosed:
		b.probes.Store(0)
		b.gate.Store(0)
	case gobreaker.StateHalfOpen:
	}
}

// gated reports whether nothing may be sent at this time.
func (b *breaker) gated(now int64) bool { return now < b.gate.Load() }

// allow returns a permit, which must be given back by report, or why not.
func (b *breaker) allow(now int64) (*permit, error) {
	if b.gated(now) {
		return nil, errGated
	}
	done, err := b.cb.Allow()
	if err != nil {
		return nil, err //nolint:wrapcheck // compared, not shown
	}
	return &permit{done: done, probe: gobreaker.State(b.state.Load()) == gobreaker.StateHalfOpen}, nil
}

// failures are those in a row; asking for them moves nothing.
func (b *breaker) failures() int { return int(b.cb.Counts().ConsecutiveFailures) }

func (b *breaker) stateName() string { return gobreaker.State(b.state.Load()).String() }

// permit is the right to one request.
type permit struct {
	done  func(error)
	probe bool
	used  bool
}

// report gives the permit back. A second report is ignored: gobreaker would
// count it.
func (p *permit) report(o llm.Outcome) {
	if p.used {
		return
	}
	p.used = true
	switch o {
	case llm.Alive:
		p.done(nil)
	case llm.Failed:
		p.done(errFailed)
	case llm.Neutral:
		p.done(errNeutral)
	}
}
