package aidiag

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
	"netwhy/aidiag/internal/words"
)

// crew is the providers of a run with their keys, made for the first case.
type crew struct {
	router     *route.Router
	models     string // for the key of the cache
	members    []member
	transports []*http.Transport
	notices    []Notice // providers that could not be used, and why
}

// member is one endpoint of one provider.
type member struct {
	provider Provider
	url      string
	local    bool
	keyFrom  string
	proxy    string // host and port; "" for none
	endpoint *llm.Endpoint
}

func (c *crew) close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// crewNotices are told with every case; whoever sums up keeps one of each.
func crewNotices(c *crew) []Notice {
	if c == nil {
		return nil
	}
	return append([]Notice(nil), c.notices...)
}

// ErrNobody says that no provider can be asked.
var ErrNobody = errors.New("no AI provider is set up: set OPENAI_API_KEY or DEEPSEEK_API_KEY, or name a provider in the configuration file (netwhy config check tells what works)")

// assemble reads keys and makes the router, once. An interrupted attempt is made
// again by the next case.
func (e *Engine) assemble(ctx context.Context) (*crew, error) {
	if c := e.crew.Load(); c != nil {
		return c, nil
	}
	e.making.Lock()
	defer e.making.Unlock()
	if c := e.crew.Load(); c != nil || e.crewErr != nil {
		return c, e.crewErr
	}
	list := e.cfg.Providers
	if len(list) == 0 {
		list = Discover(e.deps.Getenv)
	}
	if len(list) == 0 {
		list = e.findLocal(ctx)
		if ctx.Err() != nil {
			return nil, ErrNobody
		}
	}
	c := &crew{}
	providers := e.downward(c, e.recruit(c, list, true))
	if len(providers) == 0 {
		e.crewErr = ErrNobody
		if len(c.notices) > 0 {
			e.crewErr = errors.New(c.notices[0].Text)
		}
		return nil, e.crewErr
	}
	c.router = route.New(e.limits, providers, e.ledger.request, nil, e.words)
	e.crew.Store(c)
	return c, nil
}

// downward drops cloud providers that stand behind a local one: a case never goes
// from this machine to the cloud because something here failed.
func (e *Engine) downward(c *crew, list []route.Provider) []route.Provider {
	local := ""
	return slices.DeleteFunc(list, func(p route.Provider) bool {
		if p.Local {
			local = p.Name
			return false
		}
		if local != "" {
			c.notices = append(c.notices, Notice{Class: llm.Local, Provider: p.Name, Text: fmt.Sprintf(e.words.BehindLocal, p.Name, local)})
		}
		return local != ""
	})
}

// recruit makes the endpoints of providers; those that cannot be used become
// notices. Without keys nothing is read but the configuration.
func (e *Engine) recruit(c *crew, list []Provider, keys bool) []route.Provider {
	var out []route.Provider
	var models []string
	for _, p := range list {
		rp, err := e.recruitOne(c, p, keys)
		if err != nil {
			c.notices = append(c.notices, Notice{Class: llm.Local, Provider: p.Name, Text: fmt.Sprintf(e.words.Provider, p.Name, err.Error())})
			continue
		}
		out = append(out, rp)
		models = append(models, p.Name+"/"+p.Model)
	}
	c.models = strings.Join(models, ",")
	return out
}

