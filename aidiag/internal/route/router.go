package route

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/words"
)

// Asker asks one endpoint once; its error is an *llm.AttemptError.
type Asker interface {
	Ask(ctx context.Context, q llm.Request) (llm.Reply, error)
}

// Target is one endpoint of a provider.
type Target struct {
	URL, Host string
	Asker     Asker
}

// Provider is one account: its endpoints share key, model, cooldown, quarantine
// and capabilities.
type Provider struct {
	Name, Model string
	KeyFrom     string // for people: "$OPENAI_API_KEY"
	Local       bool   // of this machine or a private network
	Context     int    // tokens that its model takes; 0: unknown
	Caps        llm.Caps
	FirstByte   time.Duration // its limit for the first byte
	Deadline    time.Duration // of a call, when this provider ends it; 0: its pace's
	Targets     []Target
}

// Pace is how hard a kind of provider is asked. Every field must be set.
type Pace struct {
	Deadline      time.Duration // of one call, all attempts, those at providers before it included
	Attempts      int           // of one call, over all endpoints
	Open, OpenMax time.Duration // first and longest open time of a breaker
	BackoffBase   time.Duration
	BackoffCap    time.Duration
	RateWait      time.Duration // longest Retry-After that is waited out while another provider is usable
	Concurrency   int           // requests under way, at start
	MaxParallel   int           // at most
}

// Limits bound a call and the run. Every field must be set; see Defaults.
type Limits struct {
	Pace                       // of providers in the cloud, which share their slots
	Local        Pace          // of each provider of this machine or network
	Failures     uint32        // in a row, that trip a breaker
	RateBase     time.Duration // cooldown after a 429 without Retry-After, doubled each time
	Demote       time.Duration
	BillingPause time.Duration
	NetWindow    time.Duration
	NetClosed    time.Duration
	MinLeft      time.Duration // no attempt starts with less than min(this, FirstByte) left
	ProbeByte    time.Duration // least limit for the first byte of a probe
	Proof        time.Duration // an attempt this long without a byte counts even if the deadline ended it
	Waiting      int           // callers that may wait for a slot
	RetryTokens  int64
	WholeTokens  int // that a whole case takes of a model's context, its answer included
}

// Small reports whether a model that takes so many tokens has no room for a whole
// case; of 0 nothing is known.
func (l Limits) Small(context int) bool { return context > 0 && context < l.WholeTokens }

// Defaults returns the limits of the specification. A local server answers slowly
// while it loads its model, has one processor to think with, and is back soon
// behind a restart.
func Defaults() Limits {
	return Limits{
		Pace: Pace{
			Deadline: 60 * time.Second, Attempts: 6, Open: 15 * time.Second, OpenMax: 30 * time.Second,
			BackoffBase: 300 * time.Millisecond, BackoffCap: 10 * time.Second, RateWait: 2500 * time.Millisecond,
			Concurrency: 2, MaxParallel: 4,
		},
		Local: Pace{
			Deadline: 180 * time.Second, Attempts: 3, Open: 5 * time.Second, OpenMax: 30 * time.Second,
			BackoffBase: 200 * time.Millisecond, BackoffCap: 5 * time.Second,
			Concurrency: 1, MaxParallel: 1,
		},
		Failures: 3, RateBase: time.Second,
		Demote: 30 * time.Second, BillingPause: time.Hour,
		NetWindow: 5 * time.Second, NetClosed: 10 * time.Second,
		MinLeft: 3 * time.Second, ProbeByte: 5 * time.Second, Proof: 5 * time.Second,
		Waiting: 8, RetryTokens: 100,
	}
}

// Router holds the providers and what is remembered of them. Safe for
// concurrent use; it starts no goroutine.
type Router struct {
	limits    Limits
	providers []*provider
	start     time.Time
	rand      func() float64
	quota     func() error
	net       *netGate
	slots     []*bulkhead // that of the cloud, if there is any, and one of each local provider
	words     *words.Words
	retries   tokens
	count     counters

	paused atomic.Int64 // nothing can be asked until then; 0: something can
	mu     sync.Mutex   // guards the computation of paused
}

