package aidiag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  map[string]string
		want []string // name model endpoint kind
	}{
		{"nothing", nil, nil},
		{"openai", map[string]string{"OPENAI_API_KEY": testKey}, []string{"openai gpt-4.1-mini https://api.openai.com/v1 openai"}},
		{"two", map[string]string{"DEEPSEEK_API_KEY": "x", "ANTHROPIC_API_KEY": "y"}, []string{"deepseek deepseek-chat https://api.deepseek.com/v1 openai", "anthropic claude-haiku-4-5 https://api.anthropic.com/v1 anthropic"}},
		{"gemini", map[string]string{"GEMINI_API_KEY": "x"}, []string{"gemini gemini-2.5-flash https://generativelanguage.googleapis.com/v1beta/openai openai"}},
		{"own base", map[string]string{"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "qwen"}, []string{"openai-compatible qwen http://127.0.0.1:9/v1 openai"}},
		{"azure", map[string]string{"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com", "AZURE_OPENAI_API_KEY": "x", "AZURE_OPENAI_DEPLOYMENT": "d"}, []string{"azure d https://r.openai.azure.com azure"}},
		{"ollama", map[string]string{"OLLAMA_HOST": "0.0.0.0:11434", "OLLAMA_MODEL": "m"}, []string{"ollama m http://127.0.0.1:11434/v1 openai"}},
	} {
		var got []string
		found := Discover(func(k string) string { return c.env[k] })
		for _, p := range found {
			got = append(got, p.Name+" "+p.Model+" "+p.Endpoints[0]+" "+p.Kind)
		}
		if strings.Join(got, ";") != strings.Join(c.want, ";") {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if err := (Config{Providers: found}).Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Providers = nil
	w.deps.Getenv = func(string) string { return "" }
	w.deps.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	a := ask(t, w.run(), testCase("D1"))
	if a.State != Off || !strings.Contains(a.Reason, "OPENAI_API_KEY") || a.Diagnosis.Title != a.Local.Title {
		t.Errorf("got %+v", a)
	}
	if s := Summarize([]Answer{a}, "en"); s.State != Off || !strings.Contains(s.Reason, "OPENAI_API_KEY") {
		t.Errorf("got %+v", s)
	}
}

// TestLocalServerIsFound: without any configuration a model server on loopback
// is used.
func TestLocalServerIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.cfg.Providers = nil
	w.deps.Getenv = func(string) string { return "" }
	w.deps.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "127.0.0.1:8000" {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		var d net.Dialer // without its limit of a third of a second: the machine may be slow
		return d.DialContext(context.WithoutCancel(ctx), network, w.a1.Addr())
	}
	e := w.run()
	if a := ask(t, e, testCase("D1")); a.State != Answered || a.Provider != "vllm" {
		t.Errorf("got %s %s: %s", a.State, a.Provider, a.Reason)
	}
	if c := e.Check(t.Context()); len(c) != 1 || !c[0].OK || c[0].Model != "fault-1" || !c[0].Local {
		t.Errorf("got %+v", c)
	}
}

func TestLocalOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.cfg.Policy = policyLocal
	w.cfg.Providers = []Provider{{Name: "deepseek"}, w.cfg.Providers[0]}
	a := ask(t, w.run(), testCase("D1"))
	if a.State != Answered || a.Provider != "A" {
		t.Errorf("got %+v", a)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	closed := faulttest.New(t)
	closed.Stop()
	for _, c := range []struct {
		name    string
		fault   faulttest.Fault
		url     string
		model   string
		ok      bool
		class   Class
		problem string
		remedy  string
	}{
		{name: "good", fault: faulttest.Healthy(), model: "fault-1", ok: true},
		{name: "other model", fault: faulttest.Healthy(), model: "gpt-9", class: llm.NotFound, problem: "does not list the model gpt-9", remedy: "[fault-1]"},
		{name: "no list", fault: func(fc *faulttest.Conn) {
			if fc.Request.Method == http.MethodGet {
				faulttest.HTML(404)(fc)
				return
			}
			faulttest.Text("pong")(fc)
		}, model: "m", ok: true},
		{name: "key", fault: faulttest.Error(401, "", "invalid_api_key", "Incorrect API key provided: "+testKey), model: "m", class: llm.Auth, problem: "auth (401)", remedy: "put it into $KEY_A"},
		{name: "portal", fault: faulttest.HTML(200), model: "m", class: llm.Protocol, problem: "text/html", remedy: "captive portal"},
		{name: "refused", url: closed.URL(), model: "m", class: llm.NetPersistent, problem: "refused", remedy: "start the server"},
		{name: "wrong path", fault: faulttest.HTML(404), model: "m", class: llm.NotFound, problem: "not_found (404)", remedy: "ends in /v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.fault)
			w.lonely(0)
			w.cfg.Providers[0].Model = c.model
			if c.url != "" {
				w.cfg.Providers[0].Endpoints[0] = c.url
			}
			got := w.engine().Check(t.Context())
			if len(got) != 1 {
				t.Fatalf("got %+v", got)
			}
			r := got[0]
			if r.OK != c.ok || r.Class != c.class || !strings.Contains(r.Problem, c.problem) || !strings.Contains(r.Remedy, c.remedy) || r.KeyFrom != "$KEY_A" {
				t.Errorf("got %+v", r)
			}
			if strings.Contains(r.Problem+r.Remedy, testKey) {
				t.Error("the key shows")
			}
			if (r.OK || r.Class == llm.Auth) && r.Latency <= 0 {
				t.Error("no latency")
			}
		})
	}
	w := newWorld(t)
	w.lonely(0)
	w.deps.Getenv = func(string) string { return "" }
	if got := w.engine().Check(t.Context()); len(got) != 1 || got[0].OK || !strings.Contains(got[0].Problem, "no key in $KEY_A: export it") {
		t.Errorf("got %+v", got)
	}
}

func TestErrorsCanBeToldApart(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Queue: -1, Policy: "x"}, Deps{})
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.Field != "ai.queue" {
		t.Errorf("got %v", err)
	}
}

// TestCheckNamesTheProxy, and not who uses it.
func TestCheckNamesTheProxy(t *testing.T) {
	t.Parallel()
	proxy := faulttest.New(t, faulttest.Healthy())
	w := newWorld(t)
	w.lonely(0)
	w.deps.Proxy = func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "http", User: url.UserPassword("alice", "hunter2"), Host: proxy.Addr()}, nil
	}
	got := w.engine().Check(t.Context())
	if len(got) != 1 || got[0].Proxy != proxy.Addr() || strings.Contains(fmt.Sprint(got), "hunter2") || len(proxy.Requests()) == 0 {
		t.Errorf("got %+v", got)
	}
}
