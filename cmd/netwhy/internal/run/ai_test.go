package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"netwhy/aidiag"
	"netwhy/aidiag/faulttest"
	"netwhy/cmd/netwhy/internal/run"
)

// provider is a configuration with one provider.
func provider(url string, patience time.Duration) aidiag.Config {
	cfg := aidiag.DefaultConfig()
	cfg.Deadline = max(time.Second, 2*patience)
	cfg.Providers = []aidiag.Provider{{
		Name: "mine", Kind: "openai", Model: "fault-1", Endpoints: []string{url}, Timeouts: aidiag.Timeouts{FirstByte: patience},
	}}
	return cfg
}

// told is a report as JSON and text.
type told struct {
	Findings, Diagnoses []map[string]any
	AI                  *struct {
		State     string
		Reason    string
		Decisions []map[string]any
		Notices   []string
		Rejected  []map[string]any `json:"rejected_claims"`
	}
	json, text string
	outcome    run.Outcome
}

func tell(ctx context.Context, tb testing.TB, opt run.Options) *told {
	tb.Helper()
	var text bytes.Buffer
	path := tb.TempDir() + "/r.json"
	opt.Outputs = []run.Output{{Format: "text"}, {Format: "json", Path: path}}
	set, err := builtinOnce()
	if err != nil {
		tb.Fatal(err)
	}
	opt.Loaded = set
	out, err := run.Replay(ctx, world(&text), &opt)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	r := &told{json: string(data), text: text.String(), outcome: out}
	if err := json.Unmarshal(data, r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// by are the diagnoses of the rules or of the model.
func (r *told) by(source string) []map[string]any {
	var out []map[string]any
	for _, d := range r.Diagnoses {
		if d["source"] == source {
			out = append(out, d)
		}
	}
	return out
}

// poisoned is a capture that carries a text in a DNS name, the SNI, HTTP headers
// and banners, of conversations that are in trouble.
func poisoned(text string) *craft {
	c := newCraft()
	client := netip.MustParseAddr("10.0.0.2")
	at := func(addr string, port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(addr), port)
	}
	question := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(text, ".") {
		for len(label) > 0 {
			n := min(len(label), 63)
			question = append(append(question, byte(n)), label[:n]...)
			label = label[n:]
		}
	}
	question = append(question, 0, 0, 1, 0, 1)
	for range 3 {
		c.udp(netip.AddrPortFrom(client, 40053), at("10.0.0.53", 53), question)
		c.now = c.now.Add(5 * time.Second)
	}
	slow := c.talk(netip.AddrPortFrom(client, 40080), at("10.0.0.80", 80))
	slow.exchange("GET /"+text+" HTTP/1.1\r\nHost: "+text+"\r\nUser-Agent: "+text+"\r\n\r\n", 4*time.Second,
		"HTTP/1.1 503 "+text+"\r\nServer: "+text+"\r\nContent-Length: 0\r\n\r\n")
	slow.close()
	mail := c.talk(netip.AddrPortFrom(client, 40025), at("10.0.0.25", 25))
	mail.c.now = mail.c.now.Add(3 * time.Second)
	mail.send(1, flagPSH|flagACK, []byte("554 5.7.1 "+text+"\r\n"))
	mail.send(0, flagACK, nil)
	mail.close()
	secure := c.talk(netip.AddrPortFrom(client, 40443), at("10.0.0.44", 443))
	secure.send(0, flagPSH|flagACK, hello(text))
	secure.send(1, flagACK, nil)
	secure.send(1, flagPSH|flagACK, []byte{21, 3, 3, 0, 2, 2, 112}) // unrecognized_name
	secure.send(0, flagACK, nil)
	secure.close()
	return c
}

// hello is a ClientHello with a server name (RFC 8446, 4.1.2; RFC 6066, 3).
func hello(name string) []byte {
	size := func(n int) []byte { return []byte{byte(n >> 8), byte(n)} }
	entry := append(append([]byte{0}, size(len(name))...), name...)
	list := append(size(len(entry)), entry...)
	ext := append(append([]byte{0, 0}, size(len(list))...), list...)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0, 0, 2, 0x13, 0x01, 1, 0)
	body = append(append(body, size(len(ext))...), ext...)
	msg := append(append([]byte{1, 0}, size(len(body))...), body...)
	return append(append([]byte{22, 3, 1}, size(len(msg))...), msg...)
}

