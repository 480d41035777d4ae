package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"netwhy/aidiag/internal/llm"
)

// asking is one call on its way through providers and endpoints. Indices only
// grow: nothing that failed in a call is tried again behind its successor.
type asking struct {
	r      *Router
	call   *Call
	result Result

	attempts, local int
	passing         int // passing faults (net_transient, parse): the first is forgiven
	half            bool
	repaired        bool
	downgraded      bool
	invalid         int // providers whose answer was refused
	minContext      int // only providers with more context than that
	reply, repair   string
}

// attempt is one request and what it taught.
type attempt struct {
	p      *provider
	e      *endpoint
	last   bool // no other endpoint of the provider can follow
	tries  int  // at this endpoint, this one included
	others bool // another provider can be asked
	reply  llm.Reply
	fault  *llm.AttemptError // nil: an answer came
	class  llm.Class
	count  bool
}

func (c *asking) providers(ctx context.Context) {
	c.result.Class = llm.BreakerOpen // when nobody can be asked
	for i, p := range c.r.providers {
		if !c.may(p) {
			continue
		}
		switch c.endpoints(ctx, p, c.r.providers[i+1:]) {
		case Done, Rules:
			return
		case NextProvider, NextEndpoint, RetrySame:
		}
	}
}

// may tells whether a provider can be asked in this call.
func (c *asking) may(p *provider) bool {
	if c.minContext > 0 {
		p.mu.Lock()
		size := p.context
		p.mu.Unlock()
		if size <= c.minContext {
			return false
		}
	}
	return c.r.usable(p, c.r.now())
}

func (c *asking) others(rest []*provider) bool {
	return slices.ContainsFunc(rest, c.may)
}

func (c *asking) endpoints(ctx context.Context, p *provider, rest []*provider) Next {
	list := p.snapshot(c.r.now())
	for i, e := range list {
		for tries := 1; ; tries++ {
			if stop := c.stop(ctx, p); stop {
				return Rules
			}
			permit, probe, err := c.admit(p, e)
			if err != nil {
				next := c.rejected(p, list[i+1:], rest)
				c.refused(p, e, next)
				if next != NextEndpoint {
					return next
				}
				break
			}
			a := &attempt{p: p, e: e, tries: tries}
			c.send(ctx, a, permit, probe)
			// What was learned may have closed gates, and the tries may be used up.
			a.others = !c.exhausted(p) && c.others(rest)
			a.last = c.exhausted(p) || !c.follows(p, list[i+1:])
			next, wait := c.decide(ctx, a)
			c.record(a, next, wait)
			if next == RetrySame {
				if c.call.Retry != nil {
					c.call.Retry(p.Name, c.attempts+1, c.r.limits.Attempts, wait)
				}
				if !sleep(ctx, wait) {
					c.ended(ctx)
					return Rules
				}
				continue
			}
			if next != NextEndpoint {
				return next
			}
			break
		}
	}
	return NextProvider
}

// follows reports whether one of the next endpoints can be asked.
func (c *asking) follows(p *provider, list []*endpoint) bool {
	now := c.r.now()
	if p.cooldown.Load() > now || p.quarantine.Load() > now || !p.Local && c.r.net.blockedUntil(now) > 0 {
		return false
	}
	for _, e := range list {
		if !e.breaker.gated(now) {
			return true
		}
	}
	return false
}

func (c *asking) rejected(p *provider, list []*endpoint, rest []*provider) Next {
	switch {
	case c.follows(p, list):
		return NextEndpoint
	case c.others(rest):
		return NextProvider
	}
	return Rules
}

// stop ends the call before an attempt that must not start.
func (c *asking) stop(ctx context.Context, p *provider) bool {
	if ctx.Err() != nil {
		c.ended(ctx)
		return true
	}
	if c.exhausted(p) {
		return true // the class of the last attempt stays the reason
	}
	if at, ok := ctx.Deadline(); ok && time.Until(at) < min(c.r.limits.MinLeft, p.FirstByte) {
		if c.attempts == 0 {
			c.result.Class, c.result.Detail = llm.ClientAbort, "budget"
		}
		return true
	}
	if err := c.r.quota(); err != nil {
		c.result.Class, c.result.Detail = llm.Quota, err.Error()
		return true
	}
	return false
}

// exhausted reports whether the tries of this call are used up. Behind a local
// provider there are only local ones.
func (c *asking) exhausted(p *provider) bool {
	l := c.r.limits
	return c.attempts >= l.Attempts || p.Local && c.local >= l.LocalAttempts
}

