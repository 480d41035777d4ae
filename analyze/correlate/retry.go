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
)

// Retries finds requests that were sent again on another connection.
func Retries() Spec {
	return Spec{
		Name: "retries", Doc: "HTTP requests sent again on another connection (RFC 9110, 9.2.2; RFC 9112, 9.3.1)",
		New: func() Correlator { return &retries{lost: map[retryKey][]asked{}} },
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
	lost   map[retryKey][]asked // without an answer
	losses int
	first  pages[answered]
	latest hosts.Table[uint32] // of first, by client and request
	due    int64               // when to judge what is old
}

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
	if x.Unanswered {
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
