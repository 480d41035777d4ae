package llm

import (
	"context"
	"sync"
	"time"
)

// Timeouts bound one attempt. All must be positive.
type Timeouts struct {
	FirstByte time.Duration // until the header of the answer
	Idle      time.Duration // between bytes
	NoData    time.Duration // between events; comments do not count
	Attempt   time.Duration // everything
	Grace     time.Duration // for what may follow finish_reason
}

// watch ends an attempt whose time is over by cancelling it with a cause. It is
// used by the goroutine of the attempt; the timers only cancel.
type watch struct {
	cancel context.CancelCauseFunc
	limits Timeouts

	mu      sync.Mutex
	first   *time.Timer
	idle    *time.Timer
	noData  *time.Timer
	attempt *time.Timer
	grace   *time.Timer
}

func newWatch(cancel context.CancelCauseFunc, limits Timeouts) *watch {
	w := &watch{cancel: cancel, limits: limits}
	w.first = w.after(limits.FirstByte, ErrTTFB)
	w.attempt = w.after(limits.Attempt, ErrAttempt)
	return w
}

func (w *watch) after(d time.Duration, cause error) *time.Timer {
	return time.AfterFunc(d, func() { w.cancel(cause) })
}

// header notes that the header of the answer is there.
func (w *watch) header() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first.Stop()
	if w.idle == nil {
		w.idle = w.after(w.limits.Idle, ErrIdle)
		w.noData = w.after(w.limits.NoData, ErrIdle)
	}
}

// bytes notes that something arrived, be it a comment.
func (w *watch) bytes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle != nil {
		w.idle.Reset(w.limits.Idle)
	}
}

// event notes that data arrived.
func (w *watch) event() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noData != nil {
		w.noData.Reset(w.limits.NoData)
	}
}

// complete notes that the answer needs nothing more; what may follow it has d.
func (w *watch) complete(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grace != nil {
		w.grace.Reset(min(d, w.limits.Grace))
		return
	}
	w.grace = w.after(d, errGrace)
}

// stop ends the watch.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range []*time.Timer{w.first, w.idle, w.noData, w.attempt, w.grace} {
		if t != nil {
			t.Stop()
		}
	}
}
