package aidiag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
	"netwhy/analyze/finding"
)

// lonely leaves provider A with its one endpoint A1.
func (w *world) lonely(open time.Duration) {
	w.cfg.Providers = w.cfg.Providers[:1]
	w.cfg.Providers[0].Endpoints = w.cfg.Providers[0].Endpoints[:1]
	w.opens(open)
}

// opens sets how long a breaker stays open: at first, and never more than twice
// that. 0 is the default.
func (w *world) opens(open time.Duration) {
	w.cfg.Breaker.Open = open
	if open == 0 {
		return
	}
	tune := w.deps.tune
	w.deps.tune = func(l *route.Limits) {
		tune(l)
		l.OpenMax, l.Local.OpenMax = 2*open, 2*open
	}
}

// Row 73: Ctrl-C while a request is under way, and cases behind it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Silent())
	w.deps.times = func(_ string, t *llm.Timeouts) { *t = patient; t.FirstByte, t.Attempt = time.Hour, time.Hour }
	e := w.engine()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	const cases = 20
	for i := range cases {
		if back := e.Submit(testCase(fmt.Sprintf("D%d", i+1))); len(back) > 0 {
			t.Fatal(back)
		}
	}
	go func() { ended <- e.Run(ctx) }()
	for len(w.a1.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	why := errors.New("ctrl-c")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("Run returned %v", err)
	}
	n := 0
	for a := range e.Answers() {
		n++
		if a.State != FellBack || a.Reason != "interrupted" || a.Class != llm.ClientAbort {
			t.Errorf("got %+v", a)
		}
		for _, d := range a.Decisions {
			if d.Counted {
				t.Error("an interrupt was counted as a failure")
			}
		}
	}
	if n != cases {
		t.Errorf("%d answers, want %d", n, cases)
	}
	if back := e.Submit(testCase("D99")); len(back) != 1 || back[0].State != FellBack {
		t.Errorf("a case behind the end was lost: %+v", back)
	}
	if err := e.Run(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("ran twice: %v", err)
	}
}

// Row 74: our own time for the case is over.
func TestTookTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Silent())
	w.cfg.Deadline = time.Second
	w.deps.times = func(_ string, t *llm.Timeouts) { *t = patient; t.FirstByte = time.Hour }
	e, c := w.run(), testCase("D1")
	a := ask(t, e, c)
	w.complete(c, a)
	if path, classes, counted := w.path(a.Decisions); path != "A1" || classes != "client_abort" || counted != 0 || a.Reason != "AI took too long" {
		t.Errorf("%s (%s) %d: %s", path, classes, counted, a.Reason)
	}
}

