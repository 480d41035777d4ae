package aidiag

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// TestMain looks for goroutines of ours that stay behind. Those of toxiproxy wait
// for ever when a connection ends before all of its bytes were let through.
func TestMain(m *testing.M) {
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*ToxicStub).Run"), goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}

const testKey = "sk-test-0123456789abcdef0123"

func testDefs() []finding.Def {
	return []finding.Def{
		{Code: "tcp.zero-window", Severity: finding.Warning, Doc: "The receiver announced a window of zero.", Metrics: []finding.Metric{
			{Name: "stalled_seconds", Merge: finding.Sum}, {Name: "by_server"},
		}},
		{Code: "dns.nxdomain", Severity: finding.Notice, Doc: "A name does not exist.", Metrics: []finding.Metric{{Name: "name", Text: true}, {Name: "rcode", Text: true}}},
		{Code: "http.error", Severity: finding.Warning, Doc: "A request failed.", Metrics: []finding.Metric{{Name: "path", Text: true}, {Name: "user_agent", Text: true}, {Name: "status"}}},
		{Code: "tls.alert", Severity: finding.Warning, Doc: "An alert ended it.", Metrics: []finding.Metric{{Name: "sni", Text: true}, {Name: "alert", Text: true}}},
	}
}

func evidenceAt(frames ...uint64) finding.Evidence {
	var e finding.Evidence
	for _, f := range frames {
		e.Add(f, int64(f)*int64(time.Millisecond))
	}
	return e
}

// testCase is a receiver that stopped reading.
func testCase(id string) Case {
	stream := flow.ID{Proto: flow.TCP, Stream: 7}
	return Case{
		ID: id,
		Local: diagnosis.Diagnosis{
			Cause: "receiver-zero-window", Culprit: diagnosis.Server, Severity: finding.Critical, Confidence: 0.93,
			Title: "the server 10.0.0.5 stopped reading for 11.2 s", Remedies: []string{"look at the process"}, Evidence: []int{0}, Connections: []flow.ID{stream},
			Frames: []uint64{4411, 4502}, Origin: diagnosis.ByRules, Rule: "receiver-zero-window", Excluded: []diagnosis.Exclusion{{Cause: "tcp-packet-loss", Because: "no gap"}},
			Impact: diagnosis.Impact{Connections: 1, StalledSeconds: 11.2},
		},
		Findings: []Symptom{
			{Index: 0, Finding: finding.Finding{Code: "tcp.zero-window", Severity: finding.Critical, Flow: stream, Evidence: evidenceAt(4411, 4420, 4502), Values: []finding.Value{finding.Num(11.2), finding.Num(1)}}},
			{Index: 3, Finding: finding.Finding{Code: "dns.nxdomain", Severity: finding.Notice, Host: netip.MustParseAddr("10.0.0.9"), Evidence: evidenceAt(12), Values: []finding.Value{finding.Text("printer.corp.example"), finding.Text("NXDOMAIN")}}},
		},
		Connections: []conn.Summary{{
			ID: stream, Proto: "tcp", ClientKnown: true, Established: true, App: "pgsql", Name: "db.corp.example", End: conn.EndFin,
			Client: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.9:41022"), Packets: 400, Bytes: 120000, ZeroWindows: 0},
			Server: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.5:5432"), Packets: 300, Bytes: 2000, ZeroWindows: 3, ZeroWindowTime: 11_200_000_000},
		}},
		Trust: conn.Trust{Vantage: "client"},
	}
}

