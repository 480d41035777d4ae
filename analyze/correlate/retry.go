package correlate

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/http"
)

// HTTPRetry is the code of requests that were sent again.
const HTTPRetry finding.Code = "http.retry"

// Bounds of what is remembered.
const (
	maxAsked = 1 << 14 // answered requests; those without an answer come on top, as many
	// Clients wait 1 s at least before they give a request up that nobody refused
	// (libraries 5 to 60 s), and who asks after two minutes has asked anew.
	retryLeast = second
	retryMost  = 120 * second
)

// Retries finds requests that were sent again on another connection.
func Retries() Spec {
	return Spec{
		Name: "retries", Doc: "HTTP requests sent again on another connection (RFC 9110, 9.2.2; RFC 9112, 9.3.1)",
		New: func() Correlator { return &retries{lost: map[retryKey][]asked{}, first: map[retryKey][]asked{}} },
		Codes: []finding.Def{{
			Code: HTTPRetry, Severity: finding.Notice,
			Doc: "A client sent the same request again on a new connection, after the first one had no answer: its connection was reset or closed, or the client waited for 1 s or more. What is not idempotent (POST) may have been done twice. A service that is asked twice for everything carries twice the load.",
			Metrics: []finding.Metric{
				{Name: "method", Text: true, Doc: "of the request"},
				{Name: "target", Text: true, Doc: "path or URL asked for"},
				{Name: "host", Text: true, Doc: "host asked for"},
				{Name: "attempts", Doc: "times that the request was sent"},
				{Name: "resets", Doc: "attempts that ended in a reset"},
				{Name: "answered", Doc: "1: the last attempt has an answer, or none is missed yet"},
				{Name: "lost_seconds", Doc: "from the first attempt to the last"},
			},
		}},
	}
}

type retryKey struct {
	client  netip.Addr
	request uint64
}

type asked struct {
	flow flow.ID
	http.Attempt
}

type retries struct {
	lost   map[retryKey][]asked // without an answer
	first  map[retryKey][]asked // answered, first of their connections
	losses int
	firsts int
	due    int64 // when to judge what is old
}

// Event implements Correlator.
func (r *retries) Event(o *Out, e *proto.Event) {
	x, ok := e.Body.(*http.Attempt)
	if !ok {
		return
	}
	if e.Time >= r.due {
		r.due = e.Time + retryMost
		r.judge(o, e.Time-2*retryMost)
	}
	k := retryKey{x.Client, x.Request}
	if x.Unanswered {
		if r.losses < maxAsked {
			r.losses++
			r.lost[k] = append(r.lost[k], asked{e.Flow, *x})
		}
		return
	}
	if r.firsts >= maxAsked {
		clear(r.first) // those that have an answer for minutes repeat nothing any more
		r.firsts = 0
	}
	r.firsts++
	r.first[k] = append(r.first[k], asked{e.Flow, *x})
}

// Conn implements Correlator.
func (*retries) Conn(*Out, *conn.Summary) {}

// End implements Correlator.
func (r *retries) End(o *Out) { r.judge(o, math.MaxInt64) }

// judge tells of the requests that were sent before a time, and forgets them.
func (r *retries) judge(o *Out, before int64) {
	var found []finding.Finding
	for k, lost := range r.lost {
		if lost[len(lost)-1].Start >= before {
			continue
		}
		delete(r.lost, k)
		r.losses -= len(lost)
		all := append(slices.Clone(lost), r.first[k]...)
		slices.SortFunc(all, func(a, b asked) int { return cmp.Compare(a.Frame, b.Frame) })
		for len(all) > 0 {
			n := chainOf(all)
			if n > 1 {
				found = append(found, retried(all[:n]))
			}
			all = all[n:]
		}
	}
	slices.SortFunc(found, func(a, b finding.Finding) int { return cmp.Compare(a.Evidence.First, b.Evidence.First) })
	for _, f := range found {
		o.Emit(f)
	}
}

// chainOf is the number of attempts, at least one, of which each repeats the one
// before.
func chainOf(all []asked) int {
	n := 1
	for ; n < len(all); n++ {
		before, next := &all[n-1], &all[n]
		wait := next.Start - before.End
		if !before.Unanswered || before.flow == next.flow || wait < 0 || wait > retryMost || !before.Over && wait < retryLeast {
			break
		}
	}
	return n
}

func retried(all []asked) finding.Finding {
	first, last := &all[0], &all[len(all)-1]
	f := finding.Finding{Code: HTTPRetry, Severity: finding.Notice, Flow: first.flow}
	resets := 0
	for i := range all {
		f.Evidence.Add(all[i].Frame, all[i].Start)
		if all[i].Reset {
			resets++
		}
	}
	answered := 1
	if last.Unanswered {
		answered = 0
	}
	f.Values = []finding.Value{
		finding.Text(first.Method), finding.Text(first.Target), finding.Text(first.Host), finding.Num(len(all)), finding.Num(resets),
		finding.Num(answered), finding.Num(float64(last.Start-first.Start) / float64(second)),
	}
	return f
}