// Rows 75 and 77: three failures trip it; then no socket is opened; a failed
// probe opens it again; a good one closes it.
func TestBreakerOnRealSockets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.HTML(200))
	w.lonely(300 * time.Millisecond)
	e := w.run()
	for i := range 3 {
		if a := ask(t, e, testCase("D1")); a.Class != llm.Protocol {
			t.Fatalf("case %d: %+v", i, a)
		}
	}
	accepted := w.a1.Accepted()
	for range 50 {
		c := testCase("D2")
		a := ask(t, e, c)
		w.complete(c, a)
		if a.Class == llm.Protocol {
			continue // the machine was slow: this was the probe
		}
		if a.Class != llm.BreakerOpen || len(a.Decisions) != 0 || !strings.HasPrefix(a.Reason, "AI paused until ") || !strings.Contains(a.Reason, "A unreachable") {
			t.Fatalf("got %+v", a)
		}
	}
	if got := w.a1.Accepted(); got > accepted+1 {
		t.Errorf("%d connections while open", got-accepted)
	}
	w.a1.Script(faulttest.Healthy())
	for range 100 {
		if ask(t, e, testCase("D3")).State == Answered {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if st := e.Status().Router.Endpoints[0]; st.State != "closed" || st.Trips == 0 {
		t.Errorf("did not heal: %+v", st)
	}
	if !w.said("AI paused until") || !w.said("AI answers again") {
		t.Errorf("lines: %v", w.events)
	}
}

// Row 76: behind the open time a thousand cases at once make one request.
func TestOneProbeForAThousandCases(t *testing.T) {
	t.Parallel()
	const cases = 1000
	w := newWorld(t, faulttest.HTML(200))
	w.lonely(200 * time.Millisecond)
	w.cfg.Queue, w.cfg.Concurrency = cases, 8
	e := w.engine()
	var wg sync.WaitGroup
	wg.Go(func() { _ = e.Run(t.Context()) })
	for range 3 {
		ask(t, e, testCase("D1"))
	}
	var under, most, total atomic.Int32
	release := make(chan struct{})
	w.a1.Script(faulttest.Func(func(r faulttest.Request) faulttest.Fault {
		total.Add(1)
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-release
		under.Add(-1)
		return faulttest.Text(honest(r))
	}))
	time.Sleep(250 * time.Millisecond)
	atProbe := make(chan int32, 1)
	go func() {
		for total.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // time for a second one to show
		atProbe <- total.Load()
		close(release)
	}()
	sent := 0
	for i := range cases {
		if back := e.Submit(testCase(fmt.Sprintf("D%d", i+1))); len(back) == 0 {
			sent++
		}
	}
	answered := 0
	for range sent {
		if a := <-e.Answers(); a.State == Answered {
			answered++
		}
	}
	if n := <-atProbe; n != 1 {
		t.Errorf("%d requests at half-open, want 1", n)
	}
	if sent != cases || answered == 0 {
		t.Errorf("%d sent, %d answered", sent, answered)
	}
	e.Finish()
	wg.Wait()
}

// Row 82: everything is dead at a cold start: two hosts are enough to know.
func TestOwnNetworkDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Providers[0].Endpoints = []string{"https://a1.test/v1", "https://a2.test/v1", "https://a3.test/v1"}
	w.cfg.Providers[1].Endpoints = []string{"https://b1.test/v1"}
	dials := atomic.Int32{}
	w.deps.Dial = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}
	}
	e, c := w.run(), testCase("D1")
	a := ask(t, e, c)
	w.complete(c, a)
	if len(a.Decisions) != 2 || dials.Load() != 2 || !e.Status().Router.NetDown {
		t.Errorf("%d dials: %+v", dials.Load(), a.Decisions)
	}
	if a := ask(t, e, c); a.Class != llm.BreakerOpen || !strings.Contains(a.Reason, "own network down") || dials.Load() != 2 {
		t.Errorf("got %+v", a)
	}
}

// Row 83 and the avalanche: a provider that accepts and never answers, and a
// hundred times more cases than fit. Nobody waits, nothing is lost, and what is
// held is bounded by the configuration.
func TestAvalanche(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Silent())
	w.lonely(15 * time.Second)
	w.cfg.Queue = 8
	w.cfg.Deadline = 2 * time.Second
	e := w.engine()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	before := runtime.NumGoroutine()
	severe := 0
	seen := map[string]bool{}
	took := time.Duration(0)
	const cases = 5000
	for i := range cases {
		c := testCase(fmt.Sprintf("D%d", i+1))
		if i%100 == 99 {
			c.Local.Severity = finding.Critical
		} else {
			c.Local.Severity = finding.Warning
		}
		at := time.Now()
		back := e.Submit(c)
		took += time.Since(at)
		for _, a := range back {
			if a.Reason != "AI busy" || a.State != FellBack || seen[a.Case] {
				t.Fatalf("got %+v", a)
			}
			seen[a.Case] = true
			if a.Local.Severity == finding.Critical {
				severe++
			}
		}
	}
	if n := runtime.NumGoroutine() - before; n > 200 {
		t.Errorf("%d goroutines more", n)
	}
	if got := w.a1.Accepted(); got > route.Defaults().MaxParallel {
		t.Errorf("%d connections", got)
	}
	if took > time.Second { // 200 µs each; it takes about 5
		t.Errorf("submitting took %v", took)
	}
	cancel()
	<-ended
	for a := range e.Answers() {
		if seen[a.Case] {
			t.Errorf("%s answered twice", a.Case)
		}
		seen[a.Case] = true
	}
	if len(seen) != cases {
		t.Errorf("%d answers, want %d", len(seen), cases)
	}
	if severe > cases/100-8 {
		t.Errorf("%d of the severe ones were shed first", severe)
	}
}