func (c *asking) ended(ctx context.Context) {
	c.result.Class, c.result.Detail = llm.ClientAbort, "interrupted"
	if errors.Is(context.Cause(ctx), ErrBudget) {
		c.result.Detail = "budget"
	}
}

func (c *asking) admit(p *provider, e *endpoint) (permit *permit, netProbe bool, err error) {
	now := c.r.now()
	// Another call may have been told to stay away while this one waited.
	if p.cooldown.Load() > now || p.quarantine.Load() > now {
		return nil, false, errGated
	}
	if !p.Local {
		probe, ok := c.r.net.allow(now)
		if !ok {
			return nil, false, errGated
		}
		netProbe = probe
	}
	permit, err = e.breaker.allow(now)
	if err != nil && netProbe {
		c.r.net.done(e.Host, now, true, false, false)
	}
	return permit, netProbe, err
}

func (c *asking) refused(p *provider, e *endpoint, next Next) {
	c.r.count.class(llm.BreakerOpen)
	c.result.Decisions = append(c.result.Decisions, Decision{
		Case: c.call.Case, Attempt: c.attempts, Provider: p.Name, Endpoint: e.URL, Model: p.Model,
		Class: llm.BreakerOpen, Breaker: e.breaker.stateName(), Next: next,
	})
	if c.attempts == 0 {
		c.result.Class = llm.BreakerOpen
	}
}

// send makes the attempt. The permit is given back whatever happens, also when
// the attempt panics or its goroutine ends.
func (c *asking) send(ctx context.Context, a *attempt, permit *permit, netProbe bool) {
	c.attempts++
	if a.p.Local {
		c.local++
	}
	q := c.call.Compose(Shape{Half: c.half, Reply: c.reply, Repair: c.repair})
	a.p.mu.Lock()
	q.Caps = a.p.caps
	a.p.mu.Unlock()
	if permit.probe {
		q.FirstByte = max(c.r.limits.ProbeByte, 2*time.Duration(a.e.ttfb.Load()))
	}
	outcome := llm.Failed
	a.class = llm.Internal
	defer func() {
		permit.report(outcome)
		a.count = outcome == llm.Failed
		c.learn(a, netProbe, outcome)
		if v := recover(); v != nil {
			// One attempt's panic must not end the capture. The stack is lost on
			// purpose: the value may quote the prompt.
			a.fault = &llm.AttemptError{Class: llm.Internal, Message: "internal fault while asking"}
		}
	}()
	reply, err := a.e.Asker.Ask(ctx, q)
	a.reply = reply
	a.class = llm.OK
	if err != nil {
		f, ok := errors.AsType[*llm.AttemptError](err)
		if !ok {
			f = &llm.AttemptError{Class: llm.NetTransient, Err: err}
		}
		a.fault, a.class = f, f.Class
	} else {
		c.judge(a)
	}
	if a.class.Passing() {
		c.passing++
	}
	outcome = a.class.Outcome(c.passing > 1)
	// A deadline of the caller shorter than our limit for the first byte would
	// keep a dead endpoint neutral for ever.
	if a.class == llm.ClientAbort && errors.Is(ctx.Err(), context.DeadlineExceeded) &&
		reply.BytesIn == 0 && reply.TTFB == 0 && reply.Took >= c.r.limits.Proof {
		outcome = llm.Failed
	}
}

func (c *asking) judge(a *attempt) {
	c.result.Spent += a.reply.Prompt + a.reply.Completion
	repair, ok := c.call.Judge(a.reply.Content, c.half)
	if ok {
		c.result.Class, c.result.Detail = llm.OK, ""
		c.result.Provider, c.result.Endpoint, c.result.Model = a.p.Name, a.e.URL, a.reply.Model
		c.result.RequestID, c.result.Half = a.reply.RequestID, c.half
		c.result.Prompt, c.result.Complete = a.reply.Prompt, a.reply.Completion
		return
	}
	a.class = llm.InvalidOutput
	a.fault = &llm.AttemptError{Class: llm.InvalidOutput, Status: a.reply.Status, Message: repair}
	const most = 8 << 10 // of a refused answer that goes back
	c.reply, c.repair = a.reply.Content[:min(len(a.reply.Content), most)], repair
}

