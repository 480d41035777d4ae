package route

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/aidiag/internal/llm"
)

// counters of the run; all can be read at any time.
type counters struct {
	paused, busy, retries, failures atomic.Int64

	mu      sync.Mutex
	classes map[llm.Class]int64
}

func (c *counters) class(k llm.Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.classes == nil {
		c.classes = map[llm.Class]int64{}
	}
	c.classes[k]++
}

// EndpointStatus is one endpoint at one moment.
type EndpointStatus struct {
	Provider string
	Endpoint string
	Model    string
	State    string    // closed, half-open, open
	Until    time.Time // nothing is sent before; zero: at once
	Why      llm.Class // what holds the provider back: rate_limit, auth, ...; "" nothing
	Trips    int64
	Failures int           // in a row, as its breaker counts them
	TTFB     time.Duration // moving average; 0: unknown
}

// Status is the router at one moment. Reading it changes nothing.
type Status struct {
	Endpoints []EndpointStatus
	Attempts  map[llm.Class]int64 // by class, "" for answers; never nil
	Paused    int64               // calls that fell back at once
	Busy      int64
	Retries   int64
	Failures  int64 // counted by breakers
	InUse     int
	Waiting   int
	Parallel  int // the present limit of requests under way
	Tokens    int64
	NetDown   bool // the network gate is closed
}

// Status returns a snapshot.
func (r *Router) Status() Status {
	now := r.now()
	s := Status{
		Attempts: map[llm.Class]int64{}, Paused: r.count.paused.Load(), Busy: r.count.busy.Load(),
		Retries: r.count.retries.Load(), Failures: r.count.failures.Load(), Tokens: r.retries.left.Load(),
		NetDown: r.net.blockedUntil(now) > 0,
	}
	for _, b := range r.slots {
		inUse, waiting, limit := b.use()
		s.InUse, s.Waiting, s.Parallel = s.InUse+inUse, s.Waiting+waiting, s.Parallel+limit
	}
	r.count.mu.Lock()
	maps.Copy(s.Attempts, r.count.classes)
	r.count.mu.Unlock()
	for _, p := range r.providers {
		hold := max(p.cooldown.Load(), p.quarantine.Load())
		for _, e := range p.endpoints {
			st := EndpointStatus{
				Provider: p.Name, Endpoint: e.URL, Model: p.Model, State: e.breaker.stateName(),
				Trips: e.breaker.trips.Load(), Failures: e.breaker.failures(), TTFB: time.Duration(e.ttfb.Load()),
			}
			if until := max(hold, e.breaker.gate.Load()); until > now {
				st.Until = r.at(until)
			}
			if hold > now {
				if c, ok := p.why.Load().(llm.Class); ok {
					st.Why = c
				}
			}
			s.Endpoints = append(s.Endpoints, st)
		}
	}
	return s
}
