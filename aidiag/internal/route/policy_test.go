package route

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"netwhy/aidiag/internal/llm"
)

// two makes providers A{A1, A2} and B{B1}; A2 and B1 are good.
func two(a1 *fake, change func(*Limits, []Provider)) (*Router, []*fake) {
	fs := []*fake{a1, {steps: []step{good}}, {steps: []step{good}}}
	l := Defaults()
	ps := []Provider{provider1("A", fs[0], fs[1]), provider1("B", fs[2])}
	if change != nil {
		change(&l, ps)
	}
	return New(l, ps, nil, func() float64 { return 1 - 1e-9 }, nil), fs
}

// TestPaths is the decision table: who is asked behind which failure, and when.
func TestPaths(t *testing.T) {
	t.Parallel()
	ra := func(class llm.Class, after time.Duration) []step { return []step{failsAfter(0, class, after)} }
	for _, c := range []struct {
		name  string
		steps []step // of A1; "good" is added to none
		alone bool   // without B
		path  string
		class llm.Class
		wait  time.Duration // in all
	}{
		{"refused", []step{refused()}, false, "A1 A2 ", "", 0},
		{"transient", ra(llm.NetTransient, 0), false, "A1 A1 A2 ", "", 300 * time.Millisecond},
		{"transient once", []step{fails(llm.NetTransient), good}, false, "A1 A1 ", "", 300 * time.Millisecond},
		{"tls", ra(llm.TLS, 0), false, "A1 A2 ", "", 0},
		{"protocol", ra(llm.Protocol, 0), false, "A1 A2 ", "", 0},
		{"gateway", ra(llm.GatewayTimeout, 0), false, "A1 A2 ", "", 0},
		{"server", ra(llm.Server, 0), false, "A1 A1 B1 ", "", 300 * time.Millisecond},
		{"server, nobody else", ra(llm.Server, 0), true, "A1 A1 A2 ", "", 300 * time.Millisecond},
		{"server asks for 2 s", ra(llm.Server, 2*time.Second), false, "A1 A1 B1 ", "", 2 * time.Second},
		{"server asks for 2 min", ra(llm.Server, 2*time.Minute), false, "A1 B1 ", "", 0},
		{"server asks for 2 min, nobody else", ra(llm.Server, 2*time.Minute), true, "A1 ", llm.Server, 0},
		{"rate limit 2 s", []step{failsAfter(0, llm.RateLimit, 2*time.Second), good}, false, "A1 A1 ", "", 2200 * time.Millisecond},
		{"rate limit 2 s for ever", ra(llm.RateLimit, 2*time.Second), false, "A1 A1 B1 ", "", 2200 * time.Millisecond},
		{"rate limit 1 h", ra(llm.RateLimit, time.Hour), false, "A1 B1 ", "", 0},
		{"rate limit 1 h, nobody else", ra(llm.RateLimit, time.Hour), true, "A1 ", llm.RateLimit, 0},
		{"rate limit, no time given", ra(llm.RateLimit, 0), false, "A1 B1 ", "", 0},
		{"rate limit, no time given, nobody else", ra(llm.RateLimit, 0), true, "A1 A1 A1 ", llm.RateLimit, 3 * time.Second},
		{"rate limit 10 s, nobody else", []step{failsAfter(0, llm.RateLimit, 10*time.Second), good}, true, "A1 A1 ", "", 11 * time.Second},
		{"auth", ra(llm.Auth, 0), false, "A1 B1 ", "", 0},
		{"billing", ra(llm.Billing, 0), false, "A1 B1 ", "", 0},
		{"not found", ra(llm.NotFound, 0), false, "A1 B1 ", "", 0},
		{"auth, nobody else", ra(llm.Auth, 0), true, "A1 ", llm.Auth, 0},
		{"bad request", ra(llm.BadRequest, 0), false, "A1 ", llm.BadRequest, 0},
		{"too large, then half", []step{fails(llm.TooLarge), good}, false, "A1 A1 ", "", 0},
		{"too large, half too", ra(llm.TooLarge, 0), false, "A1 A1 ", llm.TooLarge, 0},
		{"filter", ra(llm.ContentFilter, 0), false, "A1 ", llm.ContentFilter, 0},
		{"parse", ra(llm.Parse, 0), false, "A1 A1 B1 ", "", 0},
		{"parse, nobody else", ra(llm.Parse, 0), true, "A1 A1 ", llm.Parse, 0},
		{"bad answer, mended", []step{takes(0, "bad"), good}, false, "A1 A1 ", "", 0},
		{"bad answer twice", []step{takes(0, "bad")}, false, "A1 A1 B1 ", "", 0},
		{"bad answer, nobody else", []step{takes(0, "bad")}, true, "A1 A1 ", llm.InvalidOutput, 0},
		{"local", ra(llm.Local, 0), false, "A1 ", llm.Local, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, fs := two(&fake{steps: c.steps}, nil)
				if c.alone {
					r.providers = r.providers[:1]
				}
				before := time.Now()
				res := do(t, r)
				took := time.Since(before)
				if res.Class == llm.OK {
					took -= 100 * time.Millisecond // of the good one
				}
				if got := path(res); got != c.path || res.Class != c.class {
					t.Errorf("path %s class %q, want %s %q", got, res.Class, c.path, c.class)
				}
				if d := took - c.wait; d < -time.Millisecond || d > time.Millisecond {
					t.Errorf("waited %v, want %v", took, c.wait)
				}
				for i, d := range res.Decisions {
					last := i == len(res.Decisions)-1
					if end := d.Next == Done || d.Next == Rules; end != last {
						t.Errorf("decision %d says %s", i, d.Next)
					}
				}
				if len(fs[0].qs) > 1 && fs[0].qs[1].Repair != "" && c.steps[0] == nil {
					t.Error("repair without a reason")
				}
			})
		})
	}
}

func TestTooLargeGoesWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := two(&fake{steps: []step{fails(llm.TooLarge)}}, func(_ *Limits, ps []Provider) { ps[0].Context, ps[1].Context = 8000, 128000 })
		if res := do(t, r); path(res) != "A1 B1 " || res.Half {
			t.Errorf("path %s half %t", path(res), res.Half)
		}
	})
}

func TestHoldsAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class llm.Class
		after time.Duration
		back  time.Duration // when A is asked again; 0: never
	}{
		{llm.RateLimit, time.Hour, time.Hour},
		{llm.RateLimit, 0, time.Second},
		{llm.Server, 2 * time.Minute, 2 * time.Minute},
		{llm.Auth, 0, 0},
		{llm.NotFound, 0, 0},
		{llm.Billing, 0, time.Hour},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, fs := two(&fake{steps: []step{failsAfter(0, c.class, c.after), good}}, nil)
				do(t, r)
				began := time.Now()
				if res := do(t, r); path(res) != "B1 " {
					t.Errorf("asked %s at once", path(res))
				}
				if c.back == 0 {
					time.Sleep(1000 * time.Hour)
					if res := do(t, r); path(res) != "B1 " {
						t.Errorf("asked %s", path(res))
					}
					return
				}
				time.Sleep(c.back - time.Since(began) - 200*time.Millisecond)
				do(t, r)
				if len(fs[0].asked) != 1 {
					t.Error("asked too early")
				}
				time.Sleep(time.Second)
				if res := do(t, r); path(res) != "A1 " {
					t.Errorf("asked %s behind the hold", path(res))
				}
			})
		})
	}
}

func TestEverybodyLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := &fake{steps: []step{failsAfter(0, llm.RateLimit, time.Hour)}}, &fake{steps: []step{failsAfter(0, llm.RateLimit, 2*time.Hour)}}
		r := New(Defaults(), []Provider{provider1("A", a), provider1("B", b)}, nil, nil, nil)
		before := time.Now()
		res := do(t, r)
		if res.Class != llm.RateLimit || res.RetryAt.Sub(before) != time.Hour || time.Since(before) != 0 {
			t.Errorf("got %+v", res)
		}
		if res := do(t, r); res.Class != llm.BreakerOpen || len(a.asked)+len(b.asked) != 2 {
			t.Errorf("asked again: %+v", res)
		}
	})
}

// TestNetworkGate: two cloud hosts that cannot be dialled close it; local ones
// pass; one probe opens it.
func TestNetworkGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := func() *fake { return &fake{steps: []step{refused()}} }
		fs := []*fake{dead(), dead(), dead(), dead()}
		local := provider1("L", &fake{steps: []step{good}})
		local.Local = true
		ps := []Provider{provider1("A", fs[0], fs[1]), provider1("B", fs[2], fs[3])}
		r := New(Defaults(), ps, nil, nil, nil)
		if res := do(t, r); path(res) != "A1 A2 " || !r.Paused() || !r.Status().NetDown {
			t.Errorf("path %s, want two attempts and the gate closed", path(res))
		}
		time.Sleep(10 * time.Second)
		if res := do(t, r); path(res) != "A1 " && path(res) != "A2 " || !r.Paused() {
			t.Errorf("path %s, want one probe", path(res))
		}
		time.Sleep(10 * time.Second)
		for _, f := range fs {
			f.steps = []step{good}
		}
		if res := do(t, r); res.Class != llm.OK || r.Status().NetDown {
			t.Errorf("got %+v", res)
		}

		r = New(Defaults(), append(ps[:1:1], local), nil, nil, nil)
		fs[0].steps, fs[1].steps = []step{refused()}, []step{refused()}
		if res := do(t, r); path(res) != "A1 A2 L1 " || res.Class != llm.OK {
			t.Errorf("path %s, want the local one to answer", path(res))
		}
		if res := do(t, r); path(res) != "L1 " {
			t.Errorf("path %s, want the local one alone", path(res))
		}
		r.NetworkUp()
		if r.Status().NetDown {
			t.Error("the gate did not open with the link")
		}
	})
}

