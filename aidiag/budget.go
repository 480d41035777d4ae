package aidiag

import (
	"fmt"
	"sync"
	"time"
)

// ledger counts what is spent: requests in a sliding hour, tokens in the run.
type ledger struct {
	perHour int // negative: no limit
	perRun  int

	mu       sync.Mutex
	requests []time.Time // of the last hour, at most perHour
	tokens   int
}

// request books one, or says which limit is reached.
func (l *ledger) request() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perRun >= 0 && l.tokens+maxCaseTokens > l.perRun {
		return fmt.Errorf("the run's budget of %d tokens is used up (ai.budget.tokens_per_run)", l.perRun)
	}
	if l.perHour < 0 {
		return nil
	}
	now := time.Now()
	old := 0
	for old < len(l.requests) && now.Sub(l.requests[old]) >= time.Hour {
		old++
	}
	l.requests = append(l.requests[:0], l.requests[old:]...)
	if len(l.requests) >= l.perHour {
		return fmt.Errorf("the budget of %d requests an hour is used up (ai.budget.requests_per_hour)", l.perHour)
	}
	l.requests = append(l.requests, now)
	return nil
}

func (l *ledger) spent(tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += tokens
}

func (l *ledger) used() (tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens
}