// Row 88: what cannot work is said at the start, with its place.
func TestConfigurationFaults(t *testing.T) {
	t.Parallel()
	good := Provider{Name: "x", Model: "m", Endpoints: []string{"https://x.test/v1"}}
	with := func(change func(*Provider)) Config {
		p := good
		p.Endpoints = append([]string(nil), good.Endpoints...)
		change(&p)
		return Config{Providers: []Provider{p}}
	}
	for _, c := range []struct {
		name, want string
		cfg        Config
	}{
		{"good", "", Config{Providers: []Provider{good}}},
		{"empty", "", Config{}},
		{"one line", "", Config{Providers: []Provider{{Name: "deepseek"}}}},
		{"no scheme", "ai.providers[0].endpoints[0]: ", with(func(p *Provider) { p.Endpoints[0] = "x.test/v1" })},
		{"clear text", "clear text", with(func(p *Provider) { p.Endpoints[0] = "http://x.test/v1" })},
		{"no model", "ai.providers[0].model: ", with(func(p *Provider) { p.Model = "" })},
		{"key in the file", "not the key itself", with(func(p *Provider) { p.APIKeyEnv = "sk-abcdef" })},
		{"two keys", "not both", with(func(p *Provider) { p.APIKeyEnv, p.APIKeyFile = "A", "b" })},
		{"kind", `"bard" is not`, with(func(p *Provider) { p.Kind = "bard" })},
		{"twice", "stands there twice", Config{Providers: []Provider{good, good}}},
		{"deadline", "ai.deadline: ", Config{Deadline: time.Millisecond}},
		{"policy", "ai.policy: ", Config{Policy: "maybe"}},
		{"send", "ai.send[0]: ", Config{Send: []string{"passwords"}}},
		{"key of another host", "name the key that belongs to them", Config{Providers: []Provider{{Name: "openai", APIKeyEnv: "OPENAI_API_KEY", Endpoints: []string{"https://evil.example/v1"}}}}},
	} {
		err := c.cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ name, file, want string }{
		{"good", write("good", testKey+"\n", 0o600), ""},
		{"open", write("open", testKey, 0o644), "chmod 600"},
		{"two lines", write("two", testKey+"\nX-Evil: 1\n", 0o600), "one printable word"},
		{"missing", filepath.Join(dir, "none"), "no such file"},
	} {
		w := newWorld(t, faulttest.Healthy())
		w.lonely(time.Second)
		w.cfg.Providers[0].APIKeyEnv, w.cfg.Providers[0].APIKeyFile = "", c.file
		a := ask(t, w.run(), testCase("D1"))
		if c.want == "" {
			if a.State != Answered || w.a1.Requests()[0].Header.Get("Authorization") != "Bearer "+testKey {
				t.Errorf("%s: %+v", c.name, a)
			}
			continue
		}
		if a.State != Off || !strings.Contains(a.Reason, c.want) || strings.Contains(a.Reason, testKey) || w.a1.Accepted() > 0 {
			t.Errorf("%s: %s %q, want %q", c.name, a.State, a.Reason, c.want)
		}
	}
}

// Row 90: the end of the program in the middle of a wait.
func TestShutdownInBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Error(429, "", "", "", "Retry-After: 3"))
	w.lonely(time.Second)
	e := w.engine()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	e.Submit(testCase("D1"))
	before := time.Now()
	go func() { ended <- e.Run(ctx) }()
	for !w.said("asking A again, 2 of 6") {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if time.Since(before) > 2500*time.Millisecond {
		t.Error("waited to the end")
	}
	if a := <-e.Answers(); a.Reason != "interrupted" {
		t.Errorf("got %+v", a)
	}
}

// TestCutAndRestored: the network is cut in the middle of a stream and comes
// back; the breaker heals by itself and the next case is answered.
func TestCutAndRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Func(func(r faulttest.Request) faulttest.Fault {
		return faulttest.Stalled(faulttest.Delta(honest(r)[:20]))
	}))
	w.lonely(200 * time.Millisecond)
	e := w.run()
	e.Submit(testCase("D1"))
	for len(w.a1.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	w.a1.Stop() // resets what stands and refuses what comes
	if a := <-e.Answers(); a.State != FellBack || a.Diagnosis.Title != a.Local.Title {
		t.Errorf("a part was taken for the whole: %+v", a)
	}
	for i := range 20 {
		if ask(t, e, testCase("D2")).Class == llm.BreakerOpen {
			break
		}
		if i == 19 {
			t.Error("the breaker did not open")
		}
	}
	w.a1.Script(faulttest.Healthy())
	w.a1.Start()
	for i := range 200 {
		if ask(t, e, testCase("D3")).State == Answered {
			break
		}
		if i == 199 {
			t.Fatal("did not heal")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
