package aidiag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
)

// Config is the section "ai" of the configuration file. The zero value of a
// number means its default; that of deadline, concurrency and breaker.open
// depends on the kind of provider, unless they are set: see Config.Shown.
type Config struct {
	Deadline    time.Duration `yaml:"deadline" json:"deadline"`       // of one case, all attempts; 0: by kind
	Concurrency int           `yaml:"concurrency" json:"concurrency"` // requests under way at start; it adapts; 0: by kind
	Queue       int           `yaml:"queue" json:"queue"`             // cases that may wait
	Cache       bool          `yaml:"cache" json:"cache"`             // equal cases are asked once a run
	Policy      string        `yaml:"policy" json:"policy"`           // any, or local-only
	Send        []string      `yaml:"send" json:"send"`               // in clear: host_names, user_agents
	Budget      Budget        `yaml:"budget" json:"budget"`
	Breaker     Breaker       `yaml:"breaker" json:"breaker"`
	Providers   []Provider    `yaml:"providers" json:"providers"` // asked in this order
}

// Budget is what may be spent. 0 is the default, a negative number no limit.
type Budget struct {
	RequestsPerHour int `yaml:"requests_per_hour" json:"requests_per_hour"`
	TokensPerRun    int `yaml:"tokens_per_run" json:"tokens_per_run"`
}

// Breaker says when an endpoint is left alone, and for how long at first; Open 0
// is by kind of provider.
type Breaker struct {
	Failures int           `yaml:"failures" json:"failures"`
	Open     time.Duration `yaml:"open" json:"open"`
}

// Provider is one account. For the names of Presets everything else is known;
// a key is named, never written down.
type Provider struct {
	Name             string   `yaml:"name" json:"name"`
	Model            string   `yaml:"model" json:"model"`
	APIKeyEnv        string   `yaml:"api_key_env" json:"api_key_env"`
	APIKeyFile       string   `yaml:"api_key_file" json:"api_key_file"` // mode 0600
	Endpoints        []string `yaml:"endpoints" json:"endpoints"`
	Kind             string   `yaml:"kind" json:"kind"` // openai, azure, anthropic
	Timeouts         Timeouts `yaml:"timeouts" json:"timeouts"`
	APIVersion       string   `yaml:"api_version" json:"api_version"`               // Azure's
	CAFile           string   `yaml:"ca_file" json:"ca_file"`                       // more certificate authorities, PEM
	AllowHTTPPrivate bool     `yaml:"allow_http_private" json:"allow_http_private"` // a server of one's own in a private network
	ContextTokens    int      `yaml:"context_tokens" json:"context_tokens"`         // that the model takes; 0: unknown
}

// Timeouts of one attempt; 0 is the default for the kind of endpoint.
type Timeouts struct {
	Connect   time.Duration `yaml:"connect" json:"connect"`
	FirstByte time.Duration `yaml:"first_byte" json:"first_byte"`
	Idle      time.Duration `yaml:"idle" json:"idle"`
}

const (
	policyAny       = "any"
	policyLocal     = "local-only"
	sendHostNames   = "host_names"
	sendUserAgents  = "user_agents"
	defaultQueue    = 64
	defaultRequests = 60
	defaultTokens   = 200_000
	defaultFailures = 3
	maxConcurrency  = 16
	maxQueue        = 10_000
)

// DefaultConfig is what holds where the file says nothing. What depends on the
// kind of provider is 0 there.
func DefaultConfig() Config {
	return Config{
		Queue: defaultQueue, Cache: true, Policy: policyAny,
		Budget:  Budget{RequestsPerHour: defaultRequests, TokensPerRun: defaultTokens},
		Breaker: Breaker{Failures: defaultFailures},
	}
}

// Shown is the configuration for people: where a value is 0 because it depends on
// the kind of provider, that of the cloud stands there, and remarks, by the path
// of the key, say what it is at a local server.
func (c Config) Shown() (shown Config, remarks map[string]string) {
	c, remarks = c.filled(), map[string]string{}
	l := route.Defaults()
	if c.Deadline == 0 {
		c.Deadline = l.Deadline
		remarks["ai.deadline"] = fmt.Sprintf("%s with a reasoning model, %s with a local server", short(reasoningDeadline), short(l.Local.Deadline))
	}
	if c.Concurrency == 0 {
		c.Concurrency = l.Concurrency
		remarks["ai.concurrency"] = fmt.Sprintf("%d with a local server", l.Local.Concurrency)
	}
	if c.Breaker.Open == 0 {
		c.Breaker.Open = l.Open
		remarks["ai.breaker.open"] = short(l.Local.Open) + " with a local server"
	}
	return c, remarks
}

// short writes whole seconds and minutes without zeros behind them.
func short(d time.Duration) string {
	s := strings.TrimSuffix(d.String(), "0s")
	if strings.HasSuffix(s, "m") {
		return s
	}
	return d.String()
}

