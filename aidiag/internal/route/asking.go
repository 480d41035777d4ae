package route

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

	started         time.Time // when the first slot was ours; zero: not yet
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
	last   bool   // no other endpoint of the provider can follow
	tries  int    // at this endpoint, this one included
	others bool   // another provider can be asked
	half   bool   // of the evidence
	judged bool   // a whole answer came and was looked at
	from   string // the breaker's state before
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
		switch c.provider(ctx, p, c.r.providers[i+1:]) {
		case Done, Rules:
			return
		case NextProvider, NextEndpoint, RetrySame:
		}
	}
}

// provider asks one provider, with a slot and until the time that it has of the
// call. The call's time begins with its first slot: waiting for others costs none.
func (c *asking) provider(ctx context.Context, p *provider, rest []*provider) Next {
	first := c.started.IsZero()
	if !first {
		limited, cancel := context.WithDeadlineCause(ctx, c.started.Add(p.pace.Deadline), ErrBudget)
		defer cancel()
		ctx = limited
	}
	if err := p.slots.acquire(ctx); err != nil {
		if errors.Is(err, errBusy) {
			c.r.count.busy.Add(1)
			c.result.Class, c.result.Detail = llm.Busy, ""
			return Rules
		}
		return c.ended(ctx, c.others(rest))
	}
	defer p.slots.release()
	if first {
		c.started = time.Now()
		limited, cancel := context.WithDeadlineCause(ctx, c.started.Add(p.pace.Deadline), ErrBudget)
		defer cancel()
		ctx = limited
	}
	if !c.may(p) { // closed while this call waited for its slot
		return NextProvider
	}
	return c.endpoints(ctx, p, rest)
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
	if !c.started.IsZero() && !c.enough(p, c.started.Add(p.pace.Deadline)) {
		return false
	}
	return c.r.usable(p, c.r.now())
}

// enough reports whether an attempt may start that has to end at this time.
func (c *asking) enough(p *provider, end time.Time) bool {
	return time.Until(end) >= min(c.r.limits.MinLeft, p.FirstByte)
}

func (c *asking) others(rest []*provider) bool {
	return slices.ContainsFunc(rest, c.may)
}

