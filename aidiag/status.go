package aidiag

import (
	"maps"
	"sync"

	"netwhy/aidiag/internal/route"
)

// EndpointStatus is one endpoint at one moment.
type EndpointStatus = route.EndpointStatus

// Status is the engine at one moment, for the screen and for metrics. Reading it
// changes nothing.
type Status struct {
	Router   route.Status
	Waiting  int             // cases in the queue
	UnderWay int             // cases being worked on
	Shed     int64           // cases that had to make room
	Answers  map[State]int64 // by state; never nil
	Reasons  map[Class]int64 // of those without an answer, by class; never nil
	Kept     int64           // claims that held
	Dropped  int64           // claims that did not
	Tokens   int             // spent in this run
}

// Status returns a snapshot.
func (e *Engine) Status() Status {
	s := Status{Tokens: e.ledger.used()}
	s.Waiting, s.UnderWay, s.Shed = e.queue.counts()
	e.counts.copy(&s)
	if c := e.crew.Load(); c != nil {
		s.Router = c.router.Status()
	}
	return s
}

// tally counts what became of cases.
type tally struct {
	mu            sync.Mutex
	states        map[State]int64
	reasons       map[Class]int64
	kept, dropped int64
}

func (t *tally) answer(a *Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.states == nil {
		t.states, t.reasons = map[State]int64{}, map[Class]int64{}
	}
	t.states[a.State]++
	if a.Class != "" {
		t.reasons[a.Class]++
	}
}

func (t *tally) claims(kept, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept += int64(kept)
	t.dropped += int64(dropped)
}

func (t *tally) copy(s *Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Answers, s.Reasons = map[State]int64{}, map[Class]int64{}
	maps.Copy(s.Answers, t.states)
	maps.Copy(s.Reasons, t.reasons)
	s.Kept, s.Dropped = t.kept, t.dropped
}