// TestNetworkGateIsSure: it closes only when two hosts could not be dialled
// shortly behind one another and nothing was alive between.
func TestNetworkGateIsSure(t *testing.T) {
	t.Parallel()
	const s = int64(time.Second)
	type result struct {
		host         string
		at           int64
		alive, fault bool
	}
	for _, c := range []struct {
		name   string
		seen   []result
		closed bool
	}{
		{"two hosts", []result{{"a", s, false, true}, {"b", 2 * s, false, true}}, true},
		{"one host twice", []result{{"a", s, false, true}, {"a", 2 * s, false, true}}, false},
		{"an answer between", []result{{"a", s, false, true}, {"c", 2 * s, true, false}, {"b", 3 * s, false, true}}, false},
		{"silence between", []result{{"a", s, false, true}, {"c", 2 * s, false, false}, {"b", 3 * s, false, true}}, true},
		{"too far apart", []result{{"a", s, false, true}, {"b", 7 * s, false, true}}, false},
		{"not dialling", []result{{"a", s, false, false}, {"b", 2 * s, false, false}}, false},
	} {
		g := newNetGate(5*time.Second, 10*time.Second)
		at := int64(0)
		for _, r := range c.seen {
			g.done(r.host, r.at, false, r.alive, r.fault)
			at = r.at
		}
		if until := g.blockedUntil(at); (until > 0) != c.closed || c.closed && until != at+10*s {
			t.Errorf("%s: closed until %d", c.name, until)
		}
	}
	synctest.Test(t, func(t *testing.T) { // two that accept and never answer are no dead network
		r := New(Defaults(), []Provider{provider1("A", &fake{steps: []step{silent(2 * time.Second)}}, &fake{steps: []step{silent(2 * time.Second)}})}, nil, nil, nil)
		if do(t, r); r.Status().NetDown {
			t.Error("taken for a dead network")
		}
	})
}

// TestLearnedContext: what a model refused as too large it is not sent again.
func TestLearnedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tooLarge := func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{Status: 400, Prompt: 4000}, &llm.AttemptError{Class: llm.TooLarge, Code: "context_length_exceeded"}
		}
		r := one(&fake{steps: []step{tooLarge, good}}, func(l *Limits) { l.WholeTokens = 5500 })
		for i, attempts := range []int{2, 1} {
			if res := do(t, r); !res.Half || len(res.Decisions) != attempts {
				t.Errorf("call %d: half %t in %d attempts, want %d", i, res.Half, len(res.Decisions), attempts)
			}
		}
	})
}

// TestBulkheadHalves: also where nobody answers, and never below one.
func TestBulkheadHalves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := one(&fake{steps: []step{silent(time.Second)}}, func(l *Limits) { l.Concurrency, l.MaxParallel, l.Failures = 8, 16, 100 })
		for _, want := range []int{4, 2, 1, 1} {
			if do(t, r); r.Status().Parallel != want {
				t.Errorf("%d at once, want %d", r.Status().Parallel, want)
			}
		}
	})
}

func TestNeverFromLocalToCloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := provider1("L", &fake{steps: []step{refused()}})
		local.Local = true
		cloud := &fake{steps: []step{good}}
		r := New(Defaults(), []Provider{local, provider1("C", cloud)}, nil, nil, nil)
		if res := do(t, r); res.Class != llm.NetPersistent || len(cloud.asked) != 0 {
			t.Errorf("got %+v", res)
		}
	})
}

func TestDemotionAndSpeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, fs := two(&fake{steps: []step{silent(15 * time.Second), takes(300*time.Millisecond, "good")}}, nil)
		if res := do(t, r); path(res) != "A1 A2 " {
			t.Fatalf("path %s", path(res))
		}
		if res := do(t, r); path(res) != "A2 " {
			t.Errorf("path %s, want the demoted one last", path(res))
		}
		time.Sleep(31 * time.Second)
		if res := do(t, r); path(res) != "A1 " {
			t.Errorf("path %s, want A1 back", path(res))
		}
		if res := do(t, r); path(res) != "A2 " { // 100 ms against 300 ms
			t.Errorf("path %s, want the faster one first", path(res))
		}
		_ = fs
	})
}

