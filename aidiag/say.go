package aidiag

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/route"
	"netwhy/aidiag/internal/words"
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

// sayer sends each line once: a thousand cases that fall back for one reason are
// one line.
type sayer struct {
	observe func(Event)
	words   *words.Words

	mu      sync.Mutex
	last    Class // of the last fall back; "" after an answer
	reason  string
	fell    bool
	notices map[string]bool
}

func (s *sayer) retry(id, provider string, attempt, of int, _ time.Duration) {
	if s.observe != nil {
		s.observe(Event{Kind: EventRetry, Case: id, Text: fmt.Sprintf(s.words.Again, provider, attempt, of)})
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
		key := n.Text
		if n.Class == ClassInjection { // once is enough: the report has all frames
			key = string(n.Class)
		}
		if !s.notices[key] && len(s.notices) < most {
			s.notices[key] = true
			events = append(events, Event{Kind: EventNotice, Case: a.Case, Text: n.Text})
		}
	}
	switch a.State {
	case Answered, Partial:
		if s.fell {
			events = append(events, Event{Kind: EventBack, Case: a.Case, Text: s.words.Back})
		}
		s.fell, s.reason = false, ""
	case FellBack, Off:
		if !s.fell || s.reason != a.Reason || s.last != a.Class {
			events = append(events, Event{Kind: EventFellBack, Case: a.Case, Text: a.Reason + s.words.ByRule})
		}
		s.fell, s.last, s.reason = true, a.Class, a.Reason
	}
	s.mu.Unlock()
	for _, e := range events {
		s.observe(e)
	}
}

// reason is the one line that says why the rules stand alone.
func (e *Engine) reason(res *route.Result, c *crew) string {
	w := e.words
	until := ""
	if !res.RetryAt.IsZero() {
		until = fmt.Sprintf(w.Until, res.RetryAt.In(e.deps.Clock().Location()).Format(time.TimeOnly))
	}
	switch res.Class { //nolint:exhaustive // the others bring their own line
	case llm.BreakerOpen:
		return fmt.Sprintf(w.Paused, until, e.held(c))
	case llm.RateLimit:
		return fmt.Sprintf(w.Limited, until)
	case llm.ClientAbort:
		if res.Detail == "budget" {
			return w.TooLong
		}
		return w.Interrupted
	case llm.Busy:
		return w.Busy
	case llm.Quota, llm.InvalidOutput, llm.ContentFilter, llm.BadRequest, llm.Auth, llm.Billing, llm.NotFound, llm.TLS, llm.Protocol, llm.Local:
		return res.Detail
	case llm.TooLarge:
		return w.TooLarge
	case llm.NetPersistent, llm.NetTransient, llm.GatewayTimeout:
		return fmt.Sprintf(w.Unreachable, res.Detail)
	case llm.Server, llm.Parse:
		return fmt.Sprintf(w.OutOfOrder, res.Detail)
	}
	return fmt.Sprintf(w.NoAnswer, res.Detail)
}

// held says what holds each provider back: "deepseek unreachable, openai rate limited".
func (e *Engine) held(c *crew) string {
	w := e.words
	if c == nil {
		return w.Held
	}
	st := c.router.Status()
	var parts []string
	seen := map[string]bool{}
	for _, e := range st.Endpoints {
		if seen[e.Provider] {
			continue
		}
		seen[e.Provider] = true
		line := w.HeldWait
		switch e.Why { //nolint:exhaustive // the others asked to wait
		case llm.OK:
			line = w.HeldNet
		case llm.RateLimit:
			line = w.HeldRate
		case llm.Auth:
			line = w.HeldKey
		case llm.Billing:
			line = w.HeldCredit
		case llm.NotFound:
			line = w.HeldModel
		}
		parts = append(parts, fmt.Sprintf(line, e.Provider))
	}
	if st.NetDown {
		parts = append(parts, w.HeldOwnNet)
	}
	return strings.Join(parts, w.Join)
}
