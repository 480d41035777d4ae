package aidiag

import (
	"context"
	"sync"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/words"
)

// queue holds the cases that wait. It is bounded in all it holds: cases that
// wait, cases under way and answers that nobody took yet are at most the capacity
// of the answers' channel, so that putting an answer there never waits.
type queue struct {
	mu       sync.Mutex
	wake     *sync.Cond
	waiting  []*Case
	most     int
	underWay int
	answers  chan Answer
	finished bool // no more cases will come
	stopped  bool // Run has returned, or its context ended
	shed     int64
	words    *words.Words
}

func newQueue(most, workers int, w *words.Words) *queue {
	q := &queue{most: most, words: w, answers: make(chan Answer, most+workers)}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// put takes a case, or gives one back with the answer of its rules: the least
// severe of those that wait and this one; among equals the newest. It never waits.
func (q *queue) put(c *Case) (back *Answer) {
	shed := func(c *Case, class Class, why string) *Answer {
		a := fallBack(c, FellBack, class, why)
		return &a
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.stopped:
		return shed(c, llm.ClientAbort, q.words.Interrupted)
	case q.finished:
		return shed(c, llm.ClientAbort, q.words.NoMore)
	}
	if len(q.waiting) < q.most && len(q.waiting)+q.underWay+len(q.answers) < cap(q.answers) {
		q.waiting = append(q.waiting, c)
		q.wake.Signal()
		return nil
	}
	q.shed++
	least := -1
	for i, w := range q.waiting {
		if w.Local.Severity < c.Local.Severity && (least < 0 || w.Local.Severity <= q.waiting[least].Local.Severity) {
			least = i
		}
	}
	if least < 0 {
		return shed(c, llm.Busy, q.words.Busy)
	}
	out := q.waiting[least]
	q.waiting = append(append(q.waiting[:least:least], q.waiting[least+1:]...), c)
	return shed(out, llm.Busy, q.words.Busy)
}

// take waits for the most severe case; nil when there will be none.
func (q *queue) take(ctx context.Context) *Case {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.wake.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if len(q.waiting) > 0 {
			best := 0
			for i, w := range q.waiting {
				if w.Local.Severity > q.waiting[best].Local.Severity {
					best = i
				}
			}
			c := q.waiting[best]
			q.waiting = append(q.waiting[:best:best], q.waiting[best+1:]...)
			q.underWay++
			return c
		}
		if q.finished {
			return nil
		}
		q.wake.Wait()
	}
}

// done hands over the answer of a case that was taken.
func (q *queue) done(a Answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay--
	q.answers <- a // there is room: see put
}

func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished = true
	q.wake.Broadcast()
}

// close answers what still waits by its rules, and ends the channel.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, c := range q.waiting {
		q.answers <- fallBack(c, FellBack, llm.ClientAbort, q.words.Interrupted)
	}
	q.waiting = nil
	close(q.answers)
}

func (q *queue) counts() (waiting, underWay int, shed int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), q.underWay, q.shed
}
