package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretKey = "sk-test-0123456789abcdef"

func endpoint(t *testing.T, base string, change func(*llm.Options, *llm.Network)) *llm.Endpoint {
	t.Helper()
	b, err := llm.ParseBase(base, false)
	if err != nil {
		t.Fatal(err)
	}
	key, err := llm.NewSecret(secretKey)
	if err != nil {
		t.Fatal(err)
	}
	opt := llm.Options{
		BaseURL: b.URL, Kind: llm.OpenAI, Key: key, Model: "m",
		Timeouts: llm.Timeouts{FirstByte: 30 * time.Second, Idle: 30 * time.Second, NoData: 30 * time.Second, Attempt: time.Minute, Grace: 60 * time.Millisecond},
	}
	net := llm.Network{Base: b, Reach: llm.Reach{Connect: 20 * time.Second, Handshake: 33 * time.Second}}
	if change != nil {
		change(&opt, &net)
	}
	tr := llm.NewTransport(net)
	t.Cleanup(tr.CloseIdleConnections)
	opt.Transport = tr
	e, err := llm.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// hasty shortens the limits where they are what is tested. The header of an
// answer that has one is waited for: the machine may be slow.
func hasty(yes, header bool) func(*llm.Options, *llm.Network) {
	return func(o *llm.Options, n *llm.Network) {
		if yes {
			o.Timeouts = llm.Timeouts{FirstByte: 300 * time.Millisecond, Idle: 200 * time.Millisecond, NoData: 300 * time.Millisecond, Attempt: time.Minute, Grace: 60 * time.Millisecond}
			if header {
				o.Timeouts.FirstByte = 30 * time.Second
			}
			n.Reach = llm.Reach{Connect: 300 * time.Millisecond, Handshake: 500 * time.Millisecond}
		}
	}
}

func ask() llm.Request {
	return llm.Request{System: "s", User: "u", Caps: llm.Caps{Stream: true, StreamUsage: true, MaxTokens: true}, MaxTokens: 100}
}

// TestClasses shows one attempt for each fault of the wire, on real sockets.
func TestClasses(t *testing.T) {
	t.Parallel()
	f := faulttest.Events
	answer := faulttest.Delta("hel") + faulttest.Delta("lo") + faulttest.Finish("stop")
	for _, c := range []struct {
		name   string
		fault  faulttest.Fault
		class  llm.Class
		status int
		code   string
	}{
		{"answer", f(answer + faulttest.Usage + faulttest.Done), llm.OK, 200, ""},
		{"finish without done", f(answer), llm.OK, 200, ""},
		{"finish, stays open", faulttest.Stalled(answer), llm.OK, 200, ""},
		{"finish, then reset", faulttest.Cut(answer, true), llm.OK, 200, ""},
		{"last line without newline", f(strings.TrimRight(answer, "\n")), llm.OK, 200, ""},
		{"CR only", f(strings.ReplaceAll(answer+faulttest.Done, "\n", "\r")), llm.OK, 200, ""},
		{"CRLF and BOM", f("\xef\xbb\xbf" + strings.ReplaceAll(answer+faulttest.Done, "\n", "\r\n")), llm.OK, 200, ""},
		{"data in several lines", f("data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n"), llm.OK, 200, ""},
		{"no blank lines between", f(strings.ReplaceAll(answer+faulttest.Done, "\n\n", "\n")), llm.OK, 200, ""},
		{"20 comments first", faulttest.KeepAlive(time.Millisecond, 20, answer), llm.OK, 200, ""},
		{"400 blank lines first", f(strings.Repeat("\n", 400) + answer), llm.OK, 200, ""},
		{"float created, numeric id", f(`data: {"id":7,"created":1.5,"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\n"), llm.OK, 200, ""},
		{"array content", f(`data: {"choices":[{"delta":{"content":[{"type":"text","text":"hello"}]},"finish_reason":"stop"}]}` + "\n\n"), llm.OK, 200, ""},
		{"reasoning first", f(`data: {"choices":[{"delta":{"reasoning":"hm"}}]}` + "\n\n" + answer), llm.OK, 200, ""},

		{"silent", faulttest.Silent(), llm.NetPersistent, 0, ""},
		{"headers only", faulttest.HeadersOnly(), llm.NetPersistent, 200, ""},
		{"stall", faulttest.Stalled(faulttest.Delta("x")), llm.NetPersistent, 200, ""},
		{"comments for ever", faulttest.KeepAlive(20*time.Millisecond, -1, ""), llm.NetPersistent, 200, ""},
		{"reset", faulttest.ResetNow(), llm.NetTransient, 0, ""},
		{"close", faulttest.CloseNow(), llm.NetTransient, 0, ""},
		{"reset in header", faulttest.ResetInHeader(), llm.NetTransient, 0, ""},
		{"FIN in stream", faulttest.Cut(faulttest.Delta("x"), false), llm.NetTransient, 200, ""},
		{"RST in stream", faulttest.Cut(faulttest.Delta("x"), true), llm.NetTransient, 200, ""},

		{"ssh banner", faulttest.Bytes("SSH-2.0-OpenSSH_9.6\r\n"), llm.Protocol, 0, ""},
		{"2 MiB header", faulttest.HugeHeader(2 << 20), llm.Protocol, 0, ""},
		{"redirect", faulttest.Redirect(307, "http://127.0.0.1:9/"), llm.Protocol, 307, ""},
		{"html", faulttest.HTML(200), llm.Protocol, 200, ""},
		{"json to a stream", faulttest.JSON(200, `{"choices":[]}`), llm.Protocol, 200, ""},
		{"204", faulttest.Bytes("HTTP/1.1 204 No Content\r\n\r\n"), llm.Protocol, 204, ""},
		{"sse type, html body", faulttest.Typed("text/event-stream", "<!doctype html><title>x</title>\n"), llm.Protocol, 200, ""},
		{"8 MiB line", faulttest.HugeLine(8 << 20), llm.Protocol, 200, ""},
		{"endless", faulttest.Endless(), llm.Protocol, 200, ""},

		{"empty stream", f(""), llm.Parse, 200, ""},
		{"only done", f(faulttest.Done), llm.Parse, 200, ""},
		{"finish without text", f(faulttest.Finish("stop")), llm.Parse, 200, ""},
		{"blank content", f(faulttest.Delta(" \n") + faulttest.Finish("stop") + faulttest.Done), llm.Parse, 200, ""},
		{"no stop marker", f(faulttest.Delta("x")), llm.Parse, 200, ""},
		{"half line", f(faulttest.Delta("x") + `data: {"choices":[{"del`), llm.Parse, 200, ""},
		{"half JSON in a full line", f("data: {\"choices\":[{\"del\n\n" + answer), llm.Parse, 200, ""},
		{"wrong type", f(`data: {"choices":[{"delta":{"content":5}}]}` + "\n\n" + answer), llm.Parse, 200, ""},
		{"choices no list", f(`data: {"choices":"x"}` + "\n\n" + answer), llm.Parse, 200, ""},

		{"error in stream", f(`data: {"error":{"code":503,"message":"down"}}` + "\n\n"), llm.Server, 200, "503"},
		{"comment, then error", f(": x\n\n" + `data: {"error":{"code":503,"message":"down"}}` + "\n\n"), llm.Server, 200, "503"},
		{"event: error", f("event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"x"}}` + "\n\n"), llm.Server, 200, "overloaded_error"},
		{"error not first", f(`data: {"id":"x","choices":[],"error":{"message":"down","code":500}}` + "\n\n"), llm.Server, 200, "500"},
		{"429 in stream", f(`data: {"error":{"code":429,"message":"slow"}}` + "\n\n"), llm.RateLimit, 200, "429"},
		{"429 as bare line", f(`{"error":{"code":"rate_limit_exceeded","message":"slow"}}` + "\n"), llm.RateLimit, 200, "rate_limit_exceeded"},
		{"error as 200 JSON", faulttest.JSON(200, `{"error":{"type":"server_error"}}`), llm.Server, 200, "server_error"},

		{"400", faulttest.Error(400, "invalid_request_error", "bad", "no"), llm.BadRequest, 400, "bad"},
		{"400 context", faulttest.Error(400, "invalid_request_error", "context_length_exceeded", "x"), llm.TooLarge, 400, "context_length_exceeded"},
		{"400 azure filter", faulttest.Error(400, "", "content_filter", "x"), llm.ContentFilter, 400, "content_filter"},
		{"400 spend limit", faulttest.Error(400, "invalid_request_error", "", "Your credit balance is too low"), llm.Billing, 400, "invalid_request_error"},
		{"401", faulttest.Error(401, "x", "invalid_api_key", "Incorrect API key provided: "+secretKey), llm.Auth, 401, "invalid_api_key"},
		{"402", faulttest.Error(402, "", "", "Insufficient Balance"), llm.Billing, 402, ""},
		{"403", faulttest.Error(403, "", "", "x"), llm.Auth, 403, ""},
		{"404 model", faulttest.Error(404, "", "model_not_found", "x"), llm.NotFound, 404, "model_not_found"},
		{"404 html", faulttest.HTML(404), llm.NotFound, 404, ""},
		{"404 string", faulttest.JSON(404, `{"error":"model 'x' not found"}`), llm.NotFound, 404, ""},
		{"408", faulttest.Error(408, "", "", "the request took too long"), llm.Server, 408, ""},
		{"400 llama.cpp context", faulttest.Error(400, "exceed_context_size_error", "", "the request exceeds the available context size"), llm.TooLarge, 400, "exceed_context_size_error"},
		{"422 prompt", faulttest.Error(422, "", "", "Prompt is too long"), llm.TooLarge, 422, ""},
		{"413 html", faulttest.HTML(413), llm.TooLarge, 413, ""},
		{"422 detail", faulttest.JSON(422, `{"detail":"x"}`), llm.BadRequest, 422, ""},
		{"429", faulttest.Error(429, "", "", "", "Retry-After: 3600"), llm.RateLimit, 429, ""},
		{"429 quota", faulttest.Error(429, "insufficient_quota", "insufficient_quota", ""), llm.Billing, 429, "insufficient_quota"},
		{"429 array", faulttest.JSON(429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]`), llm.RateLimit, 429, "429"},
		{"500", faulttest.Error(500, "", "", ""), llm.Server, 500, ""},
		{"500 cut", faulttest.ErrorCut(500), llm.Server, 500, ""},
		{"500 with 64 MiB", faulttest.ErrorHuge(500, 64<<20), llm.Server, 500, ""},
		{"500 bomb", faulttest.ErrorBomb(500, 20), llm.Server, 500, ""},
		{"501", faulttest.Error(501, "", "", ""), llm.NotFound, 501, ""},
		{"502 html", faulttest.HTML(502), llm.Server, 502, ""},
		{"504", faulttest.HTML(504), llm.GatewayTimeout, 504, ""},
		{"524", faulttest.HTML(524), llm.GatewayTimeout, 524, ""},
		{"529", faulttest.Error(529, "overloaded_error", "", ""), llm.Server, 529, "overloaded_error"},
		{"length", f(faulttest.Delta("x") + faulttest.Finish("length")), llm.TooLarge, 200, "length"},
		{"filter", f(faulttest.Delta("x") + faulttest.Finish("content_filter")), llm.ContentFilter, 200, "content_filter"},
		{"refusal", f(`data: {"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}` + "\n\n"), llm.ContentFilter, 200, "refusal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faulttest.New(t, c.fault)
			e := endpoint(t, s.URL(), hasty(c.class == llm.NetPersistent, c.status != 0))
			reply, err := e.Ask(t.Context(), ask())
			got := llm.OK
			if err != nil {
				a, ok := errors.AsType[*llm.AttemptError](err)
				if !ok {
					t.Fatalf("error is %T", err)
				}
				got = a.Class
				if a.Code != c.code {
					t.Errorf("code %q, want %q", a.Code, c.code)
				}
				if strings.Contains(a.Error(), secretKey) || len(a.Message) > 210 {
					t.Errorf("unfit for people: %s", a.Error())
				}
			}
			if got != c.class || reply.Status != c.status {
				t.Errorf("class %q status %d, want %q %d (%v)", got, reply.Status, c.class, c.status, err)
			}
			want := ""
			if c.class == llm.OK {
				want = "hello"
			}
			if reply.Content != want {
				t.Errorf("content %q, want %q", reply.Content, want)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestClassesBelowHTTP shows names, addresses and certificates.
func TestClassesBelowHTTP(t *testing.T) {
	t.Parallel()
	tlsServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0)
	tlsServer.StartTLS()
	defer tlsServer.Close()
	closed := faulttest.New(t)
	closed.Stop()
	fail := func(err error) llm.Dial {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	dialErr := func(errno syscall.Errno) error { return &net.OpError{Op: "dial", Err: errno} }
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, c := range []struct {
		name, base string
		dial       llm.Dial
		class      llm.Class
	}{
		{"refused", closed.URL(), nil, llm.NetPersistent},
		{"no such name", "https://nx.invalid/v1", fail(&net.DNSError{IsNotFound: true}), llm.NetPersistent},
		{"resolver busy", "https://x.test/v1", fail(&net.DNSError{IsTemporary: true}), llm.NetTransient},
		{"black hole", "https://x.test/v1", hang, llm.NetPersistent},
		{"host unreachable", "https://x.test/v1", fail(dialErr(syscall.EHOSTUNREACH)), llm.NetPersistent},
		{"net unreachable", "https://x.test/v1", fail(dialErr(syscall.ENETUNREACH)), llm.NetPersistent},
		{"unknown CA", tlsServer.URL, nil, llm.TLS},
		{"TLS hangs", "https://" + faulttest.Deaf(t) + "/v1", nil, llm.NetPersistent},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := endpoint(t, c.base, func(o *llm.Options, n *llm.Network) {
				hasty(c.class == llm.NetPersistent, false)(o, n)
				n.Dial = c.dial
			})
			_, err := e.Ask(t.Context(), ask())
			a, ok := errors.AsType[*llm.AttemptError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if a.Class != c.class {
				t.Errorf("class %q, want %q: %v", a.Class, c.class, a)
			}
		})
	}
}

// TestPlainPortUnderTLS: what answers in clear text on a TLS port is a TLS fault.
func TestPlainPortUnderTLS(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	defer func() { _ = srv.Close(); <-done }()
	_, err = endpoint(t, "https://"+l.Addr().String()+"/v1", nil).Ask(t.Context(), ask())
	if a, ok := errors.AsType[*llm.AttemptError](err); !ok || a.Class != llm.TLS {
		t.Errorf("got %v, want tls", err)
	}
}

// TestHTTP2Reset: RST_STREAM in mid-stream is a passing fault of the network.
func TestHTTP2Reset(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, faulttest.Delta("x"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // the server's way to send RST_STREAM
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	e := endpoint(t, s.URL, func(_ *llm.Options, n *llm.Network) {
		n.Roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	})
	reply, err := e.Ask(t.Context(), ask())
	if a, ok := errors.AsType[*llm.AttemptError](err); !ok || a.Class != llm.NetTransient || reply.Content != "" {
		t.Errorf("got %v %q, want net_transient", err, reply.Content)
	}
}

func TestCallerEnds(t *testing.T) {
	t.Parallel()
	s := faulttest.New(t, faulttest.Silent())
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for len(s.Requests()) == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel(errors.New("own reason"))
	}()
	_, err := endpoint(t, s.URL(), nil).Ask(ctx, ask())
	if a, ok := errors.AsType[*llm.AttemptError](err); !ok || a.Class != llm.ClientAbort {
		t.Errorf("got %v, want client_abort", err)
	}
}

// TestBody: what Body returns is what leaves.
func TestBody(t *testing.T) {
	t.Parallel()
	s := faulttest.New(t, faulttest.Text("hello"))
	e := endpoint(t, s.URL(), nil)
	q := ask()
	q.Caps.JSON, q.Schema = llm.JSONSchema, json.RawMessage(`{"type":"object"}`)
	want, err := e.Body(q)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := e.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	if string(got.Body) != string(want) {
		t.Errorf("sent %s\nwant %s", got.Body, want)
	}
	if got.Header.Get("Authorization") != "Bearer "+secretKey || got.Path != "/v1/chat/completions" {
		t.Errorf("header %v path %s", got.Header, got.Path)
	}
	if got.Header.Get("Idempotency-Key") != "" {
		t.Error("net/http would repeat such a request by itself")
	}
	if reply.Prompt != 700 || reply.Completion != 90 || reply.Model != "fault-1" {
		t.Errorf("usage %d %d %s", reply.Prompt, reply.Completion, reply.Model)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		kind       llm.Kind
		model      string
		want       string // path
		header     string
	}{
		{"azure deployment", "", llm.Azure, "gpt-4.1", "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21", "Api-Key"},
		{"azure v1", "/openai/v1", llm.Azure, "gpt-4.1", "/openai/v1/chat/completions", "Api-Key"},
		{"anthropic", "/v1", llm.Anthropic, "claude", "/v1/chat/completions", "Authorization"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := faulttest.New(t, faulttest.Text("hello"))
			e := endpoint(t, "http://"+s.Addr()+c.path, func(o *llm.Options, _ *llm.Network) { o.Kind, o.Model = c.kind, c.model })
			if _, err := e.Ask(t.Context(), ask()); err != nil {
				t.Fatal(err)
			}
			r := s.Requests()[0]
			if r.Path != c.want || !strings.Contains(r.Header.Get(c.header), secretKey) {
				t.Errorf("path %s header %v", r.Path, r.Header)
			}
			if c.header == "Api-Key" && r.Header.Get("Authorization") != "" {
				t.Error("key sent twice")
			}
		})
	}
}

// TestWithoutStream: the plain form of the answer, and what may be wrong with it.
func TestWithoutStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		class      llm.Class
	}{
		{"answer", `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`, llm.OK},
		{"no finish", `{"choices":[{"message":{"content":"hello"}}]}`, llm.Parse},
		{"empty", `{}`, llm.Parse},
		{"error in 200", `{"error":{"message":"x"}}`, llm.Parse},
		{"truncated", `{"choices":[{"mess`, llm.NetTransient},
		{"too large", `{"x":"` + strings.Repeat("y", 5<<20) + `"}`, llm.Protocol},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := faulttest.New(t, faulttest.JSON(200, c.body))
			q := ask()
			q.Caps.Stream = false
			reply, err := endpoint(t, s.URL(), nil).Ask(t.Context(), q)
			got := llm.OK
			if a, ok := errors.AsType[*llm.AttemptError](err); ok {
				got = a.Class
			}
			if got != c.class || (got == llm.OK) != (reply.Content == "hello") {
				t.Errorf("class %q content %q, want %q: %v", got, reply.Content, c.class, err)
			}
		})
	}
}

func TestSecretMasks(t *testing.T) {
	t.Parallel()
	k, err := llm.NewSecret(" " + secretKey + "\n")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", slog.Any("key", k))
	js, err := json.Marshal(map[string]any{"key": k, "opt": llm.Options{Key: k}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%#v", k), fmt.Sprintf("%+v", llm.Options{Key: k}), log.String(), string(js)} {
		if strings.Contains(s, "0123456789") {
			t.Errorf("key shows in %s", s)
		}
	}
	if _, err := llm.NewSecret("sk\nX-Evil: 1"); err == nil {
		t.Error("a key with a line end was taken")
	}
}

func TestParseBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		private bool
		url     string // "" when refused
		local   bool
	}{
		{"https://api.openai.com/v1/", false, "https://api.openai.com/v1", false},
		{"https://api.openai.com/v1/chat/completions", false, "https://api.openai.com/v1", false},
		{"http://127.0.0.1:11434/v1", false, "http://127.0.0.1:11434/v1", true},
		{"http://localhost:8000/v1", false, "http://localhost:8000/v1", true},
		{"http://[::1]:8000/v1", false, "http://[::1]:8000/v1", true},
		{"http://10.0.0.5:8000/v1", true, "http://10.0.0.5:8000/v1", true},
		{"http://10.0.0.5:8000/v1", false, "", false},
		{"https://100.64.1.1/v1", false, "", false},
		{"http://api.openai.com/v1", false, "", false},
		{"api.openai.com/v1", false, "", false},
		{"ftp://x/v1", false, "", false},
		{"https://user:pw@x.test/v1", false, "", false},
		{"https://x.test/v1?key=1", false, "", false},
		{"http://169.254.169.254/v1", true, "", false},
		{"https://224.0.0.1/", true, "", false},
	} {
		b, err := llm.ParseBase(c.in, c.private)
		if (err != nil) != (c.url == "") || b.URL != c.url || b.Local != c.local {
			t.Errorf("%s: %+v %v, want %q local %t", c.in, b, err, c.url, c.local)
		}
	}
}

// TestBounded: of an endless or bloated answer only so much is read.
func TestBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault faulttest.Fault
		most  int64
	}{
		{"error body", faulttest.ErrorHuge(500, 64<<20), 64 << 10},
		{"unpacked error body", faulttest.ErrorBomb(500, 20), 64 << 10},
		{"line", faulttest.HugeLine(8 << 20), 1<<20 + 64<<10},
		{"stream", faulttest.Endless(), 16<<20 + 64<<10},
		{"document", faulttest.JSON(200, strings.Repeat(" ", 1<<20)), 64 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := faulttest.New(t, c.fault)
			reply, err := endpoint(t, s.URL(), nil).Ask(t.Context(), ask())
			if err == nil || reply.BytesIn > c.most || reply.BytesIn == 0 {
				t.Errorf("read %d bytes, limit %d: %v", reply.BytesIn, c.most, err)
			}
		})
	}
}