const never = math.MaxInt64 // until the configuration changes

type provider struct {
	Provider
	pace       Pace
	slots      *bulkhead
	endpoints  []*endpoint
	cooldown   atomic.Int64 // until then
	quarantine atomic.Int64
	why        atomic.Value // llm.Class of cooldown or quarantine

	mu       sync.Mutex
	caps     llm.Caps
	context  int // learned, or configured
	rateRuns int // 429 in a row
}

type endpoint struct {
	Target
	breaker *breaker
	demoted atomic.Int64 // sorts last until then
	ttfb    atomic.Int64 // moving average, ns; 0: unknown
}

// New makes a router. quota is asked before each request; nil: no limit. rnd
// returns numbers in [0, 1); nil: random ones. w are the words for people; nil:
// English.
func New(l Limits, providers []Provider, quota func() error, rnd func() float64, w *words.Words) *Router {
	if rnd == nil {
		rnd = rand.Float64
	}
	if quota == nil {
		quota = func() error { return nil }
	}
	if w == nil {
		w = words.In("en")
	}
	r := &Router{limits: l, start: time.Now(), rand: rnd, quota: quota, words: w, net: newNetGate(l.NetWindow, l.NetClosed)}
	r.retries.most = l.RetryTokens
	r.retries.left.Store(l.RetryTokens)
	var cloud *bulkhead
	local := false
	for _, p := range providers {
		if local && !p.Local {
			continue // never from local to cloud by itself
		}
		local = local || p.Local
		q := &provider{Provider: p, pace: l.Pace, caps: p.Caps, context: p.Context}
		if p.Local {
			q.pace = l.Local
		}
		if p.Deadline > 0 {
			q.pace.Deadline = p.Deadline
		}
		if q.slots = cloud; cloud == nil || p.Local {
			q.slots = newBulkhead(q.pace.Concurrency, q.pace.MaxParallel, l.Waiting)
			r.slots = append(r.slots, q.slots)
		}
		if !p.Local {
			cloud = q.slots
		}
		q.why.Store(llm.OK)
		for _, t := range p.Targets {
			q.endpoints = append(q.endpoints, &endpoint{Target: t, breaker: newBreaker(t.URL, q.pace, l.Failures, r.now, rnd)})
		}
		r.providers = append(r.providers, q)
	}
	return r
}

// now is monotonic: a clock that is set or a machine that slept moves nothing.
func (r *Router) now() int64 { return int64(time.Since(r.start)) }

// at turns a time of the router's clock into one for people; zero for never.
func (r *Router) at(t int64) time.Time {
	if t == never || t == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(t - r.now()))
}

// Paused reports whether nobody can be asked now. It is the fast path: one
// atomic load and the clock.
func (r *Router) Paused() bool {
	until := r.paused.Load()
	return until != 0 && r.now() < until
}

// settle recomputes what the fast path reads.
func (r *Router) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, until := r.now(), int64(never)
	for _, p := range r.providers {
		until = min(until, r.blockedUntil(p, now))
	}
	if until <= now {
		until = 0
	}
	r.paused.Store(until)
}

// blockedUntil is when the provider can be asked again; 0 or past: now.
func (r *Router) blockedUntil(p *provider, now int64) int64 {
	hold := max(p.cooldown.Load(), p.quarantine.Load())
	if !p.Local {
		hold = max(hold, r.net.blockedUntil(now))
	}
	first := int64(never)
	for _, e := range p.endpoints {
		first = min(first, e.breaker.gate.Load())
	}
	return max(hold, first)
}

func (r *Router) usable(p *provider, now int64) bool { return r.blockedUntil(p, now) <= now }