// world is the providers A{A1, A2} and B{B1}, of which A1 has the fault.
type world struct {
	t          *testing.T
	a1, a2, b1 *faulttest.Server
	cfg        Config
	deps       Deps
	names      map[string]string // URL: A1, A2, B1

	mu     sync.Mutex
	log    bytes.Buffer
	events []Event
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// Limits of attempts: patient ones, which a slow machine does not meet, and hasty
// ones for tests of the limits themselves.
var (
	patient = llm.Timeouts{FirstByte: 30 * time.Second, Idle: 30 * time.Second, NoData: 30 * time.Second, Attempt: time.Minute, Grace: 60 * time.Millisecond}
	hasty   = llm.Timeouts{FirstByte: 1500 * time.Millisecond, Idle: time.Second, NoData: 1500 * time.Millisecond, Attempt: 10 * time.Second, Grace: 60 * time.Millisecond}
)

// hurry gives the first endpoint, which has the fault, hasty limits. The others
// keep their patience, as the machine may be slow.
func (w *world) hurry() {
	w.deps.times = func(url string, t *llm.Timeouts) {
		if *t = patient; w.cfg.Providers[0].Endpoints[0] == url {
			*t = hasty
		}
	}
	w.cfg.Providers[0].Timeouts = Timeouts{Connect: time.Second}
}

func newWorld(t *testing.T, faults ...faulttest.Fault) *world {
	t.Helper()
	w := &world{t: t, a1: faulttest.New(t, faults...), a2: faulttest.New(t, faulttest.Healthy()), b1: faulttest.New(t, faulttest.Healthy())}
	w.cfg = DefaultConfig()
	w.cfg.Deadline, w.cfg.Cache = time.Minute, false
	w.cfg.Budget = Budget{RequestsPerHour: -1, TokensPerRun: -1}
	times := Timeouts{Connect: 20 * time.Second}
	w.cfg.Providers = []Provider{
		{Name: "A", Model: "m", APIKeyEnv: "KEY_A", Endpoints: []string{w.a1.URL(), w.a2.URL()}, Timeouts: times, ContextTokens: 8000},
		{Name: "B", Model: "m", APIKeyEnv: "KEY_B", Endpoints: []string{w.b1.URL()}, Timeouts: times, ContextTokens: 8000},
	}
	w.deps = Deps{
		Defs:    testDefs(),
		Getenv:  func(string) string { return testKey },
		Log:     slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observe: w.observe,
		tune: func(l *route.Limits) {
			l.BackoffBase, l.RateWait, l.RateBase = 30*time.Millisecond, 400*time.Millisecond, 200*time.Millisecond
			l.MinLeft, l.ProbeByte = 100*time.Millisecond, 20*time.Second
			l.Local = l.Pace // the servers are local, and play the cloud
		},
		times: func(_ string, t *llm.Timeouts) { *t = patient },
	}
	w.names = map[string]string{w.a1.URL(): "A1", w.a2.URL(): "A2", w.b1.URL(): "B1"}
	return w
}

func (w *world) observe(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *world) engine() *Engine {
	w.t.Helper()
	e, err := New(w.cfg, w.deps)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// run starts an engine and ends it with the test.
func (w *world) run() *Engine {
	w.t.Helper()
	e := w.engine()
	done := make(chan error, 1)
	go func() { done <- e.Run(w.t.Context()) }()
	w.t.Cleanup(func() {
		e.Finish()
		<-done
	})
	return e
}

// ask submits a case and waits for its answer.
func ask(t *testing.T, e *Engine, c Case) Answer {
	t.Helper()
	if back := e.Submit(c); len(back) > 0 {
		return back[0]
	}
	return next(t, e)
}

// patience is how long a test waits for what must come: far longer than it takes
// on a machine that does ten other things.
const patience = 2 * time.Minute

// next is the next answer.
func next(t *testing.T, e *Engine) Answer {
	t.Helper()
	select {
	case a, ok := <-e.Answers():
		if !ok {
			t.Fatal("no more answers")
		}
		return a
	case <-time.After(patience):
		t.Fatal("no answer in two minutes")
		return Answer{}
	}
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in two minutes: not %s", what)
		}
	}
}

// wait waits until an engine ended, and returns what Run returned.
func wait(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("the engine did not end in two minutes")
		return nil
	}
}

func (w *world) path(ds []Decision) (path, classes string, counted int) {
	var names, kinds []string
	for _, d := range ds {
		n := w.names[d.Endpoint]
		if n == "" {
			n = "A1" // the fault has an address of its own
		}
		names = append(names, n)
		kind := string(d.Class)
		if kind == "" {
			kind = "ok"
		}
		kinds = append(kinds, kind)
		if d.Counted && n == "A1" {
			counted++
		}
	}
	return strings.Join(names, " "), strings.Join(kinds, " "), counted
}

// complete checks what holds of every answer: the rules' diagnosis is untouched,
// the decisions tell a whole story, and no key shows anywhere.
func (w *world) complete(c Case, a Answer) {
	w.t.Helper()
	if a.Case != c.ID || a.Local.Title != c.Local.Title || a.Local.Severity != c.Local.Severity || a.Local.Origin != diagnosis.ByRules {
		w.t.Errorf("the rules' diagnosis was changed: %+v", a.Local)
	}
	if (a.State == FellBack || a.State == Off) && (a.Reason == "" || a.Diagnosis.Origin != diagnosis.ByRules) {
		w.t.Errorf("fell back without a reason: %+v", a)
	}
	if a.State == Answered || a.State == Partial {
		if a.Diagnosis.Origin != diagnosis.ByAI || len(a.Diagnosis.Evidence) == 0 || a.Diagnosis.Severity < c.Local.Severity || a.Diagnosis.Title == "" {
			w.t.Errorf("not fit for the report: %+v", a.Diagnosis)
		}
	}
	for i, d := range a.Decisions {
		if end := d.Next == route.Done || d.Next == route.Rules; end != (i == len(a.Decisions)-1) {
			w.t.Errorf("decision %d of %d says %s", i, len(a.Decisions), d.Next)
		}
		if d.Case != c.ID || d.Provider == "" || d.Endpoint == "" || d.Model == "" {
			w.t.Errorf("decision without its facts: %+v", d)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.log.String() + seen(a)
	for _, e := range w.events {
		if strings.Contains(e.Text, "0123456789abcdef") {
			w.t.Error("the key shows on the screen")
		}
	}
	if strings.Contains(all, testKey) || strings.Contains(all, "0123456789abcdef") {
		w.t.Error("the key shows in log, line or notice")
	}
}

func (w *world) said(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// seen is what the user reads of an answer: the reason and the notices.
func seen(a Answer) string {
	lines := []string{a.Reason}
	for _, n := range a.Notices {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}