// filled puts defaults where nothing was said.
func (c Config) filled() Config {
	d := DefaultConfig()
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&c.Queue, d.Queue)
	set(&c.Budget.RequestsPerHour, d.Budget.RequestsPerHour)
	set(&c.Budget.TokensPerRun, d.Budget.TokensPerRun)
	set(&c.Breaker.Failures, d.Breaker.Failures)
	if c.Policy == "" {
		c.Policy = d.Policy
	}
	c.Providers = slices.Clone(c.Providers)
	for i := range c.Providers {
		c.Providers[i] = c.Providers[i].filled()
	}
	return c
}

// limits are those of a run: what the configuration sets holds for all providers,
// the rest by their kind.
func (c Config) limits() route.Limits {
	l := route.Defaults()
	l.Failures = uint32(c.Breaker.Failures) //nolint:gosec // validated: 1 to 100
	l.WholeTokens = maxCaseTokens + answerTokens
	for _, p := range []*route.Pace{&l.Pace, &l.Local} {
		if c.Deadline > 0 {
			p.Deadline = c.Deadline
		}
		if c.Breaker.Open > 0 {
			p.Open, p.OpenMax = c.Breaker.Open, max(p.OpenMax, c.Breaker.Open)
		}
		if c.Concurrency > 0 {
			p.Concurrency, p.MaxParallel = c.Concurrency, 2*c.Concurrency
		}
	}
	return l
}

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	Field string // such as "ai.providers[0].endpoints[1]"
	Text  string // what is wrong and what to do
}

func (f *Fault) Error() string { return f.Field + ": " + f.Text }

// Validate returns all faults, joined; each is a *Fault. It reads no key and no
// file.
func (c Config) Validate() error {
	var faults []error
	bad := func(field, format string, args ...any) {
		faults = append(faults, &Fault{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	c = c.filled()
	within := func(field string, v, low, high int) {
		if v < low || v > high {
			bad(field, "%d is not between %d and %d", v, low, high)
		}
	}
	if c.Concurrency != 0 {
		within("ai.concurrency", c.Concurrency, 1, maxConcurrency)
	}
	within("ai.queue", c.Queue, 1, maxQueue)
	within("ai.breaker.failures", c.Breaker.Failures, 1, 100)
	if c.Deadline != 0 && (c.Deadline < time.Second || c.Deadline > time.Hour) {
		bad("ai.deadline", "%v is not between 1s and 1h", c.Deadline)
	}
	if c.Breaker.Open != 0 && (c.Breaker.Open < 10*time.Millisecond || c.Breaker.Open > time.Hour) {
		bad("ai.breaker.open", "%v is not between 10ms and 1h", c.Breaker.Open)
	}
	if c.Policy != policyAny && c.Policy != policyLocal {
		bad("ai.policy", "%q is not %s or %s", c.Policy, policyAny, policyLocal)
	}
	for i, s := range c.Send {
		if s != sendHostNames && s != sendUserAgents {
			bad(fmt.Sprintf("ai.send[%d]", i), "%q is not %s or %s", s, sendHostNames, sendUserAgents)
		}
	}
	names := map[string]bool{}
	for i, p := range c.Providers {
		at := fmt.Sprintf("ai.providers[%d]", i)
		if p.Name == "" {
			bad(at+".name", "a provider needs a name")
		} else if names[p.Name] {
			bad(at+".name", "%q stands there twice", p.Name)
		}
		names[p.Name] = true
		p.validate(at, bad)
	}
	return errors.Join(faults...)
}

func (p Provider) validate(at string, bad func(field, format string, args ...any)) {
	if !slices.Contains([]llm.Kind{llm.OpenAI, llm.Azure, llm.Anthropic}, llm.Kind(p.Kind)) {
		bad(at+".kind", "%q is not openai, azure or anthropic", p.Kind)
	}
	if p.Model == "" {
		bad(at+".model", "name the model; known without it are only %s", strings.Join(PresetNames(), ", "))
	}
	if len(p.Endpoints) == 0 {
		bad(at+".endpoints", "name at least one base URL, such as https://api.openai.com/v1")
	}
	if p.APIKeyEnv != "" && p.APIKeyFile != "" {
		bad(at+".api_key_file", "give api_key_env or api_key_file, not both")
	}
	if looksLikeKey(p.APIKeyEnv) {
		bad(at+".api_key_env", "this is the name of an environment variable, not the key itself")
	}
	for j, raw := range p.Endpoints {
		if _, err := llm.ParseBase(raw, p.AllowHTTPPrivate); err != nil {
			bad(fmt.Sprintf("%s.endpoints[%d]", at, j), "%v", err)
		}
	}
	if b, ok := preset(p.Name); ok && p.keyIsPreset(b) && !p.sameHosts(b) {
		bad(at+".api_key_env", "the endpoints are not those of %s: name the key that belongs to them", p.Name)
	}
	for name, d := range map[string]time.Duration{"connect": p.Timeouts.Connect, "first_byte": p.Timeouts.FirstByte, "idle": p.Timeouts.Idle} {
		if d < 0 {
			bad(at+".timeouts."+name, "%v is negative", d)
		}
	}
	if p.ContextTokens < 0 {
		bad(at+".context_tokens", "%d is negative", p.ContextTokens)
	}
}

func looksLikeKey(s string) bool {
	return strings.HasPrefix(s, "sk-") || strings.ContainsAny(s, " -") || len(s) > 64
}
