package aidiag

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
)

// scenario is one of the sixteen of the public Failover Bench, re-implemented
// from its catalogue: a primary provider with a fault, a healthy secondary, and
// what a client has to do.
type scenario struct {
	id, name string
	primary  []faulttest.Fault
	change   func(w *world)
	path     string
	check    func(t *testing.T, w *world, a Answer)
}

func scenarios() []scenario {
	limited := faulttest.Error(429, "rate_limit_error", "", "", "Retry-After-Ms: 200")
	broken := faulttest.Error(http.StatusServiceUnavailable, "", "", "")
	return []scenario{
		{id: "S01", name: "429 with Retry-After, once", primary: []faulttest.Fault{limited, faulttest.Healthy()}, path: "A1 A1", check: func(t *testing.T, w *world, _ Answer) {
			t.Helper()
			r := w.a1.Requests()
			if len(r) != 2 {
				return // the path is wrong already
			}
			if wait := r[1].At.Sub(r[0].At); wait < 200*time.Millisecond {
				t.Errorf("asked again behind %v, before it was invited", wait)
			}
		}},
		{id: "S02", name: "429 for ever", primary: one(limited), path: "A1 A1 B1"},
		{id: "S03", name: "500 once", primary: []faulttest.Fault{faulttest.Error(500, "", "", ""), faulttest.Healthy()}, path: "A1 A1"},
		{id: "S04", name: "503 for ever", primary: one(broken), path: "A1 A1 B1"},
		{id: "S05", name: "reset before the header", primary: []faulttest.Fault{faulttest.ResetNow(), faulttest.Healthy()}, path: "A1 A1"},
		{id: "S06", name: "no response", primary: one(faulttest.Silent()), path: "A1 B1", check: func(t *testing.T, w *world, _ Answer) {
			t.Helper()
			if n := len(w.a1.Requests()); n != 1 {
				t.Errorf("waited for it %d times", n)
			}
		}},
		{id: "S07", name: "first token too late", primary: one(faulttest.HeadersOnly()), path: "A1 B1"},
		{id: "S08", name: "stream cut", primary: one(faulttest.Cut(faulttest.Delta(`{"summary":"half`), true)), path: "A1 A1 B1", check: wholeAnswer},
		{id: "S09", name: "stream stalls", primary: one(faulttest.Stalled(faulttest.Delta(`{"summary":"half`))), path: "A1 B1", check: wholeAnswer},
		{id: "S10", name: "malformed chunk", primary: events(faulttest.Delta(`{"summary":"half`) + "data: {\"choices\":[{\"del\n\n" + faulttest.Finish("stop") + faulttest.Done), path: "A1 A1 B1", check: wholeAnswer},
		{id: "S11", name: "no [DONE]", primary: one(faulttest.Func(func(r faulttest.Request) faulttest.Fault {
			return faulttest.Stalled(faulttest.Delta(honest(r)) + faulttest.Finish("stop"))
		})), path: "A1"},
		{id: "S12", name: "context length", primary: one(faulttest.Error(400, "invalid_request_error", "context_length_exceeded", "maximum context length")), change: func(w *world) { w.cfg.Providers[1].ContextTokens = 100_000 }, path: "A1 B1"},
		{id: "S13", name: "content filter", primary: one(faulttest.Error(400, "", "content_filter", "filtered")), path: "A1", check: func(t *testing.T, w *world, a Answer) {
			t.Helper()
			if a.State != FellBack || !strings.Contains(a.Reason, "declined") || len(w.b1.Requests()) > 0 {
				t.Errorf("got %s: %s", a.State, a.Reason)
			}
		}},
		{id: "S14", name: "no prefill", primary: one(faulttest.Cut(faulttest.Delta(`{"summary":"half`), false)), path: "A1 A1 B1", check: func(t *testing.T, w *world, _ Answer) {
			t.Helper()
			for _, r := range append(w.a1.Requests(), w.b1.Requests()...) {
				if strings.Contains(string(r.Body), `"role":"assistant"`) {
					t.Error("a part of an answer was sent back to be continued")
				}
			}
		}},
		{id: "S16", name: "accounting", primary: one(broken), path: "A1 A1 B1", check: func(t *testing.T, w *world, a Answer) {
			t.Helper()
			if a.Provider != "B" || a.Endpoint != w.b1.URL() || a.Model != "fault-1" || a.Tokens != (Tokens{Prompt: 700, Completion: 90}) {
				t.Errorf("booked on %s %s %s %+v", a.Provider, a.Endpoint, a.Model, a.Tokens)
			}
		}},
	}
}

