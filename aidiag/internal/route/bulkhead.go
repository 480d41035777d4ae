package route

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

var errBusy = errors.New("all slots and the queue are taken")

// bulkhead bounds the requests under way. The bound halves when a provider says
// "too much" or does not answer, and grows by one after ten that were alive.
type bulkhead struct {
	mu      sync.Mutex
	limit   int
	most    int
	inUse   int
	queue   int
	waiting []chan struct{} // first come, first served
	alive   int
}

const aliveToGrow = 10

func newBulkhead(start, most, queue int) *bulkhead {
	return &bulkhead{limit: start, most: most, queue: queue}
}

// acquire waits for a slot, or returns errBusy at once when too many wait.
func (b *bulkhead) acquire(ctx context.Context) error {
	b.mu.Lock()
	if b.inUse < b.limit && len(b.waiting) == 0 {
		b.inUse++
		b.mu.Unlock()
		return nil
	}
	if len(b.waiting) >= b.queue {
		b.mu.Unlock()
		return errBusy
	}
	turn := make(chan struct{})
	b.waiting = append(b.waiting, turn)
	b.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range b.waiting {
		if w == turn {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return context.Cause(ctx)
		}
	}
	// The slot was handed over in the same moment: hand it on.
	b.inUse--
	b.wake()
	return context.Cause(ctx)
}

func (b *bulkhead) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse--
	b.wake()
}

// wake hands free slots to those who wait. The lock is held.
func (b *bulkhead) wake() {
	for b.inUse < b.limit && len(b.waiting) > 0 {
		b.inUse++
		close(b.waiting[0])
		b.waiting = b.waiting[1:]
	}
}

func (b *bulkhead) shrink() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.alive = max(1, b.limit/2), 0
}

func (b *bulkhead) grow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alive++; b.alive >= aliveToGrow {
		b.limit, b.alive = min(b.most, b.limit+1), 0
		b.wake()
	}
}

func (b *bulkhead) use() (inUse, waiting, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inUse, len(b.waiting), b.limit
}

// tokens bound the retries of the whole run: each costs five, each success
// brings one back.
type tokens struct {
	left atomic.Int64
	most int64
}

const retryCost = 5

func (t *tokens) take() bool {
	for {
		n := t.left.Load()
		if n < retryCost {
			return false
		}
		if t.left.CompareAndSwap(n, n-retryCost) {
			return true
		}
	}
}

func (t *tokens) add() {
	for {
		n := t.left.Load()
		if n >= t.most || t.left.CompareAndSwap(n, n+1) {
			return
		}
	}
}
