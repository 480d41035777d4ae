package aidiag

import (
	"fmt"
	"sync"
	"time"

	"netwhy/aidiag/internal/words"
)

// ledger counts what is spent: requests in a sliding hour, tokens in the run. A
// request under way is booked with all it may cost, so that the limit of tokens
// holds also where several are asked at once.
type ledger struct {
	perHour int // negative: no limit
	perRun  int
	words   *words.Words

	mu       sync.Mutex
	requests []time.Time // of the last hour, at most perHour
	tokens   int
	underWay int // requests whose cost is not known yet
}

// perRequest is what one request may cost: the case and the answer.
const perRequest = maxCaseTokens + answerTokens

// request books one, or says which limit is reached.
func (l *ledger) request() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perRun >= 0 && l.tokens+(l.underWay+1)*perRequest > l.perRun {
		return fmt.Errorf(l.words.Tokens, l.perRun)
	}
	if l.perHour >= 0 {
		now := time.Now()
		old := 0
		for old < len(l.requests) && now.Sub(l.requests[old]) >= time.Hour {
			old++
		}
		l.requests = append(l.requests[:0], l.requests[old:]...)
		if len(l.requests) >= l.perHour {
			return fmt.Errorf(l.words.Requests, l.perHour)
		}
		l.requests = append(l.requests, now)
	}
	l.underWay++
	return nil
}

// spent settles requests: what they cost in all.
func (l *ledger) spent(requests, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay -= requests
	l.tokens += tokens
}

func (l *ledger) used() (tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens
}
