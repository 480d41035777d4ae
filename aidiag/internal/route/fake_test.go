package route

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"netwhy/aidiag/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is what a fake endpoint does with one request.
type step func(ctx context.Context, q llm.Request) (llm.Reply, error)

// fake is an endpoint without a network: steps in turn, the last one stays.
type fake struct {
	steps []step
	asked []time.Time
	qs    []llm.Request
}

func (f *fake) Ask(ctx context.Context, q llm.Request) (llm.Reply, error) {
	f.asked = append(f.asked, time.Now())
	f.qs = append(f.qs, q)
	s := f.steps[0]
	if len(f.steps) > 1 {
		f.steps = f.steps[1:]
	}
	return s(ctx, q)
}

func good(ctx context.Context, q llm.Request) (llm.Reply, error) {
	return takes(100*time.Millisecond, "good")(ctx, q)
}

// takes answers after d.
func takes(d time.Duration, content string) step {
	return func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		if !sleep(ctx, d) {
			return llm.Reply{Took: d}, &llm.AttemptError{Class: llm.ClientAbort}
		}
		return llm.Reply{Content: content, Status: 200, TTFB: d, Took: d, Prompt: 10, Completion: 5, Model: "m"}, nil
	}
}

func fails(class llm.Class) step { return failsAfter(0, class, 0) }

func failsAfter(d time.Duration, class llm.Class, retryAfter time.Duration) step {
	return func(ctx context.Context, _ llm.Request) (llm.Reply, error) {
		if !sleep(ctx, d) {
			return llm.Reply{Took: d}, &llm.AttemptError{Class: llm.ClientAbort}
		}
		return llm.Reply{Took: d, Prompt: 10}, &llm.AttemptError{Class: class, RetryAfter: retryAfter}
	}
}

func refused() step {
	return func(context.Context, llm.Request) (llm.Reply, error) {
		return llm.Reply{}, &llm.AttemptError{Class: llm.NetPersistent, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	}
}

// silent is an endpoint that accepts and never answers, as llm.Ask reports it.
func silent(limit time.Duration) step {
	return func(ctx context.Context, q llm.Request) (llm.Reply, error) {
		d := limit
		if q.FirstByte > 0 {
			d = min(d, q.FirstByte)
		}
		if !sleep(ctx, d) {
			return llm.Reply{Took: d}, &llm.AttemptError{Class: llm.ClientAbort}
		}
		return llm.Reply{Took: d}, &llm.AttemptError{Class: llm.NetPersistent, Err: llm.ErrTTFB}
	}
}

func provider1(name string, eps ...*fake) Provider {
	p := Provider{Name: name, Model: "m", KeyFrom: "$KEY", FirstByte: 15 * time.Second, Caps: llm.Caps{Stream: true, JSON: llm.JSONSchema, MaxTokens: true}}
	for i, e := range eps {
		host := name + string(rune('1'+i))
		p.Targets = append(p.Targets, Target{URL: "https://" + host, Host: host, Asker: e})
	}
	return p
}

func call() *Call {
	return &Call{
		Case:    "D1",
		Compose: func(s Shape) llm.Request { return llm.Request{Repair: s.Repair, Reply: s.Reply} },
		Judge: func(content string, _ bool) (string, bool) {
			return "mend it", content == "good"
		},
	}
}

func path(r Result) string {
	var out strings.Builder
	for _, d := range r.Decisions {
		out.WriteString(d.Endpoint[len("https://"):] + " ")
	}
	return out.String()
}

func do(t *testing.T, r *Router) Result {
	t.Helper()
	return r.Do(t.Context(), call())
}

var errTest = errors.New("test")
