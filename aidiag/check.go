package aidiag

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/redact"
)

// EndpointCheck is what asking one endpoint for its models came to.
type EndpointCheck struct {
	Provider string        `json:"provider"`
	Endpoint string        `json:"endpoint"`
	Model    string        `json:"model"` // that is configured
	KeyFrom  string        `json:"key_from"`
	Local    bool          `json:"local"`
	Proxy    string        `json:"proxy"` // host and port of the proxy on the way; "" for none
	OK       bool          `json:"ok"`
	Latency  time.Duration `json:"latency_ns"`
	Models   []string      `json:"models"` // at most 200; empty where they cannot be listed
	Class    Class         `json:"error_class"`
	Problem  string        `json:"problem"` // "" when OK
	Remedy   string        `json:"remedy"`  // what to do; "" when OK
}

// Check asks every endpoint of every provider, one behind the other, and says
// what works, what does not and how to mend it. It is the one function besides
// Run that reads keys and opens sockets.
func (e *Engine) Check(ctx context.Context) []EndpointCheck {
	list := e.cfg.Providers
	if len(list) == 0 {
		list = Discover(e.deps.Getenv)
	}
	if len(list) == 0 {
		list = e.findLocal(ctx)
	}
	out := []EndpointCheck{}
	for _, p := range list {
		c := &crew{}
		_ = e.recruit(c, []Provider{p}, true)
		for _, n := range c.notices {
			out = append(out, EndpointCheck{
				Provider: p.Name, Model: p.Model, KeyFrom: p.keyFrom(), Models: []string{}, Class: n.Class, Problem: n.Text, Remedy: "mend the configuration as it says",
			})
		}
		for _, m := range c.members {
			out = append(out, m.check(ctx))
		}
		c.close()
	}
	return out
}

func (m member) check(ctx context.Context) EndpointCheck {
	r := EndpointCheck{Provider: m.provider.Name, Endpoint: m.url, Model: m.provider.Model, KeyFrom: m.keyFrom, Local: m.local, Proxy: m.proxy, Models: []string{}}
	names, reply, err := m.endpoint.Models(ctx)
	r.Latency = reply.TTFB
	a, failed := errors.AsType[*llm.AttemptError](err)
	if failed && a.Class == llm.NotFound {
		// Not every service lists its models: ask for one word instead.
		reply, err = m.endpoint.Ask(ctx, llm.Request{System: "Answer with one word.", User: "ping", Caps: llm.Caps{}})
		r.Latency = reply.TTFB
		if a, failed = errors.AsType[*llm.AttemptError](err); !failed || a.Class == llm.Parse || a.Class == llm.TooLarge {
			r.OK = true
			return r
		}
	}
	if failed {
		r.Class, r.Problem = a.Class, redact.Clean(a.Error(), 300)
		r.Remedy = m.remedy(a)
		return r
	}
	slices.Sort(names)
	r.Models = names
	r.OK = true
	if len(names) > 0 && !slices.Contains(names, r.Model) && !slices.Contains(names, "models/"+r.Model) && m.provider.Kind != string(llm.Azure) {
		const most = 5
		r.OK, r.Class = false, llm.NotFound
		r.Problem = "the endpoint answers, but does not list the model " + r.Model
		r.Remedy = fmt.Sprintf("set model to one of those it lists, such as %v", names[:min(len(names), most)])
	}
	return r
}

func (m member) remedy(a *llm.AttemptError) string {
	key := m.keyFrom
	if key == "" {
		key = "api_key_env"
	}
	switch a.Class { //nolint:exhaustive // the others have the last line
	case llm.Auth:
		return "make a new key at the provider and put it into " + key
	case llm.Billing:
		return "add credit at the provider, or put another provider first"
	case llm.NotFound:
		return "check model and base URL; the URL mostly ends in /v1"
	case llm.NetPersistent:
		if m.local {
			return "start the server, or correct its port"
		}
		return "check name, port, DNS, firewall and proxy (HTTPS_PROXY)"
	case llm.NetTransient:
		return "try again; if it stays, look at firewall and proxy"
	case llm.TLS:
		return "if your network inspects TLS, give its authority with ca_file; otherwise somebody intercepts"
	case llm.Protocol:
		return "log in to the captive portal, or correct the base URL"
	case llm.RateLimit:
		return "wait, or raise the limit at the provider"
	case llm.Server, llm.GatewayTimeout:
		return "the provider has an outage; see its status page"
	}
	return "see the problem"
}
