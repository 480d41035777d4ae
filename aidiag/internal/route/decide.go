package route

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"netwhy/aidiag/internal/llm"
)

// decide says what follows an attempt, and after which wait: the decision table
// of the specification.
func (c *asking) decide(ctx context.Context, a *attempt) (Next, time.Duration) {
	if ctx.Err() != nil {
		if a.class == llm.OK {
			return Done, 0
		}
		return c.ended(ctx, a.others), 0
	}
	switch a.class {
	case llm.OK:
		return Done, 0
	case llm.NetTransient:
		if a.tries == 1 && c.retry(a) {
			return RetrySame, c.fits(ctx, c.backoff(a))
		}
		return a.forward(), 0
	case llm.Parse:
		if a.tries == 1 && c.retry(a) {
			return RetrySame, 0
		}
		return a.provider(), 0
	case llm.Protocol:
		if a.fault.NoStream {
			if a.p.dropStream() && a.last {
				return RetrySame, 0
			}
		}
		return a.forward(), 0
	case llm.NetPersistent, llm.TLS, llm.GatewayTimeout:
		return a.forward(), 0
	case llm.Server:
		return c.server(ctx, a)
	case llm.RateLimit:
		return c.rateLimit(ctx, a)
	case llm.Auth, llm.Billing, llm.NotFound:
		return a.provider(), 0
	case llm.BadRequest:
		if !c.downgraded && !c.exhausted(a.p) && a.p.downgrade(a.fault) {
			c.downgraded = true
			return RetrySame, 0
		}
		if a.fault.Retry && a.tries == 1 && c.retry(a) {
			return RetrySame, c.fits(ctx, c.backoff(a))
		}
		return Rules, 0
	case llm.TooLarge:
		return c.tooLarge(a), 0
	case llm.InvalidOutput:
		return c.invalidOutput(a), 0
	case llm.ContentFilter, llm.ClientAbort, llm.Local, llm.Internal, llm.BreakerOpen, llm.Busy, llm.Quota:
		return Rules, 0
	default:
		return Rules, 0
	}
}

// forward goes to the next endpoint, then to the next provider.
func (a *attempt) forward() Next {
	if !a.last {
		return NextEndpoint
	}
	return a.provider()
}

func (a *attempt) provider() Next {
	if a.others {
		return NextProvider
	}
	return Rules
}

// retry pays for another try at the same endpoint.
func (c *asking) retry(a *attempt) bool {
	if c.exhausted(a.p) || a.fault != nil && a.fault.NoRetry || a.e.breaker.gated(c.r.now()) || !c.r.retries.take() {
		return false
	}
	c.r.count.retries.Add(1)
	return true
}

// backoff is full jitter: everything between nothing and the doubled base.
func (c *asking) backoff(a *attempt) time.Duration {
	const doublings = 30
	d := a.p.pace.BackoffBase << min(a.tries-1, doublings)
	if d <= 0 || d > a.p.pace.BackoffCap {
		d = a.p.pace.BackoffCap
	}
	return time.Duration(c.r.rand() * float64(d))
}

// left is the time of the call that may be spent waiting.
func (c *asking) left(ctx context.Context, a *attempt) time.Duration {
	at, ok := ctx.Deadline()
	if !ok {
		return a.p.pace.Deadline
	}
	return time.Until(at) - min(c.r.limits.MinLeft, a.p.FirstByte)
}

// fits cuts a wait of our own choice to what is left.
func (c *asking) fits(ctx context.Context, d time.Duration) time.Duration {
	at, ok := ctx.Deadline()
	if !ok {
		return d
	}
	return max(0, min(d, time.Until(at)-c.r.limits.MinLeft))
}

func (c *asking) server(ctx context.Context, a *attempt) (Next, time.Duration) {
	asked := a.fault.RetryAfter
	wait := max(asked, c.backoff(a))
	if asked == 0 {
		wait = c.fits(ctx, wait)
	}
	patient := asked <= a.p.pace.Deadline/2 && wait <= max(0, c.left(ctx, a))
	if a.tries == 1 && patient && c.retry(a) {
		return RetrySame, wait
	}
	switch {
	case a.others:
		return NextProvider, 0
	case !a.last: // closed when the provider asked us to wait
		return NextEndpoint, 0
	}
	return Rules, 0
}

