package route

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"netwhy/aidiag/internal/llm"
)

// one makes a router with a single endpoint, no jitter.
func one(f Asker, change func(*Limits)) *Router {
	l := Defaults()
	if change != nil {
		change(&l)
	}
	p := Provider{Name: "A", Model: "m", FirstByte: 15 * time.Second, Targets: []Target{{URL: "https://a", Host: "a", Asker: f}}}
	return New(l, []Provider{p}, nil, func() float64 { return 0 }, nil)
}

type askFunc func(ctx context.Context, q llm.Request) (llm.Reply, error)

func (f askFunc) Ask(ctx context.Context, q llm.Request) (llm.Reply, error) { return f(ctx, q) }

// trip makes three calls fail, which opens the breaker.
func trip(t *testing.T, r *Router) {
	t.Helper()
	for range 3 {
		if r.Paused() {
			t.Fatal("open too early")
		}
		do(t, r)
	}
	if !r.Paused() {
		t.Fatal("three failures did not open the breaker")
	}
}

func TestTripAndFallBackAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Protocol)}}
		r := one(f, nil)
		trip(t, r)
		asked, before := len(f.asked), time.Now()
		for range 100 {
			res := do(t, r)
			if res.Class != llm.BreakerOpen || len(res.Decisions) != 0 {
				t.Fatalf("got %+v", res)
			}
			if got, want := res.RetryAt.Sub(before), 15*time.Second; got != want {
				t.Fatalf("retry in %v, want %v", got, want)
			}
		}
		if len(f.asked) != asked {
			t.Error("something was sent while open")
		}
		if time.Now() != before {
			t.Error("the fall back waited")
		}
	})
}

// TestOneProbe: behind the open time, 1,000 callers at once make one request.
func TestOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		healthy := false
		r := one(askFunc(func(ctx context.Context, q llm.Request) (llm.Reply, error) {
			asked.Add(1)
			if healthy {
				return takes(time.Second, "good")(ctx, q)
			}
			return fails(llm.Server)(ctx, q)
		}), func(l *Limits) { l.Waiting = 2000; l.RetryTokens = 0 })
		trip(t, r)
		healthy = true
		time.Sleep(15*time.Second + time.Millisecond)
		asked.Store(0)
		var wg sync.WaitGroup
		var answered, fell atomic.Int64
		for range 1000 {
			wg.Go(func() {
				if res := do(t, r); res.Class == llm.OK {
					answered.Add(1)
				} else {
					fell.Add(1)
				}
			})
		}
		synctest.Wait()
		inFlight := asked.Load()
		wg.Wait()
		if inFlight != 1 {
			t.Errorf("%d requests at half-open, want 1", inFlight)
		}
		if answered.Load() < 1 || answered.Load()+fell.Load() != 1000 {
			t.Errorf("%d answered, %d fell back", answered.Load(), fell.Load())
		}
		if r.Status().Endpoints[0].State != "closed" {
			t.Error("a good probe did not close the breaker")
		}
	})
}

func TestProbeFailsAndTimeGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Protocol)}}
		r := one(f, nil)
		trip(t, r)
		for i, want := range []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second} {
			time.Sleep(time.Until(r.RetryAt()) + time.Millisecond)
			before, n := time.Now(), len(f.asked)
			res := do(t, r)
			if len(f.asked) != n+1 || res.Decisions[0].Breaker != "open" {
				t.Fatalf("probe %d: %+v", i, res.Decisions)
			}
			if got := res.RetryAt.Sub(before); got != want {
				t.Errorf("probe %d: open for %v, want %v", i, got, want)
			}
		}
		// A success closes and forgets the growth.
		f.steps = []step{good, fails(llm.Protocol)}
		time.Sleep(time.Until(r.RetryAt()) + time.Millisecond)
		if res := do(t, r); res.Class != llm.OK {
			t.Fatalf("got %+v", res)
		}
		trip(t, r)
		if got := time.Until(r.RetryAt()); got != 15*time.Second {
			t.Errorf("open for %v after it healed, want 15 s", got)
		}
	})
}

func TestCancelledProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Protocol), fails(llm.Protocol), fails(llm.Protocol), takes(10*time.Second, "good"), good}}
		r := one(f, nil)
		trip(t, r)
		time.Sleep(16 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		if res := r.Do(ctx, call()); res.Class != llm.ClientAbort || res.Decisions[0].Counted {
			t.Fatalf("got %+v", res)
		}
		st := r.Status().Endpoints[0]
		if st.State != "half-open" {
			t.Errorf("a cancelled probe moved the breaker to %s", st.State)
		}
		if res := do(t, r); res.Class != llm.OK { // not wedged: the next caller probes
			t.Errorf("got %+v", res)
		}
	})
}

// TestHungProbe: a probe that is never answered ends by the shorter limit, and
// is a failure.
func TestHungProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Protocol), fails(llm.Protocol), fails(llm.Protocol), silent(15 * time.Second)}}
		r := one(f, nil)
		trip(t, r)
		time.Sleep(16 * time.Second)
		before := time.Now()
		res := do(t, r)
		if took := time.Since(before); took != 5*time.Second || res.Decisions[0].Breaker != "open" {
			t.Errorf("took %v: %+v", took, res.Decisions)
		}
	})
}

