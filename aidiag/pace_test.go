package aidiag

import (
	"strings"
	"testing"
	"time"

	"netwhy/aidiag/internal/llm"
)

// TestDefaultsByKind: what the configuration leaves open depends on where each
// provider is, also where cloud and local ones are mixed; what it sets holds for
// all.
func TestDefaultsByKind(t *testing.T) {
	t.Parallel()
	type want struct {
		deadline, firstByte, idle, noData, attempt, connect, handshake time.Duration
		open, openMax, backoff, cap, rateWait                          time.Duration
		tries, slots, most                                             int
	}
	const s = time.Second
	cloud := want{60 * s, 15 * s, 15 * s, 30 * s, 60 * s, 3 * s, 5 * s, 15 * s, 30 * s, 300 * time.Millisecond, 10 * s, 2500 * time.Millisecond, 6, 2, 4}
	local := want{180 * s, 120 * s, 60 * s, 120 * s, 180 * s, s, 5 * s, 5 * s, 30 * s, 200 * time.Millisecond, 5 * s, 0, 3, 1, 1}
	reasoning := cloud
	reasoning.deadline, reasoning.firstByte, reasoning.noData, reasoning.attempt = 90*s, 60*s, 90*s, 90*s
	set := func(w want) want { // deadline 45s, concurrency 3, open 20s
		w.deadline, w.attempt, w.open, w.slots, w.most = 45*s, max(45*s, w.firstByte), 20*s, 3, 6
		return w
	}
	longer := set(cloud)
	longer.open, longer.openMax = time.Minute, time.Minute

	here := Provider{Name: "ollama", Model: "o1-local", Endpoints: []string{"http://127.0.0.1:11434/v1"}}
	explicit := Config{Deadline: 45 * s, Concurrency: 3, Breaker: Breaker{Open: 20 * s}}
	open := explicit
	open.Breaker.Open = time.Minute
	for _, c := range []struct {
		name     string
		cfg      Config
		provider Provider
		want     want
	}{
		{"cloud", DefaultConfig(), Provider{Name: "openai"}, cloud},
		{"reasoning", DefaultConfig(), Provider{Name: "openai", Model: "o4-mini"}, reasoning},
		{"loopback", DefaultConfig(), here, local},
		{"private network", DefaultConfig(), Provider{Name: "rack", Model: "m", Endpoints: []string{"http://10.0.7.7:8000/v1"}, AllowHTTPPrivate: true}, local},
		{"cloud, set", explicit, Provider{Name: "openai"}, set(cloud)},
		{"loopback, set", explicit, here, set(local)},
		{"cloud, open longer", open, Provider{Name: "openai"}, longer},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			c.cfg.Providers = []Provider{c.provider}
			e, err := New(c.cfg, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			rp := e.recruit(&crew{}, e.cfg.Providers, false)[0]
			p := e.limits.Pace
			if rp.Local {
				p = e.limits.Local
			}
			times, reach := e.cfg.Providers[0].times(rp.Local, rp.Deadline)
			got := want{
				rp.Deadline, rp.FirstByte, times.Idle, times.NoData, times.Attempt, reach.Connect, reach.Handshake,
				p.Open, p.OpenMax, p.BackoffBase, p.BackoffCap, p.RateWait, p.Attempts, p.Concurrency, p.MaxParallel,
			}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestTimeoutsThatAreSet hold for a local server too.
func TestTimeoutsThatAreSet(t *testing.T) {
	t.Parallel()
	p := Provider{Model: "m", Timeouts: Timeouts{Connect: 3 * time.Second, FirstByte: 20 * time.Second, Idle: 7 * time.Second}}
	times, reach := p.times(true, 180*time.Second)
	if times.FirstByte != 20*time.Second || times.Idle != 7*time.Second || times.NoData != 14*time.Second || reach != (llm.Reach{Connect: 3 * time.Second, Handshake: 5 * time.Second}) {
		t.Errorf("got %+v %+v", times, reach)
	}
	p.Model = "o3" // thinks longer than a line may be idle
	if times, _ = p.times(false, 90*time.Second); times.NoData != 90*time.Second || times.Idle != 7*time.Second {
		t.Errorf("got %+v", times)
	}
}

// TestShown: people see what holds, and where it differs.
func TestShown(t *testing.T) {
	t.Parallel()
	c, remarks := DefaultConfig().Shown()
	if c.Deadline != time.Minute || c.Concurrency != 2 || c.Breaker.Open != 15*time.Second {
		t.Errorf("got %+v", c)
	}
	for key, want := range map[string]string{"ai.deadline": "1m30s with a reasoning model, 3m with a local server", "ai.concurrency": "1 with", "ai.breaker.open": "5s with"} {
		if !strings.Contains(remarks[key], want) {
			t.Errorf("%s: %q, want %q", key, remarks[key], want)
		}
	}
	set := Config{Deadline: time.Second, Concurrency: 1, Breaker: Breaker{Open: time.Second}}
	if c, remarks := set.Shown(); len(remarks) != 0 || c.Deadline != time.Second {
		t.Errorf("got %+v %v", c, remarks)
	}
}
