package correlate

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
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
	// After an error clients try again with pauses that begin below a second and
	// double; who asks every ten seconds or less often looks whether it is over.
	errorMost = 10 * second
)

// Retries finds requests that were sent again, on another connection or on the same.
func Retries() Spec {
	return Spec{
		Name: "retries", Doc: "HTTP requests sent again (RFC 9110, 9.2.2; RFC 9112, 9.3.1)",
		New: func() Correlator { return &retries{lost: map[retryKey][]asked{}} },
		Codes: []finding.Def{{
			Code: HTTPRetry, Severity: finding.Notice,
			Doc: "A client sent the same request again, on the same connection or another one, after the first had no answer (its connection was reset or closed, or the client waited for 1 s or more), or within 10 s after it was answered with an error that may pass (408, 429, 500, 502, 503, 504). What is not idempotent (POST) may have been done twice. A service that is asked twice for everything carries twice the load.",
			Metrics: []finding.Metric{
				{Name: "method", Text: true, Doc: "of the request"},
				{Name: "target", Text: true, Doc: "path or URL asked for"},
				{Name: "host", Text: true, Doc: "host asked for"},
				{Name: "attempts", Doc: "times that the request was sent"},
				{Name: "resets", Doc: "attempts that ended in a reset"},
				{Name: "answered", Doc: "1: the last attempt has an answer other than such an error, or none is missed yet"},
				{Name: "lost_seconds", Doc: "from the first attempt to the last"},
				{Name: "errors", Doc: "attempts that were answered with such an error"},
				{Name: "status", Doc: "of the first of them; 0: there is none"},
				{Name: "same_connection", Doc: "attempts on the connection of the one before"},
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

// answered is a request with an answer, the first of its connection: hardly any is
// ever asked for, so it is kept without a pointer.
type answered struct {
	flow       flow.ID
	client     hosts.Number
	before     uint32 // place of the one noted before it with the same key
	request    uint64
	start, end int64
	frame      uint64
}

type retries struct {
	lost   map[retryKey][]asked // without an answer, or with an error
	losses int
	first  pages[answered]
	latest hosts.Table[uint32] // of first, by client and request
	due    int64               // when to judge what is old
}

// Hears implements Listener.
func (*retries) Hears() []any { return []any{(*http.Attempt)(nil)} }

// Event implements Listener.
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
	if x.Unanswered || x.Status != 0 {
		if r.losses < maxAsked {
			r.losses++
			r.lost[k] = append(r.lost[k], asked{e.Flow, *x})
		}
		return
	}
	client := o.Hosts.Of(x.Client)
	if client == 0 {
		return
	}
	if r.first.len() >= maxAsked {
		r.first = pages[answered]{} // those that have an answer for minutes repeat nothing any more
		r.latest.Clear()
	}
	last := r.latest.At(asker(client, x.Request))
	*last = r.first.add(answered{
		flow: e.Flow, client: client, before: *last, request: x.Request, start: x.Start, end: x.End, frame: x.Frame,
	})
}

// asker is the key of a client and a request, which few others share.
func asker(client hosts.Number, request uint64) uint64 {
	const spread = 0x9e3779b97f4a7c15
	return max(request^uint64(client)*spread, 1)
}

// answers appends the answered requests of a key.
func (r *retries) answers(o *Out, all []asked, k retryKey) []asked {
	client := o.Hosts.Of(k.client)
	if client == 0 {
		return all
	}
	for at := r.latest.Get(asker(client, k.request)); at != 0; {
		x := r.first.at(at)
		if x.client == client && x.request == k.request {
			all = append(all, asked{x.flow, http.Attempt{Client: k.client, Request: x.request, Start: x.start, End: x.end, Frame: x.frame}})
		}
		at = x.before
	}
	return all
}

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
		all := r.answers(o, slices.Clone(lost), k)
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
		if !all[n-1].repeatedBy(&all[n]) {
			break
		}
	}
	return n
}

// repeatedBy reports whether another attempt was made because of how one ended.
func (a *asked) repeatedBy(next *asked) bool {
	wait := next.Start - a.End
	switch {
	case wait < 0:
		return false
	case a.Status != 0:
		return next.Start >= a.Answered && wait < errorMost
	case !a.Unanswered || a.flow == next.flow && !a.Apart:
		return false
	}
	return wait <= retryMost && (a.Over || wait >= retryLeast)
}

func retried(all []asked) finding.Finding {
	first, last := &all[0], &all[len(all)-1]
	f := finding.Finding{Code: HTTPRetry, Severity: finding.Notice, Flow: first.flow}
	resets, errors, status, same := 0, 0, 0, 0
	for i := range all {
		f.Evidence.Add(all[i].Frame, all[i].Start)
		if all[i].Reset {
			resets++
		}
		if all[i].Status != 0 {
			errors++
			status = cmp.Or(status, all[i].Status)
		}
		if i > 0 && all[i].flow == all[i-1].flow {
			same++
		}
	}
	answered := 1
	if last.Unanswered || last.Status != 0 {
		answered = 0
	}
	f.Values = []finding.Value{
		finding.Text(first.Method), finding.Text(first.Target), finding.Text(first.Host), finding.Num(len(all)), finding.Num(resets),
		finding.Num(answered), finding.Num(float64(last.Start-first.Start) / float64(second)), finding.Num(errors), finding.Num(status), finding.Num(same),
	}
	return f
}
