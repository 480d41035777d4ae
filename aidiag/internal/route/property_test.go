package route

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"netwhy/aidiag/internal/llm"
)

// world is a set of endpoints that fail at random, and its witness.
type world struct {
	t   *testing.T
	rnd *rand.Rand

	mu    sync.Mutex
	heal  bool
	holds map[string]time.Time // provider: not before
	under int
	most  int
}

var everyClass = []llm.Class{
	llm.OK, llm.OK, llm.NetPersistent, llm.NetTransient, llm.TLS, llm.Protocol, llm.GatewayTimeout, llm.Server, llm.RateLimit,
	llm.Auth, llm.Billing, llm.NotFound, llm.BadRequest, llm.TooLarge, llm.ContentFilter, llm.Parse, llm.InvalidOutput, llm.Local, llm.Internal,
}

func (w *world) asker(provider string) Asker {
	return askFunc(func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		w.mu.Lock()
		w.under++
		w.most = max(w.most, w.under)
		if until := w.holds[provider]; time.Now().Before(until) {
			w.t.Errorf("%s asked %v too early", provider, time.Until(until))
		}
		class := everyClass[w.rnd.IntN(len(everyClass))]
		if class == llm.Auth || class == llm.NotFound { // for ever: keep them rare
			if w.rnd.IntN(20) > 0 {
				class = llm.OK
			}
		}
		if w.heal {
			class = llm.OK
		}
		d := time.Duration(w.rnd.IntN(20000)) * time.Millisecond
		after := time.Duration(0)
		if w.rnd.IntN(2) == 0 {
			after = time.Duration(w.rnd.IntN(5000)) * time.Millisecond
		}
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.under--
		}()
		if !sleep(ctx, d) {
			return llm.Reply{Content: "goo", Took: d}, &llm.AttemptError{Class: llm.ClientAbort}
		}
		switch class {
		case llm.OK:
			return llm.Reply{Content: "good", Status: 200, TTFB: d / 2, Took: d}, nil
		case llm.InvalidOutput:
			return llm.Reply{Content: "bad", Status: 200, TTFB: d / 2, Took: d}, nil
		case llm.Internal:
			panic(errTest)
		case llm.RateLimit, llm.Server:
			w.mu.Lock()
			if until := time.Now().Add(after); until.After(w.holds[provider]) {
				w.holds[provider] = until
			}
			w.mu.Unlock()
		default:
		}
		return llm.Reply{Content: "goo", Took: d}, &llm.AttemptError{Class: class, RetryAfter: after}
	})
}

// check looks at a call that took so long from its first slot on.
func (w *world) check(c *Call, res Result, took time.Duration, l Limits) {
	w.t.Helper()
	left := map[string]bool{}
	last, sent, local := "", 0, 0
	budget := l.Deadline
	for i, d := range res.Decisions {
		if d.Class != llm.BreakerOpen {
			sent++
			if d.Provider == localProvider {
				local++
				budget = l.Local.Deadline
			}
		}
		if d.Endpoint != last {
			if left[d.Endpoint] {
				w.t.Errorf("%s came back to %s: %+v", c.Case, d.Endpoint, res.Decisions)
			}
			left[last] = true
			last = d.Endpoint
		}
		if i == len(res.Decisions)-1 && res.Class == llm.OK && d.Next != Done {
			w.t.Errorf("answered but goes on: %+v", d)
		}
	}
	if sent > l.Attempts || local > l.Local.Attempts {
		w.t.Errorf("%s made %d attempts, %d of them local", c.Case, sent, local)
	}
	if took > budget {
		w.t.Errorf("%s took %v, more than its budget", c.Case, took)
	}
}

const localProvider = "C"

// TestRandomFaults: whatever fails in whatever order, a call stays within its
// attempts and its time, never goes back, never asks before it was invited, never
// takes a part for the whole, and leaves nothing behind.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for seed := range uint64(rounds) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomRound(t, seed) })
		})
	}
}

func randomRound(t *testing.T, seed uint64) {
	t.Helper()
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), holds: map[string]time.Time{}}
	l := Defaults()
	l.Waiting = 4
	var ps []Provider
	for i := range 1 + w.rnd.IntN(3) {
		p := Provider{Name: string(rune('A' + i)), Model: "m", FirstByte: 15 * time.Second, Context: w.rnd.IntN(3) * 1000}
		p.Local = p.Name == localProvider
		for j := range 1 + w.rnd.IntN(3) {
			u := fmt.Sprintf("%s%d", p.Name, j)
			p.Targets = append(p.Targets, Target{URL: u, Host: u, Asker: w.asker(p.Name)})
		}
		ps = append(ps, p)
	}
	r := New(l, ps, nil, nil, nil)
	plan := rand.New(rand.NewPCG(seed, 2)) // of this goroutine alone
	var wg sync.WaitGroup
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		if plan.IntN(4) == 0 {
			time.AfterFunc(time.Duration(plan.IntN(30000))*time.Millisecond, cancel)
		}
		var began time.Time // of the first attempt
		c := &Call{Case: strconv.Itoa(i), Compose: func(Shape) llm.Request {
			if began.IsZero() {
				began = time.Now()
			}
			return llm.Request{}
		}}
		c.Judge = func(content string, _ bool) (string, bool) {
			if content != "good" && content != "bad" {
				t.Errorf("a part was judged as an answer: %q", content)
			}
			return "x", content == "good"
		}
		wg.Go(func() {
			defer cancel()
			res := r.Do(ctx, c)
			if began.IsZero() {
				began = time.Now()
			}
			w.check(c, res, time.Since(began), l)
		})
		time.Sleep(time.Duration(plan.IntN(8000)) * time.Millisecond)
	}
	wg.Wait()
	if w.most > l.MaxParallel+l.Local.MaxParallel {
		t.Errorf("%d requests at once, limit %d", w.most, l.MaxParallel)
	}
	if st := r.Status(); st.InUse != 0 || st.Waiting != 0 {
		t.Errorf("slots left behind: %+v", st)
	}
	w.mu.Lock()
	w.heal = true
	w.mu.Unlock()
	time.Sleep(2 * time.Hour) // every breaker finds its way back
	r.Do(t.Context(), &Call{Compose: func(Shape) llm.Request { return llm.Request{} }, Judge: func(string, bool) (string, bool) { return "", true }})
	for _, p := range r.providers {
		for _, e := range p.endpoints {
			permit, err := e.breaker.allow(r.now())
			if err != nil {
				t.Errorf("%s is wedged: %v in state %s", e.URL, err, e.breaker.stateName())
				continue
			}
			permit.report(llm.Alive)
		}
	}
}