// learn keeps what the attempt taught about endpoint, provider and network.
func (c *asking) learn(a *attempt, netProbe bool, outcome llm.Outcome) {
	r, now := c.r, c.r.now()
	r.count.class(a.class)
	if a.count {
		r.count.failures.Add(1)
	}
	if !a.p.Local {
		dial := a.fault != nil && (a.class == llm.NetPersistent || a.class == llm.NetTransient) && llm.DialFault(a.fault)
		r.net.done(a.e.Host, now, netProbe, outcome == llm.Alive || a.reply.Status != 0, dial)
	}
	if outcome == llm.Alive {
		r.slots.grow()
		if a.class == llm.OK {
			r.retries.add()
		}
		if t := int64(a.reply.TTFB); t > 0 {
			if old := a.e.ttfb.Load(); old > 0 {
				t = (3*old + t) / 4
			}
			a.e.ttfb.Store(t)
		}
	}
	switch a.class { //nolint:exhaustive // the others leave nothing behind
	case llm.NetPersistent:
		r.slots.shrink()
		a.e.demoted.Store(now + int64(r.limits.Demote))
	case llm.GatewayTimeout:
		a.e.demoted.Store(now + int64(r.limits.Demote))
	case llm.RateLimit:
		r.slots.shrink()
		a.p.rateLimited(now, a.fault.RetryAfter, r.limits.RateBase)
	case llm.Server:
		if a.fault.RetryAfter > 0 {
			a.p.hold(&a.p.cooldown, now+int64(a.fault.RetryAfter), llm.Server)
		}
	case llm.Auth, llm.NotFound:
		a.p.hold(&a.p.quarantine, never, a.class)
	case llm.Billing:
		a.p.hold(&a.p.quarantine, now+int64(r.limits.BillingPause), a.class)
	case llm.OK:
		a.p.mu.Lock()
		a.p.rateRuns = 0
		a.p.mu.Unlock()
	}
	r.settle()
}

func (c *asking) record(a *attempt, next Next, wait time.Duration) {
	d := Decision{
		Case: c.call.Case, Attempt: c.attempts, Provider: a.p.Name, Endpoint: a.e.URL, Model: a.p.Model,
		Class: a.class, Status: a.reply.Status, RequestID: a.reply.RequestID, Counted: a.count,
		Breaker: a.e.breaker.stateName(), BackoffMS: wait.Milliseconds(), TTFBMS: a.reply.TTFB.Milliseconds(),
		TookMS: a.reply.Took.Milliseconds(), Next: next,
	}
	if a.fault != nil {
		d.Code = a.fault.Code
	}
	c.result.Decisions = append(c.result.Decisions, d)
	if a.class == llm.OK || a.class == llm.ClientAbort { // decide said why it ended
		return
	}
	c.result.Class, c.result.Detail = a.class, c.detail(a)
	if n := notice(a); n != "" {
		c.result.Notices = append(c.result.Notices, Notice{Class: a.class, Provider: a.p.Name, Text: n})
	}
}

// detail is the one line that says why there is no answer.
func (*asking) detail(a *attempt) string {
	switch a.class { //nolint:exhaustive // the others say it themselves
	case llm.InvalidOutput:
		return "AI answer discarded (not supported by the capture)"
	case llm.ContentFilter:
		return a.p.Name + " declined to answer"
	case llm.BadRequest:
		return fmt.Sprintf("request refused by %s (%d, request id %s)", a.p.Name, a.reply.Status, orNone(a.reply.RequestID))
	}
	if t := notice(a); t != "" {
		return t
	}
	if a.fault != nil {
		return a.p.Name + ": " + a.fault.Error()
	}
	return a.p.Name + ": " + string(a.class)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// notice is what the user has to know or to mend, "" for the rest.
func notice(a *attempt) string {
	name := a.p.Name
	switch a.class { //nolint:exhaustive // the others need nobody
	case llm.Auth:
		key := a.p.KeyFrom
		if key == "" {
			return fmt.Sprintf("provider %s wants a key (%d); name it with api_key_env or api_key_file", name, a.reply.Status)
		}
		return fmt.Sprintf("provider %s rejects the key in %s (%d)", name, key, a.reply.Status)
	case llm.Billing:
		return fmt.Sprintf("provider %s: no credit left (%d); asked again in an hour", name, a.reply.Status)
	case llm.NotFound:
		return fmt.Sprintf("model %s or base URL %s unknown at provider %s (%d)", a.p.Model, a.e.URL, name, a.reply.Status)
	case llm.TLS:
		return fmt.Sprintf("certificate of %s not trusted (interception?)", a.e.Host)
	case llm.Protocol:
		return a.e.Host + " does not speak the API (captive portal or wrong base URL?)"
	case llm.Local:
		return fmt.Sprintf("provider %s: configuration: %s", name, a.fault.Message)
	case llm.Internal:
		return "internal fault while asking " + name
	}
	return ""
}

// sleep waits unless the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