func (c *asking) endpoints(ctx context.Context, p *provider, rest []*provider) Next {
	list := p.snapshot(c.r.now())
	for i, e := range list {
		for tries := 1; ; tries++ {
			if next, stop := c.stop(ctx, p, rest); stop {
				return next
			}
			from := e.breaker.stateName()
			permit, probe, err := c.admit(p, e)
			if err != nil {
				next := c.rejected(p, list[i+1:], rest)
				c.refused(p, e, next)
				if next != NextEndpoint {
					return next
				}
				break
			}
			if err := c.r.quota(); err != nil {
				c.handBack(p, e, permit, probe)
				c.result.Class, c.result.Detail = llm.Quota, err.Error()
				return Rules
			}
			a := &attempt{p: p, e: e, tries: tries, from: from, half: c.half || c.small(p)}
			c.send(ctx, a, permit, probe)
			// What was learned may have closed gates, and the tries may be used up.
			a.others = !c.exhausted(p) && c.others(rest)
			a.last = c.exhausted(p) || !c.follows(p, list[i+1:])
			next, wait := c.decide(ctx, a)
			c.record(a, next, wait)
			if next == RetrySame {
				if c.call.Retry != nil {
					c.call.Retry(p.Name, c.attempts+1, c.most(p), wait)
				}
				if !sleep(ctx, wait) {
					return c.ended(ctx, c.others(rest))
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

// stop ends the stay at a provider before an attempt that must not start.
func (c *asking) stop(ctx context.Context, p *provider, rest []*provider) (Next, bool) {
	end, limited := ctx.Deadline()
	switch {
	case ctx.Err() != nil:
		return c.ended(ctx, c.others(rest)), true
	case c.exhausted(p):
		return Rules, true // the class of the last attempt stays the reason
	case limited && !c.enough(p, end):
		if c.attempts == 0 {
			c.result.Class, c.result.Detail = llm.ClientAbort, detailBudget
		}
		if c.others(rest) {
			return NextProvider, true
		}
		return Rules, true
	}
	return "", false
}

// most is the number of tries that this call may come to at this provider. Behind
// a local provider there are only local ones.
func (c *asking) most(p *provider) int {
	if p.Local {
		return min(c.r.limits.Attempts, c.attempts-c.local+p.pace.Attempts)
	}
	return p.pace.Attempts
}

// exhausted reports whether the tries of this call are used up.
func (c *asking) exhausted(p *provider) bool { return c.attempts >= c.most(p) }

// small reports whether a provider's model has no room for a whole case.
func (c *asking) small(p *provider) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.r.limits.Small(p.context)
}

// Why a call ended without a fault of anybody: Result.Detail of ClientAbort.
const (
	detailBudget      = "budget"
	detailInterrupted = "interrupted"
)

// ended notes that the caller is gone, or that the time is over; a provider that
// has more of it, as a local one has, may still be asked then.
func (c *asking) ended(ctx context.Context, others bool) Next {
	c.result.Class, c.result.Detail = llm.ClientAbort, detailInterrupted
	if !errors.Is(context.Cause(ctx), ErrBudget) {
		return Rules
	}
	c.result.Detail = detailBudget
	if others {
		return NextProvider
	}
	return Rules
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

// handBack returns a permit that was not used.
func (c *asking) handBack(p *provider, e *endpoint, permit *permit, netProbe bool) {
	permit.report(llm.Neutral)
	if !p.Local {
		c.r.net.done(e.Host, c.r.now(), netProbe, false, false)
	}
}

func (c *asking) refused(p *provider, e *endpoint, next Next) {
	c.r.count.class(llm.BreakerOpen)
	c.result.Decisions = append(c.result.Decisions, Decision{
		Case: c.call.Case, Attempt: c.attempts, Provider: p.Name, Endpoint: e.URL, Model: p.Model,
		Class: llm.BreakerOpen, Breaker: e.breaker.stateName(), Next: next, Sent: Sent{BreakerFrom: e.breaker.stateName()},
	})
	if c.attempts == 0 {
		c.result.Class = llm.BreakerOpen
	}
}

// send makes the attempt. The permit is given back whatever happens, also when
// the attempt panics or its goroutine ends.
func (c *asking) send(ctx context.Context, a *attempt, permit *permit, netProbe bool) {
	c.attempts++
	c.result.Requests++
	if a.p.Local {
		c.local++
	}
	q := c.call.Compose(Shape{Half: a.half, Reply: c.reply, Repair: c.repair})
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
	if reply.Status == http.StatusOK { // what broke off behind it was thought, and is billed, all the same
		c.result.Spent += reply.Prompt + reply.Completion
	}
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
	a.judged = true
	repair, ok := c.call.Judge(a.reply.Content, a.half)
	if ok {
		c.result.Class, c.result.Detail = llm.OK, ""
		c.result.Provider, c.result.Endpoint, c.result.Model = a.p.Name, a.e.URL, a.reply.Model
		c.result.RequestID, c.result.Half = a.reply.RequestID, a.half
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
		a.p.slots.grow()
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
		a.p.slots.shrink()
		a.e.demoted.Store(now + int64(r.limits.Demote))
	case llm.GatewayTimeout:
		a.e.demoted.Store(now + int64(r.limits.Demote))
	case llm.RateLimit:
		a.p.slots.shrink()
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
		Sent: Sent{
			BreakerFrom: a.from, BytesIn: a.reply.BytesIn, Prompt: a.reply.Prompt, Completion: a.reply.Completion,
			RetryAfterMS: a.reply.RetryAfter.Milliseconds(), Judged: a.judged,
		},
	}
	if a.fault != nil {
		d.Code, d.Sent.Param, d.Sent.Message = a.fault.Code, a.fault.Param, a.fault.Message
	}
	c.result.Decisions = append(c.result.Decisions, d)
	if a.class == llm.OK || a.class == llm.ClientAbort { // decide said why it ended
		return
	}
	c.result.Class, c.result.Detail = a.class, c.detail(a)
	if n := c.notice(a); n != "" {
		c.result.Notices = append(c.result.Notices, Notice{Class: a.class, Provider: a.p.Name, Text: n})
	}
}

// detail is the one line that says why there is no answer.
func (c *asking) detail(a *attempt) string {
	say := c.r.words
	switch a.class { //nolint:exhaustive // the others say it themselves
	case llm.InvalidOutput:
		return say.Discarded
	case llm.ContentFilter:
		return fmt.Sprintf(say.Declined, a.p.Name)
	case llm.BadRequest:
		id := a.reply.RequestID
		if id == "" {
			id = say.NoID
		}
		return fmt.Sprintf(say.Refused, a.p.Name, a.reply.Status, id)
	}
	if t := c.notice(a); t != "" {
		return t
	}
	if f := a.fault; f != nil {
		said := *f
		said.Message = say.Cause(f.Message)
		return a.p.Name + ": " + said.Error()
	}
	return a.p.Name + ": " + string(a.class)
}

// notice is what the user has to know or to mend, "" for the rest.
func (c *asking) notice(a *attempt) string {
	name, say := a.p.Name, c.r.words
	switch a.class { //nolint:exhaustive // the others need nobody
	case llm.Auth:
		if a.p.KeyFrom == "" {
			return fmt.Sprintf(say.WantsKey, name, a.reply.Status)
		}
		return fmt.Sprintf(say.RejectsKey, name, a.p.KeyFrom, a.reply.Status)
	case llm.Billing:
		return fmt.Sprintf(say.NoCredit, name, a.reply.Status)
	case llm.NotFound:
		return fmt.Sprintf(say.NotFound, a.p.Model, a.e.URL, name, a.reply.Status)
	case llm.TLS:
		return fmt.Sprintf(say.NotTrusted, a.e.Host)
	case llm.Protocol:
		return fmt.Sprintf(say.NoAPI, a.e.Host)
	case llm.Local:
		return fmt.Sprintf(say.Misconfigured, name, a.fault.Message)
	case llm.Internal:
		return fmt.Sprintf(say.InternalAt, name)
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
