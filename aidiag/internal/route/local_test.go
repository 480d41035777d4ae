package route

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"netwhy/aidiag/internal/llm"
)

// mixed makes a cloud provider and a local one behind it, with one endpoint each.
func mixed(cloud, local Asker, change func(*Limits, []Provider)) *Router {
	l := Defaults()
	ps := []Provider{
		{Name: "C", Model: "m", FirstByte: 15 * time.Second, Targets: []Target{{URL: "https://c1", Host: "c1", Asker: cloud}}},
		{Name: "L", Model: "m", FirstByte: 120 * time.Second, Local: true, Targets: []Target{{URL: "https://l1", Host: "l1", Asker: local}}},
	}
	if change != nil {
		change(&l, ps)
	}
	return New(l, ps, nil, func() float64 { return 1 - 1e-9 }, nil)
}

// TestOpenTimesByKind: in one run the cloud's breaker opens for 15 s and the
// local one for 5 s, and both grow to 30 s.
func TestOpenTimesByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := func() *fake { return &fake{steps: []step{fails(llm.Protocol)}} }
		l := Defaults()
		cloud, local := provider1("C", dead()), provider1("L", dead())
		local.Local = true
		r := New(l, []Provider{cloud, local}, nil, func() float64 { return 0 }, nil)
		for range 3 {
			do(t, r)
		}
		until := func(i int) time.Duration { return time.Until(r.Status().Endpoints[i].Until) }
		if c, l := until(0), until(1); c != 15*time.Second || l != 5*time.Second {
			t.Fatalf("open for %v in the cloud, %v here; want 15 s and 5 s", c, l)
		}
		began := time.Now()
		for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			time.Sleep(until(1) + time.Millisecond)
			if do(t, r); until(1) != want {
				t.Errorf("local: open for %v behind %v, want %v", until(1), time.Since(began), want)
			}
		}
		if c := until(0); c <= 0 || c > 30*time.Second {
			t.Errorf("cloud: open for %v, want at most 30 s", c)
		}
	})
}

// TestOpenTimesDiffer: up to a fifth less, so that many instances do not probe in
// step.
func TestOpenTimesDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for rnd, want := range map[float64]time.Duration{0: 15 * time.Second, 0.5: 13500 * time.Millisecond, 1: 12 * time.Second} {
			r := New(Defaults(), []Provider{provider1("C", &fake{steps: []step{fails(llm.Protocol)}})}, nil, func() float64 { return rnd }, nil)
			if trip(t, r); time.Until(r.RetryAt()) != want {
				t.Errorf("open for %v, want %v", time.Until(r.RetryAt()), want)
			}
		}
	})
}

// TestLocalPaths: what differs from the cloud where a local server fails: the
// waits, the number of tries, and that no Retry-After is waited out while
// somebody else can be asked.
func TestLocalPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		steps  []step
		second bool // another local provider stands behind
		path   string
		class  llm.Class
		wait   time.Duration
	}{
		{"transient", []step{fails(llm.NetTransient)}, false, "L1 L1 ", llm.NetTransient, 200 * time.Millisecond},
		{"loading its model", []step{failsAfter(0, llm.Server, 0), good}, false, "L1 L1 ", llm.OK, 200 * time.Millisecond},
		{"rate limit 2 s", []step{failsAfter(0, llm.RateLimit, 2*time.Second)}, true, "L1 M1 ", llm.OK, 0},
		{"rate limit 2 s, nobody else", []step{failsAfter(0, llm.RateLimit, 2*time.Second)}, false, "L1 L1 L1 ", llm.RateLimit, 4400 * time.Millisecond},
		{"three tries in all", []step{failsAfter(0, llm.Server, 0)}, true, "L1 L1 M1 ", llm.OK, 200 * time.Millisecond},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local := provider1("L", &fake{steps: c.steps})
				local.Local = true
				ps := []Provider{local}
				if c.second {
					other := provider1("M", &fake{steps: []step{good}})
					other.Local = true
					ps = append(ps, other)
				}
				r := New(Defaults(), ps, nil, func() float64 { return 1 - 1e-9 }, nil)
				before := time.Now()
				res := do(t, r)
				took := time.Since(before)
				if res.Class == llm.OK {
					took -= 100 * time.Millisecond
				}
				if path(res) != c.path || res.Class != c.class {
					t.Errorf("%s %q, want %s %q", path(res), res.Class, c.path, c.class)
				}
				if d := took - c.wait; d < -time.Millisecond || d > time.Millisecond {
					t.Errorf("waited %v, want %v", took, c.wait)
				}
			})
		})
	}
}

// TestBackoffIsCapped: full jitter up to the doubled base, and never above the
// cap of the kind of provider.
func TestBackoffIsCapped(t *testing.T) {
	t.Parallel()
	r := mixed(nil, nil, nil)
	c := &asking{r: r}
	for i, want := range [][]time.Duration{
		{300 * time.Millisecond, 600 * time.Millisecond, 10 * time.Second, 10 * time.Second},
		{200 * time.Millisecond, 400 * time.Millisecond, 5 * time.Second, 5 * time.Second},
	} {
		for k, tries := range []int{1, 2, 9, 1000} {
			got := c.backoff(&attempt{p: r.providers[i], tries: tries})
			if got > want[k] || got < want[k]-time.Millisecond {
				t.Errorf("%s: %v behind try %d, want %v", r.providers[i].Name, got, tries, want[k])
			}
		}
	}
}