// TestHostileCapturesAreHarmless: captures whose names, headers and banners give
// orders, and a model that obeys them. The text does not leave, the rules' report
// is the one of a run without a model, the user is told, and nothing reaches the
// report by way of the model.
func TestHostileCapturesAreHarmless(t *testing.T) {
	t.Parallel()
	for i, text := range faulttest.Hostile() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			server := faulttest.New(t, faulttest.Obedient(text))
			path := poisoned(text).write(t)
			plain := tell(t.Context(), t, run.Options{Files: []string{path}})
			got := tell(t.Context(), t, run.Options{Files: []string{path}, Diagnose: true, AI: provider(server.URL(), time.Minute)})
			if len(plain.Diagnoses) < 2 {
				t.Fatalf("nothing to ask about: %v", plain.Diagnoses)
			}
			if diff := cmp.Diff(plain.Diagnoses, got.by("rules")); diff != "" {
				t.Errorf("the rules' diagnoses changed:\n%s", diff)
			}
			if diff := cmp.Diff(plain.Findings, got.Findings); diff != "" {
				t.Errorf("the findings changed:\n%s", diff)
			}
			if len(server.Requests()) == 0 || len(got.by("ai")) == 0 {
				t.Fatalf("nobody was asked: %+v", got.AI)
			}
			for _, r := range server.Requests() {
				for word := range strings.FieldsSeq(text) {
					if len(word) >= 12 && strings.Contains(string(r.Body), word) {
						t.Errorf("%q left the machine", word)
					}
				}
			}
			notice, times := "", 0
			for _, n := range got.AI.Notices {
				if strings.Contains(n, "instruction-like text") {
					notice = n
					times++
				}
			}
			if times != 1 || !strings.Contains(notice, "frame") || !strings.Contains(flatten(got.text), notice) {
				t.Errorf("told %d times of %q: %v\n%s", times, text, got.AI.Notices, got.text)
			}
			for i := range got.text {
				if b := got.text[i]; b == 0x1b || b == 0x07 || b == '\r' {
					t.Fatalf("a control byte %#x in the text at %d", b, i)
				}
			}
			opinions := got.by("ai")
			for _, d := range opinions { // a summary that was refused gives way to the rules' title, which quotes the capture
				for _, own := range plain.Diagnoses {
					if d["title"] == own["title"] {
						delete(d, "title")
					}
				}
			}
			said, err := json.Marshal([]any{opinions, got.AI})
			if err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"evil.example", "no problem", "everything is fine", "can be ignored", "curl", "| sh", "\\u001b", "\u202e", "\\u003cscript", "<script", "javascript:", "https://"} {
				if strings.Contains(strings.ToLower(string(said)), bad) {
					t.Errorf("%q got through: %s", bad, said)
				}
			}
			for _, bad := range []string{"evil.example/fix", "everything is fine", "can be ignored"} { // what the model alone said
				if strings.Contains(flatten(got.text), bad) {
					t.Errorf("%q got through:\n%s", bad, got.text)
				}
			}
		})
	}
}

// flatten joins wrapped lines.
func flatten(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestAvalancheLosesNothing: hundreds of services in trouble, of which fifty are
// told one by one, and a provider that accepts and never answers. All that the rules found is in the report, each case is
// accounted for, and what is held is bounded by the configuration; the same
// when the run is interrupted while requests hang.
//
//nolint:paralleltest // it counts goroutines and descriptors
func TestAvalancheLosesNothing(t *testing.T) {
	const services, told = 300, 50
	path := trouble(services, 10).write(t)
	plain := tell(t.Context(), t, run.Options{Files: []string{path}})
	if n := len(plain.Diagnoses); n < told {
		t.Fatalf("%d diagnoses, want at least %d", n, told)
	}
	for _, interrupted := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		patience := 300 * time.Millisecond
		if interrupted {
			patience = 10 * time.Minute
		}
		var most, files, held atomic.Int64
		begin, open := int64(runtime.NumGoroutine()), descriptors()
		server := faulttest.New(t, func(c *faulttest.Conn) {
			first := held.Add(1) == 1
			raise(&most, int64(runtime.NumGoroutine()))
			raise(&files, descriptors())
			if interrupted && first {
				cancel(errors.New("interrupted"))
			}
			c.Stall()
		})
		cfg := provider(server.URL(), patience)
		cfg.Queue, cfg.Concurrency, cfg.Breaker.Open = 8, 2, time.Hour
		got := tell(ctx, t, run.Options{Files: []string{path}, Diagnose: true, AI: cfg})
		cancel(nil)
		if diff := cmp.Diff(plain.Findings, got.Findings); diff != "" {
			t.Errorf("findings were lost:\n%s", diff)
		}
		if diff := cmp.Diff(plain.Diagnoses, got.Diagnoses); diff != "" {
			t.Errorf("diagnoses were lost:\n%s", diff)
		}
		if got.AI == nil || got.AI.State != "fell-back" || got.outcome.Interrupted != interrupted {
			t.Errorf("AI %+v, outcome %+v", got.AI, got.outcome)
		}
		limit := int64(2 * cfg.Concurrency) // requests under way; each is a few goroutines and two descriptors here
		if n := server.Accepted(); int64(n) > limit+int64(cfg.Breaker.Failures) {
			t.Errorf("%d connections for %d cases", n, len(plain.Diagnoses))
		}
		if n := most.Load() - begin; n > 12*limit+20 {
			t.Errorf("%d goroutines more", n)
		}
		if n := files.Load() - open; n > 4*limit+10 {
			t.Errorf("%d descriptors more", n)
		}
	}
}

func raise(a *atomic.Int64, v int64) {
	for {
		old := a.Load()
		if v <= old || a.CompareAndSwap(old, v) {
			return
		}
	}
}

// descriptors are those of this process; 0 where they cannot be counted.
func descriptors() int64 {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return int64(len(list))
}
