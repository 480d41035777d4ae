package aidiag

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/aidiag/internal/answer"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/redact"
	"netwhy/aidiag/internal/route"
	"netwhy/aidiag/internal/words"
	"netwhy/aidiag/prompts"
	"netwhy/analyze/finding"
)

// Deps is the world that an engine is given. The zero value of each field works.
type Deps struct {
	Defs    []finding.Def         // all codes, so that figures have names
	Causes  []string              // names of causes that everybody has, besides those of the prompts
	Lang    string                // "en" or "zh": of the answers and the lines
	Getenv  func(string) string   // nil: an empty environment
	Log     *slog.Logger          // nil: none; one debug line an attempt, no prompt, no answer, no key
	Observe func(Event)           // one line for the screen; must not block; nil: none
	Clock   func() time.Time      // for lines that name a time of day; nil: time.Now
	Dial    llm.Dial              // nil: the system's, behind the guard of addresses
	Proxy   ProxyFunc             // nil: of the environment (HTTPS_PROXY)
	tune    func(l *route.Limits) // tests shorten times that no user sets
	nonce   func() string
	times   func(url string, t *llm.Timeouts)
}

// DialFunc opens connections; tests give the engine a network of their own.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// ProxyFunc chooses the proxy of a request.
type ProxyFunc = func(*http.Request) (*url.URL, error)

// Engine asks models about cases. Make one a run.
type Engine struct {
	cfg     Config
	deps    Deps
	queue   *queue
	prompts *prompts.Set
	reader  *answer.Reader
	table   *redact.Table
	defs    map[finding.Code]finding.Def
	cache   *cache
	ledger  *ledger
	limits  route.Limits
	workers int
	words   *words.Words
	calls   atomic.Int64 // made so far: their numbers in the log
	causes  map[string]bool
	names   string // of the causes, in order
	started atomic.Bool
	says    sayer
	counts  tally
	own     own

	crew    atomic.Pointer[crew] // nil until the first case
	making  sync.Mutex           // held while it is made, which may ask local servers
	crewErr error
}

// New checks the configuration and makes an engine. It opens no socket, reads no
// key and starts nothing.
func New(cfg Config, deps Deps) (*Engine, error) {
	cfg = cfg.filled()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configuration of the AI: %w", err)
	}
	if deps.Getenv == nil {
		deps.Getenv = func(string) string { return "" }
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	if deps.Proxy == nil {
		deps.Proxy = http.ProxyFromEnvironment
	}
	if deps.nonce == nil {
		deps.nonce = prompts.Nonce
	}
	set, err := prompts.Load()
	if err != nil {
		return nil, err
	}
	reader, err := answer.NewReader()
	if err != nil {
		return nil, err
	}
	limits := cfg.limits()
	if deps.tune != nil {
		deps.tune(&limits)
	}
	w := words.In(deps.Lang)
	e := &Engine{
		cfg: cfg, deps: deps, prompts: set, reader: reader, limits: limits, workers: max(limits.MaxParallel, limits.Local.MaxParallel), words: w,
		defs:   map[finding.Code]finding.Def{},
		ledger: &ledger{perHour: cfg.Budget.RequestsPerHour, perRun: cfg.Budget.TokensPerRun, words: w},
	}
	e.queue = newQueue(cfg.Queue, e.workers, w)
	e.table = redact.New(e.sending())
	for _, d := range deps.Defs {
		e.defs[d.Code] = d
	}
	e.causes = map[string]bool{}
	for _, c := range append(set.Causes(), deps.Causes...) {
		e.causes[c] = true
	}
	e.names = strings.Join(slices.Sorted(maps.Keys(e.causes)), " ")
	if cfg.Cache {
		e.cache = newCache()
	}
	e.says.observe, e.says.words = deps.Observe, w
	return e, nil
}

func (e *Engine) sending() redact.Options {
	var o redact.Options
	for _, s := range e.cfg.Send {
		o.Names = o.Names || s == sendHostNames
		o.UserAgents = o.UserAgents || s == sendUserAgents
	}
	return o
}

