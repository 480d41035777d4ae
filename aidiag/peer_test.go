package aidiag

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/route"
)

// The peer that nobody here wrote: npm's @copilotkit/aimock, behind toxiproxy.
// NETWHY_AIMOCK names the folder where it is installed:
//
//	mkdir -p "$NETWHY_AIMOCK" && npm install --prefix "$NETWHY_AIMOCK" @copilotkit/aimock@1.43.0

type peer struct {
	addr string
}

// startPeer starts the mock with an answer for each model, or skips the test; in
// CI it must be there.
func startPeer(t *testing.T, fixtures []map[string]any) *peer {
	t.Helper()
	miss := func(why string) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	dir := os.Getenv("NETWHY_AIMOCK")
	if dir == "" {
		miss("NETWHY_AIMOCK does not name the folder with @copilotkit/aimock (see peer_test.go)")
	}
	bin := filepath.Join(dir, "node_modules", ".bin", "llmock")
	if _, err := os.Stat(bin); err != nil {
		miss("no aimock: " + err.Error())
	}
	if _, err := exec.LookPath("node"); err != nil {
		miss("no node: " + err.Error())
	}
	doc, err := json.Marshal(map[string]any{"fixtures": fixtures})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "answers.json"), doc, 0o600); err != nil {
		t.Fatal(err)
	}
	const tries = 3 // it takes a port, not a listener: another program may be faster
	for range tries {
		if p := tryPeer(t, bin, folder); p != nil {
			return p
		}
	}
	t.Fatalf("aimock did not start in %d tries", tries)
	return nil
}

// tryPeer starts the mock on a port that was free a moment ago; nil: it ended.
func tryPeer(t *testing.T, bin, folder string) *peer {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, bin, "-p", port, "-f", folder, "--validate-on-load", "--strict", "--log-level", "silent", "--chunk-size", "40")
	cmd.Env = append(os.Environ(), "AIMOCK_API_KEYS="+testKey)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(25 * time.Millisecond) {
		select {
		case <-ended:
			t.Logf("aimock ended: %s", out.String())
			return nil
		default:
		}
		var d net.Dialer
		if c, err := d.DialContext(t.Context(), "tcp", addr); err == nil {
			_ = c.Close()
			return &peer{addr: addr}
		}
	}
	t.Fatal("aimock did not listen in two minutes")
	return nil
}

// journal is what the mock says it was sent.
func (p *peer) journal(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.addr+"/__aimock/journal", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// toxic puts a fresh proxy with one toxic before an address; "" is none. A proxy
// is used once and toxics are never removed: removing one can wait for minutes.
func toxic(t *testing.T, upstream, spec string) string {
	t.Helper()
	srv := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(srv, strings.ReplaceAll(t.Name(), "/", "-"), "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if spec != "" {
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(spec)); err != nil {
			t.Fatal(err)
		}
	}
	return "http://" + p.Listen + "/v1"
}

