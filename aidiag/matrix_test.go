package aidiag

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
)

// row is one line of the fault matrix.
type row struct {
	n       int
	name    string
	fault   []faulttest.Fault
	change  func(t *testing.T, w *world)
	path    string // endpoints in order
	classes string // of each attempt; the last is "ok" where an answer came
	counted int    // failures of A1 that the breaker counted
	says    string // in the reason or a notice
	also    func(t *testing.T, w *world, e *Engine)
}

func one(f faulttest.Fault) []faulttest.Fault { return []faulttest.Fault{f} }

func events(raw string) []faulttest.Fault { return one(faulttest.Events(raw)) }

// dialA1 makes A1 a name of its own that is reached by dial.
func dialA1(dial DialFunc) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) {
		w.cfg.Providers[0].Endpoints[0] = "http://a1.invalid/v1"
		w.cfg.Providers[0].AllowHTTPPrivate = true
		w.deps.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "a1.invalid") {
				return dial(ctx, network, addr)
			}
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		}
	}
}

func dialFails(err error) func(*testing.T, *world) {
	return dialA1(func(context.Context, string, string) (net.Conn, error) { return nil, err })
}

func moreRoomAtB(_ *testing.T, w *world) { w.cfg.Providers[1].ContextTokens = 100_000 }

func tlsServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func rows() []row {
	answer := faulttest.Delta("x")
	quota := faulttest.Error(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota")
	inStream := func(json string) []faulttest.Fault { return events("data: " + json + "\n\n") }
	whole := func(frame func(string) string) []faulttest.Fault { // a good answer in another form
		return one(faulttest.Func(func(r faulttest.Request) faulttest.Fault { return faulttest.Events(frame(honest(r))) }))
	}
	const (
		server = "A1 A1 B1"
		next   = "A1 A2"
		again  = "A1 A1 A2"
		other  = "A1 B1"
	)
	return []row{
		{n: 1, name: "refused", change: func(_ *testing.T, w *world) { w.a1.Stop() }, path: next, classes: "net_persistent ok", counted: 1},
		{n: 2, name: "NXDOMAIN", change: dialFails(&net.DNSError{IsNotFound: true, Name: "a1.invalid"}), path: next, classes: "net_persistent ok", counted: 1},
		{n: 3, name: "black hole", change: dialA1(func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }), path: next, classes: "net_persistent ok", counted: 1},
		{n: 4, name: "EHOSTUNREACH", change: dialFails(&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}), path: next, classes: "net_persistent ok", counted: 1},
		{n: 4, name: "ENETUNREACH", change: dialFails(&net.OpError{Op: "dial", Err: syscall.ENETUNREACH}), path: next, classes: "net_persistent ok", counted: 1},
		{n: 5, name: "EAI_AGAIN", change: dialFails(&net.DNSError{IsTemporary: true, Name: "a1.invalid"}), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 6, name: "never answers", fault: one(faulttest.Silent()), path: next, classes: "net_persistent ok", counted: 1},
		{n: 7, name: "first token late", fault: one(faulttest.HeadersOnly()), path: next, classes: "net_persistent ok", counted: 1},
		{n: 8, name: "unknown CA", change: func(t *testing.T, w *world) { t.Helper(); w.cfg.Providers[0].Endpoints[0] = tlsServer(t).URL }, path: next, classes: "tls ok", counted: 1, says: "not trusted (interception?)"},
		{n: 8, name: "wrong host", change: func(t *testing.T, w *world) {
			t.Helper()
			s := tlsServer(t)
			file := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			w.cfg.Providers[0].CAFile = file
			w.cfg.Providers[0].Endpoints[0] = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
		}, path: next, classes: "tls ok", counted: 1, says: "not trusted"},
		{n: 9, name: "https to a plain port", change: func(t *testing.T, w *world) {
			t.Helper()
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			w.cfg.Providers[0].Endpoints[0] = strings.Replace(s.URL, "http:", "https:", 1)
		}, path: next, classes: "tls ok", counted: 1, says: "not trusted"},
		{n: 10, name: "TLS hangs", change: func(t *testing.T, w *world) {
			t.Helper()
			w.cfg.Providers[0].Endpoints[0] = "https://" + faulttest.Deaf(t)
		}, path: next, classes: "net_persistent ok", counted: 1},
		{n: 11, name: "RST before header", fault: one(faulttest.ResetNow()), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 12, name: "FIN before header", fault: one(faulttest.CloseNow()), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 13, name: "RST in the header", fault: one(faulttest.ResetInHeader()), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 14, name: "RST once", fault: []faulttest.Fault{faulttest.ResetNow(), faulttest.Healthy()}, path: "A1 A1", classes: "net_transient ok"},
		{n: 15, name: "SSH banner", fault: one(faulttest.Bytes("SSH-2.0-OpenSSH_9.6\r\n")), path: next, classes: "protocol ok", counted: 1},
		{n: 16, name: "2 MiB header", fault: one(faulttest.HugeHeader(2 << 20)), path: next, classes: "protocol ok", counted: 1},
		{n: 17, name: "redirect", change: func(t *testing.T, w *world) {
			t.Helper()
			trap := faulttest.New(t, faulttest.Healthy())
			w.a1.Script(faulttest.Redirect(307, trap.URL()+"/chat/completions"))
			t.Cleanup(func() {
				if trap.Accepted() > 0 {
					t.Error("the redirect was followed")
				}
			})
		}, path: next, classes: "protocol ok", counted: 1, says: "captive portal or wrong base URL"},
		{n: 18, name: "400", fault: one(faulttest.Error(400, "invalid_request_error", "bad_thing", "no", "X-Request-Id: req-18")), path: "A1", classes: "bad_request", says: "400, request id req-18"},
		{n: 19, name: "context length, more room elsewhere", fault: one(faulttest.Error(400, "invalid_request_error", "context_length_exceeded", "too long")), change: moreRoomAtB, path: other, classes: "too_large ok"},
		{n: 19, name: "context length, then half", fault: []faulttest.Fault{faulttest.Error(400, "invalid_request_error", "context_length_exceeded", "too long"), faulttest.Healthy()}, change: func(_ *testing.T, w *world) { w.cfg.Providers[1].ContextTokens = 0 }, path: "A1 A1", classes: "too_large ok", says: "evidence shortened"},
		{n: 20, name: "400 content filter", fault: one(faulttest.Error(400, "", "content_filter", "filtered")), path: "A1", classes: "content_filter", says: "declined"},
		{n: 21, name: "400 spend limit", fault: one(faulttest.Error(400, "invalid_request_error", "", "Your credit balance is too low")), path: other, classes: "billing ok", says: "no credit"},
		{n: 22, name: "401", fault: one(faulttest.Error(401, "", "invalid_api_key", "Incorrect API key provided: "+testKey)), path: other, classes: "auth ok", says: "provider A rejects the key in $KEY_A (401)"},
		{n: 23, name: "402", fault: one(faulttest.Error(402, "", "", "Insufficient Balance")), path: other, classes: "billing ok", says: "no credit"},
		{n: 24, name: "403", fault: one(faulttest.Error(403, "", "", "")), path: other, classes: "auth ok", says: "rejects the key"},
		{n: 25, name: "404 model", fault: one(faulttest.Error(404, "", "model_not_found", "")), path: other, classes: "not_found ok", says: "model m or base URL"},
		{n: 26, name: "404 HTML", fault: one(faulttest.HTML(404)), path: other, classes: "not_found ok", says: "unknown at provider A"},
		{n: 27, name: "404 string", fault: one(faulttest.JSON(404, `{"error":"model 'm' not found"}`)), path: other, classes: "not_found ok", says: "unknown at provider A"},
		{n: 28, name: "408", fault: one(faulttest.Error(408, "", "", "")), path: server, classes: "server server ok", counted: 2},
		{n: 29, name: "413 HTML", fault: one(faulttest.HTML(413)), change: moreRoomAtB, path: other, classes: "too_large ok"},
		{n: 30, name: "422", fault: one(faulttest.JSON(422, `{"detail":"no"}`)), path: "A1", classes: "bad_request", says: "422"},
		{n: 31, name: "429 once, short", fault: []faulttest.Fault{faulttest.Error(429, "", "", "", "Retry-After-Ms: 200"), faulttest.Healthy()}, path: "A1 A1", classes: "rate_limit ok", also: func(t *testing.T, w *world, _ *Engine) {
			t.Helper()
			r := w.a1.Requests()
			if len(r) == 2 && r[1].At.Sub(r[0].At) < 200*time.Millisecond {
				t.Errorf("asked again behind %v", r[1].At.Sub(r[0].At))
			}
		}},
		{n: 32, name: "429 for an hour", fault: one(faulttest.Error(429, "", "", "", "Retry-After: 3600")), path: other, classes: "rate_limit ok", also: heldFor(time.Hour)},
		{n: 33, name: "429 without a time", fault: one(faulttest.Error(429, "", "", "")), path: other, classes: "rate_limit ok"},
		{n: 34, name: "429 quota", fault: one(quota), path: other, classes: "billing ok", says: "no credit"},
		{n: 35, name: "429 array", fault: one(faulttest.JSON(429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]`)), path: other, classes: "rate_limit ok"},
		{n: 36, name: "429 everywhere", fault: one(faulttest.Error(429, "", "", "", "Retry-After: 3600")), change: func(_ *testing.T, w *world) {
			w.b1.Script(faulttest.Error(429, "", "", "", "Retry-After: 7200"))
		}, path: other, classes: "rate_limit rate_limit", says: "rate limited until "},
		{n: 37, name: "500", fault: one(faulttest.Error(500, "", "", "")), path: server, classes: "server server ok", counted: 2},
		{n: 38, name: "500 once", fault: []faulttest.Fault{faulttest.Error(500, "", "", ""), faulttest.Healthy()}, path: "A1 A1", classes: "server ok", counted: 1},
		{n: 39, name: "500, cut body", fault: one(faulttest.ErrorCut(500)), path: server, classes: "server server ok", counted: 2},
		{n: 40, name: "502 HTML", fault: one(faulttest.HTML(502)), path: server, classes: "server server ok", counted: 2},
		{n: 41, name: "503, wait 2 min", fault: one(faulttest.Error(503, "", "", "", "Retry-After: 120")), path: other, classes: "server ok", counted: 1, also: heldFor(2 * time.Minute)},
		{n: 42, name: "504", fault: one(faulttest.HTML(504)), path: next, classes: "gateway_timeout ok", counted: 1},
		{n: 42, name: "524", fault: one(faulttest.HTML(524)), path: next, classes: "gateway_timeout ok", counted: 1},
		{n: 43, name: "529", fault: one(faulttest.Error(529, "overloaded_error", "", "")), path: server, classes: "server server ok", counted: 2},
		{n: 44, name: "500 with 64 MiB", fault: one(faulttest.ErrorHuge(500, 64<<20)), path: server, classes: "server server ok", counted: 2},
		{n: 45, name: "gzip bomb", fault: one(faulttest.ErrorBomb(500, 20)), path: server, classes: "server server ok", counted: 2},
		{n: 46, name: "captive portal", fault: one(faulttest.HTML(200)), path: next, classes: "protocol ok", counted: 1, says: "captive portal"},
		{n: 47, name: "JSON to a stream", fault: one(faulttest.JSON(200, `{"choices":[]}`)), path: next, classes: "protocol ok", counted: 1},
		{n: 48, name: "204", fault: one(faulttest.Bytes("HTTP/1.1 204 No Content\r\n\r\n")), path: next, classes: "protocol ok", counted: 1},
		{n: 49, name: "empty stream", fault: events(""), path: server, classes: "parse parse ok", counted: 1},
		{n: 49, name: "only [DONE]", fault: events(faulttest.Done), path: server, classes: "parse parse ok", counted: 1},
		{n: 49, name: "finish without text", fault: events(faulttest.Finish("stop")), path: server, classes: "parse parse ok", counted: 1},
		{n: 50, name: "blank content", fault: events(faulttest.Delta(" \n ") + faulttest.Finish("stop") + faulttest.Done), path: server, classes: "parse parse ok", counted: 1},
		{n: 51, name: "finish, no [DONE]", fault: whole(func(s string) string { return faulttest.Delta(s) + faulttest.Finish("stop") }), path: "A1", classes: "ok"},
		{n: 52, name: "finish, stays open", fault: one(faulttest.Func(func(r faulttest.Request) faulttest.Fault {
			return faulttest.Stalled(faulttest.Delta(honest(r)) + faulttest.Finish("stop"))
		})), path: "A1", classes: "ok"},
		{n: 53, name: "no newline at the end", fault: whole(func(s string) string { return faulttest.Delta(s) + strings.TrimSpace(faulttest.Finish("stop")) }), path: "A1", classes: "ok"},
		{n: 54, name: "no stop marker", fault: whole(faulttest.Delta), path: server, classes: "parse parse ok", counted: 1},
		{n: 55, name: "half line at the end", fault: events(answer + `data: {"choices":[{"del`), path: server, classes: "parse parse ok", counted: 1},
		{n: 56, name: "half JSON in a line", fault: events("data: {\"choices\":[{\"del\n\n" + faulttest.Finish("stop")), path: server, classes: "parse parse ok", counted: 1},
		{n: 57, name: "FIN in the stream", fault: one(faulttest.Cut(answer, false)), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 58, name: "RST in the stream", fault: one(faulttest.Cut(answer, true)), path: again, classes: "net_transient net_transient ok", counted: 1},
		{n: 59, name: "stall", fault: one(faulttest.Stalled(answer)), path: next, classes: "net_persistent ok", counted: 1},
		{n: 60, name: "comments for ever", fault: one(faulttest.KeepAlive(20*time.Millisecond, -1, "")), path: next, classes: "net_persistent ok", counted: 1},
		{n: 61, name: "20 comments first", fault: one(faulttest.Func(func(r faulttest.Request) faulttest.Fault {
			return faulttest.KeepAlive(time.Millisecond, 20, faulttest.Delta(honest(r))+faulttest.Finish("stop")+faulttest.Done)
		})), path: "A1", classes: "ok"},
		{n: 61, name: "400 blank lines first", fault: whole(func(s string) string {
			return strings.Repeat("\n", 400) + faulttest.Delta(s) + faulttest.Finish("stop")
		}), path: "A1", classes: "ok"},
		{n: 62, name: "error in the stream", fault: inStream(`{"error":{"code":503,"message":"down"}}`), path: server, classes: "server server ok", counted: 2},
		{n: 63, name: "comment, then error", fault: events(": x\n\ndata: {\"error\":{\"code\":503,\"message\":\"down\"}}\n\n"), path: server, classes: "server server ok", counted: 2},
		{n: 64, name: "event: error", fault: events("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"), path: server, classes: "server server ok", counted: 2},
		{n: 65, name: "error not first", fault: inStream(`{"id":"x","choices":[],"error":{"code":500}}`), path: server, classes: "server server ok", counted: 2},
		{n: 66, name: "429 in the stream", fault: inStream(`{"error":{"code":429}}`), path: other, classes: "rate_limit ok"},
		{n: 66, name: "429 as a bare line", fault: events(`{"error":{"code":429,"message":"slow down"}}` + "\n"), path: other, classes: "rate_limit ok"},
		{n: 67, name: "SSE type, HTML body", fault: one(faulttest.Typed("text/event-stream", "<html><body>x</body></html>\n")), path: next, classes: "protocol ok", counted: 1},
		{n: 68, name: "CR only", fault: whole(func(s string) string {
			return strings.ReplaceAll(faulttest.Delta(s)+faulttest.Finish("stop"), "\n", "\r")
		}), path: "A1", classes: "ok"},
		{n: 68, name: "CRLF and BOM", fault: whole(func(s string) string {
			return "\xef\xbb\xbf" + strings.ReplaceAll(faulttest.Delta(s)+faulttest.Finish("stop"), "\n", "\r\n")
		}), path: "A1", classes: "ok"},
		{n: 69, name: "8 MiB line", fault: one(faulttest.HugeLine(8 << 20)), path: next, classes: "protocol ok", counted: 1},
		{n: 69, name: "endless stream", fault: one(faulttest.Endless()), path: next, classes: "protocol ok", counted: 1},
		{n: 70, name: "wrong type in a frame", fault: inStream(`{"choices":[{"delta":{"content":5}}]}`), path: server, classes: "parse parse ok", counted: 1},
		{n: 71, name: "length, more room elsewhere", fault: events(answer + faulttest.Finish("length")), change: moreRoomAtB, path: other, classes: "too_large ok"},
		{n: 71, name: "length, then half", fault: []faulttest.Fault{faulttest.Events(answer + faulttest.Finish("length")), faulttest.Healthy()}, path: "A1 A1", classes: "too_large ok", says: "evidence shortened"},
		{n: 72, name: "content filter", fault: events(answer + faulttest.Finish("content_filter")), path: "A1", classes: "content_filter", says: "declined"},
		{n: 72, name: "refusal", fault: inStream(`{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}`), path: "A1", classes: "content_filter", says: "declined"},
		{n: 84, name: "not the schema", fault: one(faulttest.Text(`{"hello":"world"}`)), path: server, classes: "invalid_output invalid_output ok", also: repairAsked},
		{n: 84, name: "not the schema, mended", fault: []faulttest.Fault{faulttest.Text("I think it is fine."), faulttest.Healthy()}, path: "A1 A1", classes: "invalid_output ok", also: repairAsked},
		{n: 85, name: "nothing that exists is cited", fault: one(faulttest.Lying()), path: server, classes: "invalid_output invalid_output ok"},
	}
}

func honest(r faulttest.Request) string { return mustJSON(r, faulttest.Honest) }

// heldFor: the provider has its peace for that long.
func heldFor(d time.Duration) func(*testing.T, *world, *Engine) {
	return func(t *testing.T, w *world, e *Engine) {
		t.Helper()
		for _, st := range e.Status().Router.Endpoints {
			if w.names[st.Endpoint] != "A1" {
				continue
			}
			if left := time.Until(st.Until); left > d || left < d-time.Minute || st.Why == "" {
				t.Errorf("held for %v (%s), want %v", left, st.Why, d)
			}
		}
		n := len(w.a1.Requests())
		ask(t, e, testCase("D2"))
		if len(w.a1.Requests()) != n {
			t.Error("asked again at once")
		}
	}
}

func repairAsked(t *testing.T, w *world, _ *Engine) {
	t.Helper()
	r := w.a1.Requests()
	if len(r) < 2 || !strings.Contains(r[1].Last(), "Your answer was refused") || r[1].User() != r[0].User() {
		t.Error("the second request does not say what was wrong")
	}
}

// checkWaits: who is asked again is asked behind the wait that the decision names,
// which is the backoff of a passing fault, what the provider asked for, and
// nothing for the rest; who is asked for the first time is not waited for.
func checkWaits(t *testing.T, w *world, r *row, ds []Decision) {
	t.Helper()
	asked := w.a1.Requests()
	for i, d := range ds {
		least, most := int64(0), int64(0)
		if d.Next == route.RetrySame {
			switch d.Class { //nolint:exhaustive // the others ask again at once
			case llm.NetTransient, llm.Server:
				most = 30 // the base of the backoff, doubled at the second try
			case llm.RateLimit:
				least, most = 200, 220 // as asked, and up to a tenth
			}
		}
		if d.BackoffMS < least || d.BackoffMS > most {
			t.Errorf("row %d: attempt %d waits %d ms, want %d to %d", r.n, i+1, d.BackoffMS, least, most)
		}
		if d.Next != route.RetrySame || w.names[d.Endpoint] != "A1" || i+1 >= len(asked) {
			continue
		}
		if gap := asked[i+1].At.Sub(asked[i].At); gap.Milliseconds() < d.BackoffMS {
			t.Errorf("row %d: asked again behind %v, decided were %d ms", r.n, gap, d.BackoffMS)
		}
	}
}

// checkLines: a fault that heals by itself says nothing that stays on the screen;
// each other one says its line once.
func checkLines(t *testing.T, w *world, r *row, a Answer) {
	t.Helper()
	says := r.says
	if says == "" && strings.Contains(r.classes, "protocol") {
		says = "does not speak the API"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	times := 0
	for _, e := range w.events {
		switch {
		case says != "" && strings.Contains(e.Text, says) && e.Kind != EventFellBack:
			times++
		case says == "" && e.Kind != EventRetry, strings.Contains(e.Text, "\n"):
			t.Errorf("row %d: the line %q was not called for", r.n, e.Text)
		}
	}
	if times > 1 {
		t.Errorf("row %d: said %d times: %v", r.n, times, w.events)
	}
	if !strings.Contains(seen(a), says) {
		t.Errorf("row %d: user sees %q, want %q", r.n, seen(a), says)
	}
	if n := strings.Count(w.log.String(), `msg="asked a model"`); n != len(a.Decisions) {
		t.Errorf("row %d: %d lines in the log for %d decisions", r.n, n, len(a.Decisions))
	}
}

// checkSection: the part of the report is whole, whatever happened.
func checkSection(t *testing.T, r *row, a Answer, answered bool) {
	t.Helper()
	s := Summarize([]Answer{a}, "en")
	b, err := json.Marshal(s)
	if err != nil || strings.Contains(string(b), "null") || len(s.Decisions) != len(a.Decisions) {
		t.Errorf("row %d: %v %s", r.n, err, b)
	}
	if answered && (s.State != Answered || s.Provider == "" || s.Endpoint == "" || s.Model == "" || s.Tokens.Completion == 0) || !answered && (s.State != FellBack || s.Reason == "") {
		t.Errorf("row %d: section %s", r.n, b)
	}
}

// TestFaultMatrix shows, for each fault on real sockets, its class, the path, what
// the breaker counted, the waits, what the log and the user read, and that the
// report is whole.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(fmt.Sprintf("%02d-%s", r.n, strings.ReplaceAll(r.name, " ", "-")), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, r.fault...)
			if strings.HasPrefix(r.classes, "net_persistent") {
				w.hurry()
			}
			if r.change != nil {
				r.change(t, w)
			}
			e, c := w.run(), testCase("D1")
			a := ask(t, e, c)
			w.complete(c, a)
			path, classes, counted := w.path(a.Decisions)
			if path != r.path || classes != r.classes || counted != r.counted {
				t.Errorf("row %d: %s (%s) counted %d, want %s (%s) counted %d: %s", r.n, path, classes, counted, r.path, r.classes, r.counted, a.Reason)
			}
			answered := strings.HasSuffix(r.classes, "ok")
			if (a.State == Answered) != answered {
				t.Errorf("row %d: state %s reason %q rejected %v", r.n, a.State, a.Reason, a.Rejected)
			}
			checkWaits(t, w, &r, a.Decisions)
			checkLines(t, w, &r, a)
			checkSection(t, &r, a, answered)
			if r.says != "" && !w.said(r.says) {
				t.Errorf("row %d: no line on the screen with %q: %v", r.n, r.says, w.events)
			}
			inARow := r.counted
			if strings.HasSuffix(r.path, "A1") && answered {
				inARow = 0 // an answer forgives what was counted
			}
			st := e.Status().Router
			if a1 := st.Endpoints[0]; st.InUse != 0 || st.Failures < int64(r.counted) || a1.Failures != inARow || a1.State != "closed" {
				t.Errorf("row %d: left behind %+v, want %d failures in a row", r.n, st, inARow)
			}
			if r.also != nil {
				r.also(t, w, e)
			}
		})
	}
}

// TestEveryRow: the rows that are no single fault of an endpoint have tests of
// their own; none is without one.
func TestEveryRow(t *testing.T) {
	t.Parallel()
	tested := map[int]bool{
		73: true, // TestInterrupted
		74: true, // TestTookTooLong
		75: true, // TestBreakerOnRealSockets, route: TestTripAndFallBackAtOnce, BenchmarkOpenPath
		76: true, // TestOneProbeForAThousandCases, route: TestOneProbe
		77: true, // TestBreakerOnRealSockets, route: TestProbeFailsAndTimeGrows
		78: true, // route: TestCancelledProbe
		79: true, // route: TestPanicAndGoexit
		80: true, // route: TestStaleResults
		81: true, // TestFailoverBenchS15
		82: true, // TestOwnNetworkDown, route: TestNetworkGate
		83: true, // TestAvalanche, route: TestBulkhead
		86: true, // TestInjectionIsHarmless
		87: true, // world.complete, of every row; TestRandomFaultsOnSockets
		88: true, // TestConfigurationFaults, TestKeyFiles
		89: true, // route: TestSuspend
		90: true, // TestShutdownInBackoff
	}
	for _, r := range rows() {
		tested[r.n] = true
	}
	for n := 1; n <= 90; n++ {
		if !tested[n] {
			t.Errorf("row %d has no test", n)
		}
	}
}

// TestRandomFaultsOnSockets: whatever faults come in whatever order, no call goes
// back, exceeds its tries, takes a part for the whole or shows the key.
func TestRandomFaultsOnSockets(t *testing.T) {
	t.Parallel()
	var pool [][]faulttest.Fault
	for _, r := range rows() {
		if r.change == nil && !strings.Contains(r.classes, "net_persistent") && r.n != 44 && r.n != 69 { // those take their time
			pool = append(pool, r.fault)
		}
	}
	for seed := range uint64(24) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t)
			for _, s := range []*faulttest.Server{w.a1, w.a2, w.b1} {
				var script []faulttest.Fault
				for range 1 + rnd.IntN(4) {
					faults := pool[rnd.IntN(len(pool))]
					script = append(script, faults[rnd.IntN(len(faults))])
				}
				s.Script(script...)
			}
			e := w.run()
			for i := range 4 {
				c := testCase(fmt.Sprintf("D%d", i+1))
				a := ask(t, e, c)
				w.complete(c, a)
				last, left := "", map[string]bool{}
				for _, d := range a.Decisions {
					if d.Endpoint != last && left[d.Endpoint] {
						t.Errorf("came back to %s: %+v", w.names[d.Endpoint], a.Decisions)
					}
					last, left[last] = d.Endpoint, true
				}
				if n := len(a.Decisions); n > 6+3 { // those that were not sent have a decision too
					t.Errorf("%d decisions", n)
				}
				if (a.State == Answered || a.State == Partial) && (!strings.Contains(a.Diagnosis.Explanation, "It was seen") || a.Diagnosis.Confidence == 0) {
					t.Errorf("a part was taken for the whole: %+v", a.Diagnosis)
				}
			}
			if st := e.Status().Router; st.InUse != 0 || st.Waiting != 0 {
				t.Errorf("left behind: %+v", st)
			}
		})
	}
}