// TestRetryTokens: when the bucket is empty nobody is asked twice, but once.
func TestRetryTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{fails(llm.Parse)}}
		r := one(f, func(l *Limits) { l.Failures = 1000; l.RetryTokens = 12 })
		for i, want := range []int{2, 4, 5, 6} {
			do(t, r)
			if len(f.asked) != want {
				t.Errorf("call %d: %d requests so far, want %d", i, len(f.asked), want)
			}
		}
		f.steps = []step{good}
		for range 3 {
			do(t, r)
		}
		f.steps = []step{fails(llm.Parse)}
		n := len(f.asked)
		if do(t, r); len(f.asked) != n+2 {
			t.Error("successes brought no token back")
		}
	})
}

func TestBulkhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{takes(time.Second, "good")}}
		var mu sync.Mutex
		r := one(askFunc(func(ctx context.Context, q llm.Request) (llm.Reply, error) {
			mu.Lock()
			s := f.steps[0]
			mu.Unlock()
			return s(ctx, q)
		}), nil)
		var wg sync.WaitGroup
		classes := map[llm.Class]int{}
		for range 20 {
			wg.Go(func() {
				res := do(t, r)
				mu.Lock()
				defer mu.Unlock()
				classes[res.Class]++
			})
		}
		synctest.Wait()
		if st := r.Status(); st.InUse != 2 || st.Waiting != 8 {
			t.Errorf("in use %d waiting %d, want 2 and 8", st.InUse, st.Waiting)
		}
		wg.Wait()
		if classes[llm.OK] != 10 || classes[llm.Busy] != 10 {
			t.Errorf("got %v", classes)
		}
		if st := r.Status(); st.Parallel != 3 {
			t.Errorf("limit %d after ten answers, want 3", st.Parallel)
		}
		f.steps = []step{failsAfter(0, llm.RateLimit, time.Hour)}
		do(t, r)
		if st := r.Status(); st.Parallel != 1 || st.InUse != 0 {
			t.Errorf("limit %d after 429, want 1", st.Parallel)
		}
	})
}

func TestCapabilitiesAreDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		param, message string
		check          func(llm.Caps) bool
	}{
		{"response_format", "This response_format type is unavailable now", func(c llm.Caps) bool { return c.JSON == llm.JSONObject }},
		{"", "Unknown field: stream_options", func(c llm.Caps) bool { return !c.StreamUsage }},
		{"temperature", "Unsupported value", func(c llm.Caps) bool { return !c.Temperature }},
		{"max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", func(c llm.Caps) bool { return c.MaxCompletions }},
		{"", "Extra inputs are not permitted: max_completion_tokens", func(c llm.Caps) bool { return !c.MaxCompletions && c.MaxTokens }},
	} {
		t.Run(c.message, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refuse := func(context.Context, llm.Request) (llm.Reply, error) {
					return llm.Reply{Status: 400}, &llm.AttemptError{Class: llm.BadRequest, Status: 400, Param: c.param, Message: c.message}
				}
				f := &fake{steps: []step{refuse, good}}
				r, _ := two(f, func(_ *Limits, ps []Provider) {
					ps[0].Caps = llm.Caps{JSON: llm.JSONSchema, Stream: true, StreamUsage: true, Temperature: true, MaxTokens: true}
					if c.param == "" && c.message[0] == 'E' {
						ps[0].Caps.MaxCompletions = true
					}
				})
				if res := do(t, r); path(res) != "A1 A1 " || res.Class != llm.OK || !c.check(f.qs[1].Caps) {
					t.Errorf("path %s caps %+v", path(res), f.qs[1].Caps)
				}
				do(t, r)
				if !c.check(f.qs[2].Caps) {
					t.Error("forgotten by the next call")
				}
			})
		})
	}
}

func TestQuotaAndInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{steps: []step{good}}
		spent := false
		r := New(Defaults(), []Provider{provider1("A", f)}, func() error {
			if spent {
				return errors.New("60 requests an hour are used up")
			}
			return nil
		}, nil, nil)
		do(t, r)
		spent = true
		if res := do(t, r); res.Class != llm.Quota || len(f.asked) != 1 {
			t.Errorf("got %+v", res)
		}
		spent = false
		f.steps = []step{failsAfter(0, llm.RateLimit, 20*time.Second)}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		before := time.Now()
		if res := r.Do(ctx, call()); res.Class != llm.ClientAbort || time.Since(before) > 1010*time.Millisecond {
			t.Errorf("after %v: %+v", time.Since(before), res)
		}
	})
}