// Submit takes a case. It never blocks and starts nothing. What had to make room
// comes back, answered by its rules; it will not come by Answers too.
func (e *Engine) Submit(c Case) (shed []Answer) {
	if e.own.all(&c) {
		return []Answer{fallBack(&c, Off, llm.Local, e.words.Own)}
	}
	if back := e.queue.put(&c); back != nil {
		return []Answer{*back}
	}
	return nil
}

// Answers gives exactly one answer for each case that Submit did not hand back,
// in the order in which they are ready. It is closed when Run returns. Who does
// not read it makes Submit hand cases back; nobody ever waits.
func (e *Engine) Answers() <-chan Answer { return e.queue.answers }

// Finish says that no more cases will come: Run returns when all are answered.
func (e *Engine) Finish() { e.queue.finish() }

// ErrStarted is what Run returns when it is called twice.
var ErrStarted = errors.New("the engine runs already, or has run")

// Run works on cases until Finish was called and all are answered, or until ctx
// ends; what still waits then is answered by its rules. It returns behind its
// goroutines.
func (e *Engine) Run(ctx context.Context) error {
	if !e.started.CompareAndSwap(false, true) {
		return ErrStarted
	}
	var wg sync.WaitGroup
	for range e.workers {
		wg.Go(func() {
			for {
				c := e.queue.take(ctx)
				if c == nil {
					return
				}
				e.work(ctx, c)
			}
		})
	}
	wg.Wait()
	e.queue.close()
	if c := e.crew.Load(); c != nil {
		c.close()
	}
	return context.Cause(ctx)
}

// AskAll runs the engine for these cases alone and returns their answers in the
// same order. More cases than fit the queue are fed as others are answered, so
// none is shed. It is for captures that are read to their end; ctx ends it early,
// and what is open then is answered by its rules.
func (e *Engine) AskAll(ctx context.Context, cases []Case) []Answer {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = e.Run(ctx) // why it ended is in the answers
	}()
	defer func() { <-ended }()
	answers := make(map[string]Answer, len(cases))
	open := 0
	take := func() bool {
		a, ok := <-e.Answers()
		if ok {
			open--
			answers[a.Case] = a
		}
		return ok
	}
	for i := range cases {
		for open >= e.cfg.Queue && take() {
		}
		back := e.Submit(cases[i])
		for _, a := range back {
			answers[a.Case] = a
		}
		open += 1 - len(back)
	}
	e.Finish()
	for take() {
	}
	out := make([]Answer, 0, len(cases))
	for i := range cases {
		if a, ok := answers[cases[i].ID]; ok {
			out = append(out, a)
		}
	}
	return out
}

// NetworkUp tells that the link came up: endpoints may be tried at once.
func (e *Engine) NetworkUp() {
	if c := e.crew.Load(); c != nil {
		c.router.NetworkUp()
	}
}

// work answers one case. The answer is given whatever happens on the way, also
// when this goroutine ends.
func (e *Engine) work(ctx context.Context, c *Case) {
	a := fallBack(c, FellBack, llm.Internal, e.words.Internal)
	defer func() {
		if v := recover(); v != nil {
			// A case that makes us fail must not end the capture. The value may
			// quote the evidence, so it is not shown.
			e.deps.Log.ErrorContext(ctx, "a case ended in an internal fault", slog.String("case", c.ID))
		}
		a = e.noted(c, a)
		e.counts.answer(&a)
		e.says.answer(&a)
		e.queue.done(a)
	}()
	a = e.ask(ctx, c)
}

// noted adds what has to be said of the case itself.
func (e *Engine) noted(c *Case, a Answer) Answer {
	a.Injections = c.suspicious(e.defs)
	if n := injection(e.words, a.Injections); n != nil {
		a.Notices = append(slices.Clip(a.Notices), *n)
	}
	return a
}

func (e *Engine) brief(c *Case) *brief {
	causes := []string{string(c.Local.Cause)}
	for _, x := range c.Local.Excluded {
		causes = append(causes, string(x.Cause))
	}
	return &brief{
		c: c, causes: e.causes, names: e.names, nonce: e.deps.nonce(), words: e.words, language: languageName(e.deps.Lang), prompts: e.prompts, table: e.table, defs: e.defs,
		knowledge: e.prompts.Knowledge(knowledgeBytes, causes[:min(len(causes), maxKnowledge)]...),
	}
}