func (e *Engine) recruitOne(c *crew, p Provider, keys bool) (route.Provider, error) {
	var key llm.Secret
	var err error
	if keys {
		if key, err = p.key(e.deps.Getenv, e.words); err != nil {
			return route.Provider{}, err
		}
	}
	roots, err := p.roots()
	if err != nil {
		return route.Provider{}, err
	}
	rp := route.Provider{Name: p.Name, Model: p.Model, KeyFrom: p.keyFrom(), Context: p.ContextTokens, Local: true}
	for _, raw := range p.Endpoints {
		base, err := llm.ParseBase(raw, p.AllowHTTPPrivate)
		if err != nil {
			return route.Provider{}, err
		}
		rp.Local = rp.Local && base.Local
	}
	if e.cfg.Policy == policyLocal && !rp.Local {
		return route.Provider{}, errors.New(e.words.LocalOnly)
	}
	rp.Caps = capabilities(p, rp.Local)
	rp.Deadline = e.deadline(p, rp.Local)
	for _, raw := range p.Endpoints {
		base, err := llm.ParseBase(raw, p.AllowHTTPPrivate)
		if err != nil {
			return route.Provider{}, err
		}
		times, reach := p.times(rp.Local, rp.Deadline)
		if e.deps.times != nil {
			e.deps.times(base.URL, &times)
		}
		rp.FirstByte = times.FirstByte
		tr := llm.NewTransport(llm.Network{
			Base: base, Private: p.AllowHTTPPrivate, Reach: reach, Roots: roots, Proxy: e.deps.Proxy, Dial: e.deps.Dial, Dialled: e.own.dialled,
		})
		ep, err := llm.New(llm.Options{
			BaseURL: base.URL, Kind: llm.Kind(p.Kind), Key: key, Model: p.Model, APIVersion: p.APIVersion, Timeouts: times, Transport: tr,
		})
		if err != nil {
			return route.Provider{}, err
		}
		c.transports = append(c.transports, tr)
		c.members = append(c.members, member{provider: p, url: base.URL, local: rp.Local, keyFrom: p.keyFrom(), proxy: e.proxy(base.URL), endpoint: ep})
		rp.Targets = append(rp.Targets, route.Target{URL: base.URL, Host: base.Host, Asker: ep})
	}
	return rp, nil
}

// proxy is the host of the proxy that a request for a URL goes through, "" for
// none; its user and password are nobody's business.
func (e *Engine) proxy(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if p, err := e.deps.Proxy(&http.Request{URL: u, Header: http.Header{}}); err == nil && p != nil {
		return p.Host
	}
	return ""
}

// reasoningDeadline is the time of a case where a reasoning model is asked.
const reasoningDeadline = 90 * time.Second

// deadline is the time that a case has at a provider.
func (e *Engine) deadline(p Provider, local bool) time.Duration {
	switch {
	case local:
		return e.limits.Local.Deadline
	case e.cfg.Deadline == 0 && llm.ReasoningModel(p.Model):
		return reasoningDeadline
	}
	return e.limits.Deadline
}

// times are the limits of one attempt. A local server may have to load its
// model, a reasoning model thinks before it speaks.
func (p Provider) times(local bool, deadline time.Duration) (t llm.Timeouts, reach llm.Reach) {
	t = llm.Timeouts{FirstByte: 15 * time.Second, Idle: 15 * time.Second, NoData: 30 * time.Second, Attempt: 60 * time.Second, Grace: 2 * time.Second}
	reach = llm.Reach{Connect: 3 * time.Second, Handshake: 5 * time.Second}
	reasoning := llm.ReasoningModel(p.Model)
	if reasoning {
		t.FirstByte, t.NoData, t.Attempt = 60*time.Second, 90*time.Second, 90*time.Second
	}
	if local {
		t.FirstByte, t.Idle, t.NoData, t.Attempt = 120*time.Second, 60*time.Second, 120*time.Second, 180*time.Second
		reach.Connect = time.Second
	}
	if p.Timeouts.FirstByte > 0 {
		t.FirstByte = p.Timeouts.FirstByte
	}
	if p.Timeouts.Idle > 0 {
		thinks := t.NoData
		if t.Idle, t.NoData = p.Timeouts.Idle, 2*p.Timeouts.Idle; reasoning {
			t.NoData = max(t.NoData, thinks) // comments keep the line alive while it thinks
		}
	}
	if c := p.Timeouts.Connect; c > 0 {
		const num, den = 5, 3 // 5 s for the handshake where connecting has 3 s
		reach = llm.Reach{Connect: c, Handshake: c * num / den}
	}
	t.Attempt = min(max(t.Attempt, t.FirstByte), max(deadline, t.FirstByte))
	return t, reach
}

