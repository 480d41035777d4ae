package aidiag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
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
	await(t, "asked", func() bool { return len(w.a1.Requests()) > 0 })
	why := errors.New("ctrl-c")
	cancel(why)
	if err := wait(t, ended); !errors.Is(err, why) {
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
	w.cfg.Deadline = 2 * time.Second // for the machine to begin in
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
	asked, probes := len(w.a1.Requests()), 0
	for range 50 {
		c := testCase("D2")
		a := ask(t, e, c)
		w.complete(c, a)
		if a.Class == llm.Protocol {
			probes++ // the machine was slow: the time was over
			continue
		}
		if a.Class != llm.BreakerOpen || len(a.Decisions) != 0 || !strings.HasPrefix(a.Reason, "AI paused until ") || !strings.Contains(a.Reason, "A unreachable") {
			t.Fatalf("got %+v", a)
		}
	}
	if n := len(w.a1.Requests()) - asked; n != probes || w.a1.Accepted() > asked+probes {
		t.Errorf("%d requests while open, %d probes", n, probes)
	}
	w.a1.Script(faulttest.Healthy())
	await(t, "healed", func() bool { return ask(t, e, testCase("D3")).State == Answered })
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
	e := w.run()
	for range 3 {
		ask(t, e, testCase("D1"))
	}
	await(t, "behind the open time", func() bool { return !e.crew.Load().router.Paused() })
	probing, release := make(chan struct{}), make(chan struct{})
	w.a1.Script(func(c *faulttest.Conn) { // the probe, which hangs until the others had their chance
		close(probing)
		select {
		case <-release:
		case <-t.Context().Done():
		}
		faulttest.Healthy()(c)
	}, faulttest.Healthy())
	before := len(w.a1.Requests())
	for i := range cases {
		if back := e.Submit(testCase(fmt.Sprintf("D%d", i+1))); len(back) > 0 {
			t.Fatalf("shed: %+v", back)
		}
	}
	select {
	case <-probing:
	case <-time.After(patience):
		t.Fatal("nobody probes")
	}
	for range cases - 1 { // all but the probe's, while it hangs
		if a := next(t, e); a.Class != llm.BreakerOpen {
			t.Fatalf("got %+v", a)
		}
	}
	if n := len(w.a1.Requests()) - before; n != 1 {
		t.Errorf("%d requests at half-open, want 1", n)
	}
	close(release)
	if a := next(t, e); a.State != Answered {
		t.Errorf("the probe: %+v", a)
	}
	if a := ask(t, e, testCase("D1")); a.State != Answered {
		t.Errorf("behind a good probe: %+v", a)
	}
}

// Row 82: everything is dead at a cold start: two hosts are enough to know.
func TestOwnNetworkDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Providers[0].Endpoints = []string{"https://a1.test/v1", "https://a2.test/v1", "https://a3.test/v1"}
	w.cfg.Providers[1].Endpoints = []string{"https://b1.test/v1"}
	var dials atomic.Int32
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
	w.cfg.Deadline = time.Hour
	w.deps.times = func(_ string, t *llm.Timeouts) { *t = patient; t.FirstByte, t.Attempt = time.Hour, time.Hour }
	e := w.engine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	severe := 0
	seen := map[string]bool{}
	const cases = 5000
	for i := range cases { // no answer comes within the hour: this ends because nobody waits for one
		c := testCase(fmt.Sprintf("D%d", i+1))
		if i%100 == 99 {
			c.Local.Severity = finding.Critical
		} else {
			c.Local.Severity = finding.Warning
		}
		for _, a := range e.Submit(c) {
			if a.Reason != "AI busy" || a.State != FellBack || seen[a.Case] {
				t.Fatalf("got %+v", a)
			}
			seen[a.Case] = true
			if a.Local.Severity == finding.Critical {
				severe++
			}
		}
	}
	most := route.Defaults().MaxParallel
	if st := e.Status(); st.Waiting > w.cfg.Queue || st.UnderWay > most || len(e.Answers()) > 0 {
		t.Errorf("held: %+v", st)
	}
	if got := w.a1.Accepted(); got > most {
		t.Errorf("%d connections", got)
	}
	cancel()
	_ = wait(t, ended)
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
	w := newWorld(t, faulttest.Error(429, "", "", "", "Retry-After: 1500"))
	w.lonely(time.Second)
	w.cfg.Deadline = time.Hour
	e := w.engine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	e.Submit(testCase("D1"))
	go func() { ended <- e.Run(ctx) }()
	await(t, "waiting", func() bool { return w.said("asking A again, 2 of 6") })
	cancel()
	_ = wait(t, ended) // less than the 25 minutes that the provider asked for
	if a := <-e.Answers(); a.Reason != "interrupted" || len(w.a1.Requests()) != 1 {
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
	await(t, "asked", func() bool { return len(w.a1.Requests()) > 0 })
	time.Sleep(50 * time.Millisecond) // for the first part of the stream; without it the test is easier
	w.a1.Stop()                       // resets what stands and refuses what comes
	if a := next(t, e); a.State != FellBack || a.Diagnosis.Title != a.Local.Title {
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
	await(t, "healed", func() bool { return ask(t, e, testCase("D3")).State == Answered })
}