func (e *Engine) ask(ctx context.Context, c *Case) Answer {
	crew, err := e.assemble(ctx)
	if err != nil {
		why := err.Error()
		if errors.Is(err, ErrNobody) {
			why = e.words.Nobody
		}
		a := fallBack(c, Off, llm.Local, why)
		a.Notices = crewNotices(crew)
		return a
	}
	if crew.router.Paused() { // before anything is built: the open path costs nothing
		return e.fell(c, &route.Result{Class: llm.BreakerOpen, RetryAt: crew.router.RetryAt()}, crew)
	}
	b := e.brief(c)
	key := ""
	if e.cache != nil {
		key = b.key(crew.models)
		for {
			known, wait := e.cache.get(key)
			if known != nil {
				return e.again(b, known)
			}
			if wait == nil {
				break
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return e.fell(c, &route.Result{Class: llm.ClientAbort}, crew)
			}
		}
	}
	var found *reused
	defer func() {
		if e.cache != nil {
			e.cache.put(key, found)
		}
	}()
	var kept *answer.Answer
	var rejected []Claim
	note := &notes{}
	call := &route.Call{
		Case: c.ID,
		Compose: func(s route.Shape) llm.Request {
			note.last = b.request(s)
			return note.last
		},
		Judge: func(content string, half bool) (repair string, ok bool) {
			var schema bool
			kept, rejected, repair, schema = e.judge(b, content, half)
			note.judged(schema, kept, rejected)
			return repair, repair == ""
		},
		Retry: func(provider string, attempt, of int, wait time.Duration) {
			e.says.retry(c.ID, provider, attempt, of, wait)
		},
	}
	res := crew.router.Do(ctx, call)
	e.ledger.spent(res.Requests, res.Spent)
	e.log(ctx, &res, note)
	res.Notices = append(crewNotices(crew), res.Notices...)
	if res.Class != llm.OK {
		return e.fell(c, &res, crew)
	}
	found = &reused{kept: kept, rejected: rejected, provider: res.Provider, endpoint: res.Endpoint, model: res.Model}
	if res.Half {
		res.Notices = append(res.Notices, Notice{Class: llm.TooLarge, Provider: res.Provider, Text: e.words.Shortened})
	}
	return b.conclude(kept, rejected, &res)
}

// judge reads a complete answer; repair says what the model must mend, schema
// that it was of the right form.
func (e *Engine) judge(b *brief, content string, half bool) (kept *answer.Answer, rejected []Claim, repair string, schema bool) {
	parsed, err := e.reader.Parse(content)
	if err != nil {
		return nil, nil, err.Error(), false
	}
	doc, _, err := b.doc(half)
	if err != nil {
		return nil, nil, err.Error(), true
	}
	c := answer.Checker{Doc: doc, Table: e.table, Severity: b.c.Local.Severity, Known: func(c string) bool { return e.causes[c] }, Knowledge: b.knowledge}
	kept, rejected = c.Verify(parsed)
	e.counts.claims(len(kept.Claims), len(rejected))
	if len(kept.Claims) > 0 {
		return kept, rejected, "", true
	}
	reasons := make([]string, 0, len(rejected))
	for _, r := range rejected[:min(len(rejected), 4)] {
		reasons = append(reasons, r.Reason)
	}
	return nil, rejected, "no claim is supported by the evidence: " + strings.Join(reasons, "; "), true
}

// again answers an equal case by what is known.
func (*Engine) again(b *brief, known *reused) Answer {
	return b.conclude(known.kept, known.rejected, &route.Result{Provider: known.provider, Endpoint: known.endpoint, Model: known.model})
}

// fell is the answer by the rules, and why.
func (e *Engine) fell(c *Case, res *route.Result, crew *crew) Answer {
	a := fallBack(c, FellBack, res.Class, e.reason(res, crew))
	a.Decisions, a.Notices, a.RetryAt = res.Decisions, res.Notices, res.RetryAt
	return a
}
