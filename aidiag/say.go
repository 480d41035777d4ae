package aidiag

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
)

// Event is one line for the screen.
type Event struct {
	Kind EventKind
	Case string
	Text string // one line, no key, nothing of the answer
}

// EventKind tells lines apart.
type EventKind string

// Kinds of events. Retries are for the moment; a fall back and a notice are to
// be kept on the screen.
const (
	EventRetry    EventKind = "retry"
	EventFellBack EventKind = "fell-back"
	EventNotice   EventKind = "notice"
	EventBack     EventKind = "back" // an answer came behind a fall back
)

const answeredByRules = "; answered by local rules"

// sayer sends each line once: a thousand cases that fall back for one reason are
// one line.
type sayer struct {
	observe func(Event)

	mu      sync.Mutex
	last    Class // of the last fall back; "" after an answer
	reason  string
	fell    bool
	notices map[string]bool
}

func (s *sayer) retry(id, provider string, attempt, of int, _ time.Duration) {
	if s.observe != nil {
		s.observe(Event{Kind: EventRetry, Case: id, Text: fmt.Sprintf("asking %s again, %d of %d", provider, attempt, of)})
	}
}

func (s *sayer) answer(a *Answer) {
	if s.observe == nil {
		return
	}
	var events []Event
	s.mu.Lock()
	if s.notices == nil {
		s.notices = map[string]bool{}
	}
	const most = 1000
	for _, n := range a.Notices {
		if !s.notices[n.Text] && len(s.notices) < most {
			s.notices[n.Text] = true
			events = append(events, Event{Kind: EventNotice, Case: a.Case, Text: n.Text})
		}
	}
	switch a.State {
	case Answered, Partial:
		if s.fell {
			events = append(events, Event{Kind: EventBack, Case: a.Case, Text: "AI answers again"})
		}
		s.fell, s.reason = false, ""
	case FellBack, Off:
		if !s.fell || s.reason != a.Reason || s.last != a.Class {
			events = append(events, Event{Kind: EventFellBack, Case: a.Case, Text: a.Reason + answeredByRules})
		}
		s.fell, s.last, s.reason = true, a.Class, a.Reason
	}
	s.mu.Unlock()
	for _, e := range events {
		s.observe(e)
	}
}

// reason is the one line that says why the rules stand alone.
func reason(res *route.Result, c *crew, now func() time.Time) string {
	until := ""
	if !res.RetryAt.IsZero() {
		until = " until " + res.RetryAt.In(now().Location()).Format(time.TimeOnly)
	}
	switch res.Class { //nolint:exhaustive // the others bring their own line
	case llm.BreakerOpen:
		return "AI paused" + until + ": " + held(c)
	case llm.RateLimit:
		return "rate limited" + until
	case llm.ClientAbort:
		if res.Detail == "budget" {
			return "AI took too long"
		}
		return interrupted
	case llm.Busy:
		return busyReason
	case llm.Quota, llm.InvalidOutput, llm.ContentFilter, llm.BadRequest, llm.Auth, llm.Billing, llm.NotFound, llm.TLS, llm.Protocol, llm.Local:
		return res.Detail
	case llm.TooLarge:
		return "the case does not fit the model, not even by half"
	case llm.NetPersistent, llm.NetTransient, llm.GatewayTimeout:
		return "AI unreachable (" + res.Detail + ")"
	case llm.Server, llm.Parse:
		return "AI out of order (" + res.Detail + ")"
	}
	return "AI gave no answer: " + res.Detail
}

// held says what holds each provider back: "deepseek unreachable, openai: rate_limit".
func held(c *crew) string {
	if c == nil {
		return "unreachable"
	}
	st := c.router.Status()
	var parts []string
	seen := map[string]bool{}
	for _, e := range st.Endpoints {
		if seen[e.Provider] {
			continue
		}
		seen[e.Provider] = true
		switch e.Why {
		case llm.OK:
			parts = append(parts, e.Provider+" unreachable")
		case llm.RateLimit:
			parts = append(parts, e.Provider+" rate limited")
		case llm.Auth:
			parts = append(parts, e.Provider+" rejects the key")
		case llm.Billing:
			parts = append(parts, e.Provider+" without credit")
		case llm.NotFound:
			parts = append(parts, e.Provider+" does not know the model")
		default:
			parts = append(parts, e.Provider+" asked to wait")
		}
	}
	if st.NetDown {
		parts = append(parts, "own network down")
	}
	return strings.Join(parts, ", ")
}