// TestStaleResults: what began before the trip changes nothing after it, in
// either direction.
func TestStaleResults(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]step{
		"success": takes(5*time.Second, "good"),
		"failure": failsAfter(5*time.Second, llm.Protocol, 0),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{steps: []step{late, fails(llm.Protocol)}}
				r := one(f, nil)
				var wg sync.WaitGroup
				wg.Go(func() { do(t, r) })
				synctest.Wait()
				trip(t, r)
				at := r.RetryAt()
				wg.Wait() // the late result arrives while open
				if !r.Paused() || !r.RetryAt().Equal(at) {
					t.Errorf("open until %v, was %v", r.RetryAt(), at)
				}
				// And one that began while closed and ends in half-open.
				f.steps = []step{good}
				time.Sleep(16 * time.Second)
				if res := do(t, r); res.Class != llm.OK {
					t.Errorf("got %+v", res)
				}
			})
		})
	}
}

// TestPanicAndGoexit: permit and slot come back whatever the attempt does.
func TestPanicAndGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{
			func(context.Context, llm.Request) (llm.Reply, error) { panic(errTest) },
			func(context.Context, llm.Request) (llm.Reply, error) { runtime.Goexit(); return llm.Reply{}, nil },
			good,
		}}
		r := one(f, func(l *Limits) { l.Concurrency, l.MaxParallel = 1, 1 })
		if res := do(t, r); res.Class != llm.Internal || !res.Decisions[0].Counted {
			t.Errorf("got %+v", res)
		}
		var wg sync.WaitGroup
		wg.Go(func() { do(t, r) })
		wg.Wait()
		if st := r.Status(); st.InUse != 0 || st.Failures != 2 {
			t.Errorf("got %+v", st)
		}
		if res := do(t, r); res.Class != llm.OK {
			t.Errorf("got %+v", res)
		}
	})
}

// TestNeutralDoesNotCount: an aborted call and the first passing fault leave the
// breaker as it was; 4xx reset it.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class   llm.Class
		counted int64 // in three calls
	}{
		{llm.NetPersistent, 3},
		{llm.TLS, 3},
		{llm.Protocol, 3},
		{llm.GatewayTimeout, 3},
		{llm.Server, 4},       // two tries a call, then the third failure trips it
		{llm.NetTransient, 3}, // the second try of a call
		{llm.Parse, 3},
		{llm.BadRequest, 0},
		{llm.ContentFilter, 0},
		{llm.TooLarge, 0},
		{llm.RateLimit, 0},
		{llm.Auth, 0},
		{llm.Billing, 0},
		{llm.NotFound, 0},
		{llm.Local, 0},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{steps: []step{fails(c.class)}}
				r := one(f, func(l *Limits) { l.NetClosed = 0 })
				for range 3 {
					do(t, r)
				}
				st := r.Status()
				if st.Failures != c.counted && (c.class != llm.Server || st.Failures != 3) {
					t.Errorf("%d counted, want %d", st.Failures, c.counted)
				}
				if open := st.Endpoints[0].State == "open"; open != (c.counted >= 3) {
					t.Errorf("state %s", st.Endpoints[0].State)
				}
			})
		})
	}
}

// TestSuspend: a machine that slept for an hour finds the gate open once and
// everything else as it was.
func TestSuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Protocol), fails(llm.Protocol), fails(llm.Protocol), good}}
		r := one(f, nil)
		trip(t, r)
		time.Sleep(time.Hour)
		if res := do(t, r); res.Class != llm.OK || len(f.asked) != 4 {
			t.Errorf("got %+v after %d", res, len(f.asked))
		}
	})
}

// TestShortDeadlines: a caller whose own deadline is shorter than our limit for
// the first byte must not keep a dead endpoint alive for ever.
func TestShortDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
			<-ctx.Done()
			return llm.Reply{Took: 6 * time.Second}, &llm.AttemptError{Class: llm.ClientAbort, Err: context.Cause(ctx)}
		}}}
		r := one(f, func(l *Limits) { l.Deadline = 6 * time.Second })
		for range 3 {
			if res := do(t, r); res.Class != llm.ClientAbort || res.Detail != "budget" {
				t.Fatalf("got %+v", res)
			}
		}
		if !r.Paused() {
			t.Error("the breaker never opened")
		}
	})
}

func TestOpenPathAllocatesNothing(t *testing.T) {
	f := &fake{steps: []step{fails(llm.Protocol)}}
	r := one(f, nil)
	trip(t, r)
	ctx, q := t.Context(), call()
	if n := testing.AllocsPerRun(1000, func() {
		if r.Do(ctx, q).Class != llm.BreakerOpen {
			t.Fatal("not open")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOpenPath(b *testing.B) {
	r := one(&fake{steps: []step{fails(llm.Protocol)}}, func(l *Limits) { l.Open, l.OpenMax = time.Hour, time.Hour })
	q := call()
	for range 3 {
		r.Do(b.Context(), q)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if r.Do(ctx, q).Class != llm.BreakerOpen {
			b.Fatal("not open")
		}
	}
}