// TestSlotsByKind: the providers of the cloud share their slots, a local one has
// one of its own.
func TestSlotsByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most := map[string]int{}, map[string]int{}
		asker := func(name string, s step) Asker {
			return askFunc(func(ctx context.Context, q llm.Request) (llm.Reply, error) {
				mu.Lock()
				under[name]++
				most[name] = max(most[name], under[name])
				mu.Unlock()
				defer func() {
					mu.Lock()
					under[name]--
					mu.Unlock()
				}()
				return s(ctx, q)
			})
		}
		r := mixed(asker("C", failsAfter(time.Second, llm.Parse, 0)), asker("L", takes(time.Second, "good")), func(l *Limits, _ []Provider) {
			l.Failures = 100
		})
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if res := do(t, r); res.Class != llm.OK || res.Provider != "L" {
					t.Errorf("got %+v", res)
				}
			})
		}
		wg.Wait()
		if most["C"] != 2 || most["L"] != 1 {
			t.Errorf("%v requests at once, want 2 in the cloud and 1 here", most)
		}
		if st := r.Status(); st.InUse != 0 || st.Waiting != 0 || st.Parallel != 3 {
			t.Errorf("slots: %+v", st)
		}
	})
}

// TestTimeByKind: a call has a minute in the cloud, and three here, in which a
// local server may load its model; the cloud's time is no local provider's end.
func TestTimeByKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		deadline time.Duration // that the user set
		local    time.Duration // that the local server takes
		class    llm.Class
		path     string
		took     time.Duration
	}{
		{"by kind", 0, 100 * time.Second, llm.OK, "c1 l1 ", 160 * time.Second},
		{"by kind, too slow", 0, 150 * time.Second, llm.ClientAbort, "c1 l1 ", 180 * time.Second},
		{"by the user", 30 * time.Second, time.Second, llm.ClientAbort, "c1 ", 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := mixed(&fake{steps: []step{takes(time.Hour, "good")}}, &fake{steps: []step{takes(c.local, "good")}}, func(l *Limits, _ []Provider) {
					if c.deadline > 0 {
						l.Deadline, l.Local.Deadline = c.deadline, c.deadline
					}
				})
				before := time.Now()
				res := do(t, r)
				if took := time.Since(before); path(res) != c.path || res.Class != c.class || took != c.took {
					t.Errorf("%s (%s) in %v, want %s (%s) in %v", path(res), res.Class, took, c.path, c.class, c.took)
				}
				if res.Class != llm.OK && res.Detail != detailBudget {
					t.Errorf("detail %q", res.Detail)
				}
			})
		})
	}
}

// TestWaitingCostsNoTime: the time of a call begins with its slot.
func TestWaitingCostsNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := provider1("L", &fake{steps: []step{takes(100*time.Second, "good")}})
		local.Local = true
		r := New(Defaults(), []Provider{local}, nil, nil, nil)
		var wg sync.WaitGroup
		for range 4 { // one behind the other: the last is asked behind 300 s
			wg.Go(func() {
				if res := do(t, r); res.Class != llm.OK {
					t.Errorf("got %+v", res)
				}
			})
		}
		wg.Wait()
	})
}

// TestClosedWhileWaiting: who waited for a slot while the last endpoint was
// closed sends nothing.
func TestClosedWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		local := Provider{Name: "L", Model: "m", Local: true, FirstByte: time.Second, Targets: []Target{{URL: "https://l1", Host: "l1", Asker: askFunc(
			func(ctx context.Context, q llm.Request) (llm.Reply, error) {
				asked++
				return failsAfter(time.Second, llm.Auth, 0)(ctx, q)
			})}}}
		r := New(Defaults(), []Provider{local}, nil, nil, nil)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { do(t, r) })
		}
		wg.Wait()
		if asked != 1 {
			t.Errorf("%d requests with a key that is refused", asked)
		}
	})
}

// TestSmallModels: a model without room for a whole case is sent half of it from
// the start.
func TestSmallModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			context int
			half    bool
		}{{0, false}, {2048, true}, {8192, false}} {
			p := provider1("L", &fake{steps: []step{good}})
			p.Local, p.Context = true, c.context
			l := Defaults()
			l.WholeTokens = 5500
			r := New(l, []Provider{p}, nil, nil, nil)
			if res := do(t, r); res.Half != c.half || len(res.Decisions) != 1 {
				t.Errorf("context %d: half %t in %d attempts", c.context, res.Half, len(res.Decisions))
			}
		}
	})
}

// TestSpent: what was thought is counted, also where the answer broke off.
func TestSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broke := func(context.Context, llm.Request) (llm.Reply, error) {
			return llm.Reply{Status: 200, Prompt: 700}, &llm.AttemptError{Class: llm.Parse}
		}
		r := one(&fake{steps: []step{broke, good, fails(llm.NetTransient)}}, nil)
		if res := do(t, r); res.Class != llm.OK || res.Spent != 700+15 || res.Prompt != 10 {
			t.Errorf("spent %d, the answer alone %d", res.Spent, res.Prompt)
		}
		if res := do(t, r); res.Spent != 0 {
			t.Errorf("spent %d with nobody", res.Spent)
		}
	})
}