// rateLimit waits as long as the provider asked, if that is short or nobody else
// can be asked. Never less: a provider that asks for more than we have gets its
// peace.
func (c *asking) rateLimit(ctx context.Context, a *attempt) (Next, time.Duration) {
	const alone = 2 // retries when there is nobody else
	asked := a.fault.RetryAfter
	wait := asked + time.Duration(0.1*c.r.rand()*float64(asked))
	if asked == 0 {
		wait = c.r.limits.RateBase << (a.tries - 1)
	}
	short := asked > 0 && asked <= a.p.pace.RateWait && a.tries == 1
	lonely := !a.others && wait <= a.p.pace.Deadline/2 && a.tries <= alone
	if (short || lonely) && wait <= c.left(ctx, a) && c.retry(a) {
		return RetrySame, wait
	}
	return a.provider(), 0
}

// tooLarge asks somebody with more room, or again with half of the evidence.
func (c *asking) tooLarge(a *attempt) Next {
	a.p.mu.Lock()
	size := a.p.context
	if n := a.reply.Prompt; a.fault.Code != "length" && n > 0 && (size == 0 || n < size) {
		size, a.p.context = n, n
	}
	a.p.mu.Unlock()
	if size > 0 {
		before := c.minContext
		c.minContext = max(c.minContext, size)
		if c.larger(a.p) {
			return NextProvider
		}
		c.minContext = before
	}
	if !a.half && !c.exhausted(a.p) {
		c.half = true
		return RetrySame
	}
	return Rules
}

func (c *asking) larger(behind *provider) bool {
	i := slices.Index(c.r.providers, behind)
	return c.others(c.r.providers[i+1:])
}

func (c *asking) invalidOutput(a *attempt) Next {
	if !c.repaired && c.retry(a) {
		c.repaired = true
		return RetrySame
	}
	c.reply, c.repair = "", ""
	if c.invalid++; c.invalid > 1 {
		return Rules
	}
	return a.provider()
}

// snapshot orders the endpoints once for a call: those that failed on the
// network lately come last; among those whose speed is known the faster ones
// come first. What is not known keeps its place.
func (p *provider) snapshot(now int64) []*endpoint {
	var good, bad, timed []*endpoint
	for _, e := range p.endpoints {
		if e.demoted.Load() > now {
			bad = append(bad, e)
			continue
		}
		good = append(good, e)
		if e.ttfb.Load() > 0 {
			timed = append(timed, e)
		}
	}
	slices.SortStableFunc(timed, func(a, b *endpoint) int { return cmp.Compare(a.ttfb.Load(), b.ttfb.Load()) })
	for i, e := range good {
		if e.ttfb.Load() > 0 && len(timed) > 0 {
			good[i], timed = timed[0], timed[1:]
		}
	}
	return append(good, bad...)
}

// hold keeps the later of two times and why.
func (p *provider) hold(until interface {
	Load() int64
	Store(v int64)
}, at int64, why llm.Class,
) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at > until.Load() {
		until.Store(at)
		p.why.Store(why)
	}
}

func (p *provider) rateLimited(now int64, asked, base time.Duration) {
	p.mu.Lock()
	p.rateRuns++
	runs := p.rateRuns
	p.mu.Unlock()
	if asked == 0 {
		const doublings = 10
		asked = base << min(runs-1, doublings)
	}
	p.hold(&p.cooldown, now+int64(asked), llm.RateLimit)
}

func (p *provider) dropStream() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.caps.Stream
	p.caps.Stream = false
	return had
}

// downgrade switches off the capability that a refusal names.
func (p *provider) downgrade(f *llm.AttemptError) bool {
	text := strings.ToLower(f.Param + " " + f.Message + " " + f.Code)
	p.mu.Lock()
	defer p.mu.Unlock()
	caps := &p.caps
	switch {
	case strings.Contains(text, "response_format"), strings.Contains(text, "json_schema"), strings.Contains(text, "json_object"):
		if caps.JSON == llm.JSONByPrompt {
			return false
		}
		caps.JSON--
	case strings.Contains(text, "stream_options"), strings.Contains(text, "include_usage"):
		if !caps.StreamUsage {
			return false
		}
		caps.StreamUsage = false
	case strings.Contains(text, "temperature"):
		if !caps.Temperature {
			return false
		}
		caps.Temperature = false
	case strings.Contains(text, "max_completion_tokens"):
		// The message of a refused max_tokens names both, the wrong one first.
		if strings.Contains(text, "'max_tokens'") && !caps.MaxCompletions {
			caps.MaxCompletions = true
			return true
		}
		if !caps.MaxCompletions {
			return false
		}
		caps.MaxCompletions, caps.MaxTokens = false, true
	case strings.Contains(text, "max_tokens"):
		if !caps.MaxTokens && !caps.MaxCompletions {
			return false
		}
		caps.MaxCompletions, caps.MaxTokens = !caps.MaxCompletions, false
	case strings.Contains(text, "stream"):
		if !caps.Stream {
			return false
		}
		caps.Stream = false
	default:
		return false
	}
	return true
}