func wholeAnswer(t *testing.T, _ *world, a Answer) {
	t.Helper()
	if a.Provider != "B" || strings.Contains(a.Diagnosis.Title, "half") {
		t.Errorf("a part shows: %+v", a.Diagnosis)
	}
}

// TestFailoverBench: sixteen of sixteen (S15 below).
func TestFailoverBench(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		t.Run(s.id+"-"+strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s.primary...)
			w.cfg.Providers[0].Endpoints = w.cfg.Providers[0].Endpoints[:1]
			if s.path == "A1 B1" { // who waits too long for the primary
				w.hurry()
			}
			if s.change != nil {
				s.change(w)
			}
			c := testCase("D1")
			a := ask(t, w.run(), c)
			w.complete(c, a)
			if path, classes, _ := w.path(a.Decisions); path != s.path {
				t.Errorf("%s (%s), want %s", path, classes, s.path)
			}
			if a.State != Answered && s.id != "S13" {
				t.Errorf("got %s: %s", a.State, a.Reason)
			}
			if s.check != nil {
				s.check(t, w, a)
			}
		})
	}
}

// TestFailoverBenchS15: the primary is down for a while and comes back, at ten
// times the speed: every call is served, the primary is asked seldom while it is
// down, and it is back soon behind its return.
func TestFailoverBenchS15(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	down, asked := true, 0
	w := newWorld(t, faulttest.Func(func(r faulttest.Request) faulttest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if down {
			asked++
			return faulttest.Error(http.StatusServiceUnavailable, "", "", "")
		}
		return faulttest.Text(honest(r))
	}))
	w.cfg.Providers[0].Endpoints = w.cfg.Providers[0].Endpoints[:1]
	const open = 150 * time.Millisecond
	w.opens(open)
	e := w.run()
	served, began := 0, time.Now()
	for i := range 15 {
		a := ask(t, e, testCase(fmt.Sprintf("D%d", i+1)))
		if a.State == Answered {
			served++
		}
		time.Sleep(40 * time.Millisecond)
	}
	mu.Lock()
	down = false
	n, took := asked, time.Since(began)
	mu.Unlock()
	if served != 15 {
		t.Errorf("%d of 15 served", served)
	}
	// Three trip it; then a probe for each open time that passed, of which the
	// first is as long as said, less a fifth of jitter, and the others double.
	if most := 3 + 1 + int((took-open*4/5)/(2*open*4/5)); n > max(most, 4) {
		t.Errorf("%d attempts at the primary while it was down for %v, want at most %d", n, took, most)
	}
	await(t, "the primary again", func() bool { return ask(t, e, testCase("D99")).Provider == "A" })
	if st := e.Status().Router; st.Attempts[llm.OK] == 0 {
		t.Errorf("counters: %+v", st.Attempts)
	}
}

// TestShouldRetryIsHonoured: a provider that says no is not asked twice, and one
// that says yes is, once.
func TestShouldRetryIsHonoured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		faults []faulttest.Fault
		path   string
	}{
		{one(faulttest.Error(500, "", "", "", "X-Should-Retry: false")), "A1 B1"},
		{[]faulttest.Fault{faulttest.Error(400, "", "", "", "X-Should-Retry: true"), faulttest.Healthy()}, "A1 A1"},
		{one(faulttest.Error(400, "", "", "", "X-Should-Retry: true")), "A1 A1"},
	} {
		w := newWorld(t, c.faults...)
		if path, _, _ := w.path(ask(t, w.run(), testCase("D1")).Decisions); path != c.path {
			t.Errorf("path %s, want %s", path, c.path)
		}
	}
}

// TestServerThatDoesNotStream: one document where a stream was asked for is the
// next question's answer, and no stream is asked for again.
func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Func(func(r faulttest.Request) faulttest.Fault {
		if strings.Contains(string(r.Body), `"stream":true`) {
			return faulttest.JSON(200, `{"choices":[]}`)
		}
		return faulttest.Text(honest(r))
	}))
	w.lonely(0)
	e := w.run()
	for i, want := range []string{"protocol ok", "ok"} {
		a := ask(t, e, testCase("D1"))
		if _, classes, _ := w.path(a.Decisions); classes != want || a.State != Answered || a.Tokens.Completion != 90 {
			t.Errorf("case %d: %s, %s: %s", i, classes, a.State, a.Reason)
		}
	}
}