// capabilities to begin with; what a provider refuses by name is dropped.
func capabilities(p Provider, local bool) llm.Caps {
	c := llm.Caps{JSON: llm.JSONObject, Stream: true, StreamUsage: true, Temperature: true, MaxTokens: true}
	hosts := strings.Join(p.Endpoints, " ")
	switch {
	case p.Kind == string(llm.Anthropic) || strings.Contains(hosts, "api.anthropic.com"):
		c.JSON = llm.JSONByPrompt // the compatible endpoint passes response_format over
	case strings.Contains(hosts, "api.openai.com"), p.Kind == string(llm.Azure):
		c.JSON, c.MaxCompletions = llm.JSONSchema, true
	case strings.Contains(hosts, "generativelanguage.googleapis.com"), local && !strings.Contains(hosts, "deepseek"):
		c.JSON = llm.JSONSchema
	}
	return c
}

// keyFrom names where the key is, for people; "" where none is needed.
func (p Provider) keyFrom() string {
	switch {
	case p.APIKeyEnv != "":
		return "$" + p.APIKeyEnv
	case p.APIKeyFile != "":
		return p.APIKeyFile
	}
	return ""
}

func (p Provider) key(getenv func(string) string, w *words.Words) (llm.Secret, error) {
	var raw string
	switch {
	case p.APIKeyEnv != "":
		if raw = getenv(p.APIKeyEnv); strings.TrimSpace(raw) == "" {
			return llm.Secret{}, fmt.Errorf(w.NoKey, p.APIKeyEnv)
		}
	case p.APIKeyFile != "":
		var err error
		if raw, err = readKeyFile(p.APIKeyFile); err != nil {
			return llm.Secret{}, err
		}
	default:
		return llm.Secret{}, nil
	}
	key, err := llm.NewSecret(raw)
	if err != nil {
		return llm.Secret{}, fmt.Errorf("the key in %s: %w", p.keyFrom(), err)
	}
	return key, nil
}

// readKeyFile refuses a file that others may read.
func readKeyFile(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("key file: %w", err)
	}
	const others, largest = 0o077, 4096
	if runtime.GOOS != "windows" && st.Mode().Perm()&others != 0 {
		return "", fmt.Errorf("key file %s may be read by others (mode %04o): chmod 600 %s", path, st.Mode().Perm(), path)
	}
	if !st.Mode().IsRegular() || st.Size() > largest {
		return "", fmt.Errorf("key file %s is not a file with one key in it", path)
	}
	b, err := os.ReadFile(path) //nolint:gosec // the user named it in the configuration
	if err != nil {
		return "", fmt.Errorf("key file: %w", err)
	}
	return string(b), nil
}

// roots are the system's certificate authorities and those of ca_file; nil: the
// system's alone.
func (p Provider) roots() (*x509.CertPool, error) {
	if p.CAFile == "" {
		return nil, nil //nolint:nilnil // nil is the system's pool to crypto/tls
	}
	b, err := os.ReadFile(p.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if block, _ := pem.Decode(bytes.TrimSpace(b)); block == nil || !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("ca_file %s holds no certificate in PEM", p.CAFile)
	}
	return pool, nil
}

// findLocal looks for a model server on loopback, at the ports where the usual
// ones listen, and uses the first model that it lists.
func (e *Engine) findLocal(ctx context.Context) []Provider {
	for _, p := range localServers() {
		c := &crew{}
		if p.Timeouts = (Timeouts{Connect: 300 * time.Millisecond, FirstByte: time.Second, Idle: time.Second}); p.Model == "" {
			p.Model = "any"
		}
		_ = e.recruit(c, []Provider{p}, false)
		for _, m := range c.members {
			names, _, err := m.endpoint.Models(ctx)
			c.close()
			if err == nil && len(names) > 0 {
				p.Model, p.Timeouts = names[0], Timeouts{}
				return []Provider{p}
			}
		}
	}
	return nil
}