// NetworkUp tells that the link came up: the network gate opens at once.
func (r *Router) NetworkUp() {
	r.net.reset()
	r.settle()
}

// RetryAt is the earliest time at which somebody can be asked; zero: now, or
// never before the configuration changes.
func (r *Router) RetryAt() time.Time {
	if !r.Paused() {
		return time.Time{}
	}
	return r.at(r.paused.Load())
}

// Shape tells how a request must be composed.
type Shape struct {
	Half   bool   // the evidence must be half as large
	Reply  string // the model's refused answer
	Repair string // what was wrong with it; "" for the first try
}

// Call is one question.
type Call struct {
	Case    string
	Compose func(Shape) llm.Request // capabilities are filled in by the router
	// Judge accepts a complete answer or says what the model must mend.
	Judge func(content string, half bool) (repair string, ok bool)
	// Retry is told before a wait and another attempt; it must not block.
	Retry func(provider string, attempt, of int, wait time.Duration)
}

// Result is what became of a call.
type Result struct {
	Class     llm.Class // OK: answered
	Detail    string    // one line for people, "" when answered
	Provider  string
	Endpoint  string
	Model     string
	RequestID string
	Prompt    int // tokens of the attempt that answered
	Complete  int
	Requests  int       // sent
	Spent     int       // tokens of all attempts that cost some
	RetryAt   time.Time // earliest moment at which asking may work again; zero: now or never
	Half      bool      // the evidence was shortened
	Decisions []Decision
	Notices   []Notice
}

// Next says what follows an attempt.
type Next string

// What may follow an attempt.
const (
	RetrySame    Next = "retry-same"
	NextEndpoint Next = "next-endpoint"
	NextProvider Next = "next-provider"
	Rules        Next = "rules" // the local answer stands alone
	Done         Next = "done"
)

// Decision is one attempt and what was decided behind it, as the report has it.
type Decision struct {
	Case      string    `json:"case"`
	Attempt   int       `json:"attempt"` // from 1; not raised by what was never sent
	Provider  string    `json:"provider"`
	Endpoint  string    `json:"endpoint"`
	Model     string    `json:"model"`
	Class     llm.Class `json:"error_class"` // "" for an answer
	Code      string    `json:"error_code"`
	Status    int       `json:"http_status"`
	RequestID string    `json:"request_id"`
	Counted   bool      `json:"counted"`       // as a failure, by the breaker
	Breaker   string    `json:"breaker_state"` // behind the attempt: closed, half-open, open
	BackoffMS int64     `json:"backoff_ms"`    // waited before what follows
	TTFBMS    int64     `json:"ttfb_ms"`
	TookMS    int64     `json:"duration_ms"`
	Next      Next      `json:"next"`

	Sent Sent `json:"-"` // for the log
}

// Sent is what the log says of an attempt besides its decision.
type Sent struct {
	BreakerFrom  string // state before the attempt
	BytesIn      int64
	Prompt       int // tokens
	Completion   int
	RetryAfterMS int64
	Param        string // request field that the provider names
	Message      string // the provider's, at most 200 bytes, keys masked
	Judged       bool   // a whole answer came and was looked at
}

// Notice is something that the user has to know or to mend.
type Notice struct {
	Class    llm.Class `json:"class"`
	Provider string    `json:"provider"`
	Text     string    `json:"text"`
}

// ErrBudget is the cause with which a call's own deadline ends it.
var ErrBudget = errors.New("the time for this case is over")

// Do asks until there is an answer that Judge accepts, or until there is a
// reason not to. It never fails: the reason is the result.
func (r *Router) Do(ctx context.Context, call *Call) Result {
	if r.Paused() {
		r.count.paused.Add(1)
		return Result{Class: llm.BreakerOpen, RetryAt: r.at(r.paused.Load())}
	}
	c := &asking{r: r, call: call}
	c.providers(ctx)
	if c.result.Class != llm.OK {
		c.result.RetryAt = r.RetryAt()
	}
	return c.result
}
