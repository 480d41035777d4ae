package correlate

import (
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/http"
)

// Codes of redirections: those that lead back, and those that follow each other.
const (
	RedirectLoop  finding.Code = "http.redirect-loop"
	RedirectChain finding.Code = "http.redirects"
)

// Bounds of the chains that are followed.
const (
	maxChains  = 1 << 13
	maxVisited = 64
	// A browser follows at once; what comes later was asked for anew.
	redirectAge = 30 * second
	// Nobody sends a client on more often than this on purpose; browsers give
	// up at 20 (Fetch standard, 4.4). It finds loops whose URL changes each time.
	longChain = 10
	// One redirection (to HTTPS, to a page with a slash) is what everybody does.
	shortChain = 2
	// The way over HTTPS is encrypted: a client that is back within 2 s at the
	// URL that sent it there, five times, was sent back.
	unseenAge   = 2 * second
	unseenTimes = 5
)

// Redirects follows redirections over connections, since a server may close
// after each.
func Redirects() Spec {
	return Spec{
		Name: "redirects", Doc: "HTTP redirections that lead in a circle (RFC 9110, 15.4)",
		New: func() Correlator { return &redirects{chains: map[chainKey]*chain{}} },
		Codes: []finding.Def{{
			Code: RedirectChain, Severity: finding.Info,
			Doc: "A client was sent on twice or more before it got a page: each redirection costs a round trip, often a lookup and a connection (RFC 9110, 15.4).",
			Metrics: []finding.Metric{
				{Name: "redirects", Merge: finding.Max, Doc: "redirections in the chain; those to the same URL over HTTPS are left out"},
				{Name: "status", Doc: "of the last redirection"},
				{Name: "from", Text: true, Doc: "URL that the last one was asked for"},
				{Name: "to", Text: true, Doc: "where it leads"},
				{Name: "span_seconds", Merge: finding.Max, Doc: "from the first to the last redirection"},
			},
		}, {
			Code: RedirectLoop, Severity: finding.Warning,
			Doc: "A client followed redirections that lead back to a URL that had been redirected before. A page may send a client to a login and back once; here one URL was redirected at least three times in one chain, its Location is the URL itself, or the chain has ten redirections. Where the way back is encrypted (HTTP sends to HTTPS of the same URL), the client came back to it five times, each within 2 s.",
			Metrics: []finding.Metric{
				{Name: "redirects", Doc: "redirections in the chain"},
				{Name: "urls", Doc: "different URLs in it"},
				{Name: "repeats", Doc: "times that a URL was redirected again"},
				{Name: "status", Doc: "of the last redirection"},
				{Name: "from", Text: true, Doc: "URL asked for last"},
				{Name: "to", Text: true, Doc: "where it leads"},
				{Name: "span_seconds", Doc: "from the first to the last redirection"},
			},
		}},
	}
}

type chainKey struct {
	client netip.Addr
	next   uint64 // hash of the URL that the client is sent to
}

// chain is one client on its way. URLs are kept as hashes: they are long, and
// hostile.
type chain struct {
	visited   []uint64 // URLs that were redirected, each once
	redirects int
	plain     int // of these, not to the same URL over HTTPS
	repeats   int
	most      map[uint64]int
	ev        finding.Evidence
	flow      flow.ID
	unseen    bool // the step to come is over HTTPS
	listed    bool // among the loops
	status    int
	from, to  string
}

type redirects struct {
	chains map[chainKey]*chain
	loops  []*chain // in order of discovery
	long   []*chain // likewise: of two redirections or more
}

// Hears implements Listener.
func (*redirects) Hears() []any { return []any{(*http.Redirect)(nil)} }

// Event implements Correlator.
func (r *redirects) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*http.Redirect)
	if !ok {
		return
	}
	client := x.Client.Addr()
	k := chainKey{client, hashText(x.From)}
	c := r.chains[k]
	if c != nil {
		delete(r.chains, k)
	}
	if c == nil || e.Time-c.ev.End > redirectAge || c.unseen && e.Time-c.ev.End > unseenAge {
		c = &chain{flow: e.Flow}
	}
	r.step(c, x, e)
	if len(r.chains) >= maxChains {
		clear(r.chains) // chains end within seconds: what is lost is one that began just now
	}
	next := x.To
	if c.unseen = upgraded(x.From, x.To); c.unseen {
		next = x.From
	}
	r.chains[chainKey{client, hashText(next)}] = c
}

// upgraded reports whether a redirection leads to the same URL over HTTPS.
func upgraded(from, to string) bool {
	a, plain := strings.CutPrefix(from, "http://")
	b, secure := strings.CutPrefix(to, "https://")
	return plain && secure && a == b
}

// step adds one redirection to a chain.
func (r *redirects) step(c *chain, x *http.Redirect, e *proto.Event) {
	from := hashText(x.From)
	c.redirects++
	c.status, c.from, c.to = x.Status, x.From, x.To
	c.ev.Add(e.Frame, e.Time)
	times := 0
	switch {
	case slices.Contains(c.visited, from):
		c.repeats++
		if c.most == nil {
			c.most = map[uint64]int{}
		}
		c.most[from]++
		times = c.most[from] + 1
	case len(c.visited) < maxVisited:
		c.visited = append(c.visited, from)
	}
	// A Location that is the URL itself needs no third time, unless a cookie was
	// set: then the second is answered.
	loop := times >= 3 || times == 2 && x.From == x.To || c.redirects >= longChain
	if upgraded(x.From, x.To) {
		loop = times >= unseenTimes
	}
	if !upgraded(x.From, x.To) {
		if c.plain++; c.plain == shortChain && len(r.long) < maxChains {
			r.long = append(r.long, c)
		}
	}
	if loop && !c.listed && len(r.loops) < maxChains {
		c.listed = true
		r.loops = append(r.loops, c)
	}
}

// End implements Correlator.
func (r *redirects) End(o *Out) {
	for _, c := range r.long {
		if c.listed {
			continue
		}
		o.Emit(finding.Finding{
			Code: RedirectChain, Severity: finding.Info, Flow: c.flow, Evidence: c.ev,
			Values: []finding.Value{
				finding.Num(c.plain), finding.Num(c.status), finding.Text(c.from), finding.Text(c.to),
				finding.Num(float64(c.ev.End-c.ev.Start) / float64(second)),
			},
		})
	}
	for _, c := range r.loops {
		o.Emit(finding.Finding{
			Code: RedirectLoop, Severity: finding.Warning, Flow: c.flow, Evidence: c.ev,
			Values: []finding.Value{
				finding.Num(c.redirects), finding.Num(len(c.visited)), finding.Num(c.repeats), finding.Num(c.status),
				finding.Text(c.from), finding.Text(c.to), finding.Num(float64(c.ev.End-c.ev.Start) / float64(second)),
			},
		})
	}
}

// hashText is FNV-1a of a text.
func hashText(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