func peerFixtures(t *testing.T) []map[string]any {
	t.Helper()
	good, err := json.Marshal(faulttest.Say{
		Summary: "The evidence supports the rules.", LikelyCause: "receiver-zero-window", Severity: "critical",
		Claims:       []faulttest.SayClaim{{Text: "It was seen 3 times.", Kind: "tcp", FindingIDs: []string{"F1"}, Frames: []uint64{4411}, Confidence: "high"}},
		Alternatives: []faulttest.SayAlternative{}, Remedies: []string{"Look at the reading process."}, NextSteps: []faulttest.SayStep{},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{"content": string(good)}
	fail := func(status int, kind string) map[string]any {
		return map[string]any{"error": map[string]any{"message": "made to fail", "type": kind}, "status": status}
	}
	type m = map[string]any
	return []map[string]any{
		{"match": m{"model": "m-good"}, "response": answer},
		{"match": m{"model": "m-429", "sequenceIndex": 0}, "response": fail(429, "rate_limit_error")},
		{"match": m{"model": "m-429"}, "response": answer},
		{"match": m{"model": "m-500"}, "response": fail(500, "server_error")},
		{"match": m{"model": "m-503-once", "sequenceIndex": 0}, "response": fail(503, "server_error")},
		{"match": m{"model": "m-503-once"}, "response": answer},
		{"match": m{"model": "m-cut"}, "response": answer, "truncateAfterChunks": 3},
		{"match": m{"model": "m-gone"}, "response": answer, "latency": 30, "disconnectAfterMs": 90},
		{"match": m{"model": "m-malformed"}, "response": answer, "chaos": m{"malformedRate": 1}},
		{"match": m{"model": "m-dropped"}, "response": answer, "chaos": m{"dropRate": 1}},
		{"match": m{"model": "m-lies"}, "response": m{"content": `{"summary":"x","likely_cause":"tcp-packet-loss","severity":"info","claims":[{"text":"y","kind":"tcp","finding_ids":["F77"],"frames":[],"confidence":"high"}],"alternatives":[],"remedies":[],"next_steps":[]}`}},
	}
}

// TestIndependentPeer shows that not only our own server says that the client is
// right: its own faults, and those of the wire between.
func TestIndependentPeer(t *testing.T) {
	p := startPeer(t, peerFixtures(t))
	for _, c := range []struct {
		name, model, toxic string
		key                string
		path, classes      string
	}{
		{name: "good", model: "m-good", path: "A", classes: "ok"},
		{name: "wrong key", model: "m-good", key: "sk-wrong-9999999999", path: "A B", classes: "auth ok"},
		{name: "429 once", model: "m-429", path: "A A", classes: "rate_limit ok"},
		{name: "500", model: "m-500", path: "A A B", classes: "server server ok"},
		{name: "503 once", model: "m-503-once", path: "A A", classes: "server ok"},
		{name: "no such answer", model: "m-none", path: "A A B", classes: "server server ok"},
		{name: "cut stream", model: "m-cut", path: "A A B", classes: "net_transient net_transient ok"},
		{name: "connection gone", model: "m-gone", path: "A A B", classes: "net_transient net_transient ok"},
		{name: "malformed", model: "m-malformed", path: "A A B", classes: "protocol parse ok"},
		{name: "dropped", model: "m-dropped", path: "A A B", classes: "server server ok"},
		{name: "lies", model: "m-lies", path: "A A B", classes: "invalid_output invalid_output ok"},

		{name: "slow wire", model: "m-good", toxic: `{"type":"latency","attributes":{"latency":100,"jitter":20}}`, path: "A", classes: "ok"},
		{name: "small pieces", model: "m-good", toxic: `{"type":"slicer","attributes":{"average_size":7,"size_variation":3,"delay":100}}`, path: "A", classes: "ok"},
		{name: "narrow wire", model: "m-good", toxic: `{"type":"bandwidth","attributes":{"rate":40}}`, path: "A", classes: "ok"},
		{name: "reset", model: "m-good", toxic: `{"type":"reset_peer","attributes":{"timeout":0}}`, path: "A A B", classes: "net_transient net_transient ok"},
		{name: "cut by bytes", model: "m-good", toxic: `{"type":"limit_data","attributes":{"bytes":600}}`, path: "A A B", classes: "net_transient net_transient ok"},
		{name: "black hole", model: "m-good", toxic: `{"type":"timeout","attributes":{"timeout":0}}`, path: "A B", classes: "net_persistent ok"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			w := newWorld(t)
			w.cfg.Providers = []Provider{
				{Name: "A", Model: c.model, APIKeyEnv: "KEY_A", Endpoints: []string{toxic(t, p.addr, c.toxic)}},
				{Name: "B", Model: "m-good", APIKeyEnv: "KEY_B", Endpoints: []string{"http://" + p.addr + "/v1"}},
			}
			w.deps.Getenv = func(name string) string {
				if name == "KEY_A" && c.key != "" {
					return c.key
				}
				return testKey
			}
			// Their 429 asks for a second.
			tune := w.deps.tune
			w.deps.tune = func(l *route.Limits) { tune(l); l.Local.RateWait = 2 * time.Second }
			if strings.HasPrefix(c.classes, "net_persistent") {
				w.hurry()
			}
			cs := testCase("D1")
			a := ask(t, w.run(), cs)
			w.complete(cs, a)
			var path, classes []string
			for _, d := range a.Decisions {
				path = append(path, d.Provider)
				class := string(d.Class)
				if class == "" {
					class = "ok"
				}
				classes = append(classes, class)
			}
			if strings.Join(path, " ") != c.path || strings.Join(classes, " ") != c.classes {
				t.Errorf("%v (%v), want %s (%s)", path, classes, c.path, c.classes)
			}
			if a.State != Answered || a.Diagnosis.Title != "The evidence supports the rules." {
				t.Errorf("got %s %q: %s", a.State, a.Diagnosis.Title, a.Reason)
			}
		})
	}
	j := p.journal(t)
	if !strings.Contains(j, "rules_say") || strings.Contains(j, "corp.example") || strings.Contains(j, "10.0.0.5") {
		t.Error("the peer's journal holds a name, or no case")
	}
}
