package rules

import (
	"cmp"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/rules/diagnosis"
)

// failureSeconds is what a failed connection or request counts for when costs are
// ranked: about what a user waits before trying another way.
const failureSeconds = 10

// Bounds of a confidence that is computed: nothing is certain, and what holds is
// not nothing.
const (
	leastConfidence = 0.05
	mostConfidence  = 0.99
)

// mostTold is how many diagnoses of one cause and culprit are told one by one, those
// that cost most. Nobody mends more than some dozens one after the other: what more
// there is has a reason in common, and what counts is how far it reaches.
const mostTold = 50

// group is the hits that become one diagnosis, worst first.
type group struct {
	key  groupKey
	hits []*hit
	one  [1]*hit // hits, while there is one
	reach
	conns []*talk
	more  int // parties that it stands for together; 0: it is one party's
	told  int // ... and how many were told before it
}

// key of a group: one cause, one culprit, one party.
type groupKey struct {
	cause   diagnosis.Cause
	culprit diagnosis.Culprit
	a       netip.AddrPort
	b       netip.Addr
	own     *hit
}

// fold joins the hits of one cause and party to one diagnosis with its reach,
// and ranks the diagnoses.
func (j *judge) fold(hits []*hit) []diagnosis.Diagnosis {
	c := newCounter(&j.subjects)
	order := j.groups(hits)
	for _, g := range order {
		if len(g.hits) > 1 {
			slices.SortStableFunc(g.hits, compareHits)
		}
		c.measure(g)
	}
	return j.written(curtailed(ranked(order), c))
}

// ranked are the groups in the order in which they are told.
func ranked(groups []*group) []*group {
	type rank struct {
		worst *hit
		cost  float64
		at    int
	}
	order := make([]rank, len(groups))
	for i, g := range groups {
		order[i] = rank{g.hits[0], g.cost(), i}
	}
	slices.SortFunc(order, func(a, b rank) int {
		x, y := a.worst, b.worst
		if c := cmp.Compare(y.severity, x.severity); c != 0 {
			return c
		}
		if c := aside(x.rule, y.rule); c != 0 {
			return c
		}
		if c := cmp.Compare(b.cost, a.cost); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(y.confidence, x.confidence), cmp.Compare(x.rule.ID, y.rule.ID), cmp.Compare(a.at, b.at))
	})
	out := make([]*group, len(groups))
	for i := range order {
		out[i] = groups[order[i].at]
	}
	return out
}

// written are the diagnoses of groups. Each is a text of its own: several workers
// write them.
func (j *judge) written(groups []*group) []diagnosis.Diagnosis {
	all, faults := make([]diagnosis.Diagnosis, len(groups)), make([]error, len(groups))
	var next atomic.Int64
	write := func() {
		w := writer{machine: newMachine(), view: newView(j.Set, j.in, j.codes), counter: newCounter(&j.subjects), lang: j.opt.Lang}
		for n := int(next.Add(1)) - 1; n < len(groups); n = int(next.Add(1)) - 1 {
			all[n], faults[n] = w.diagnosis(groups[n])
		}
	}
	var beside sync.WaitGroup
	if len(groups) >= worthWriters {
		for range runtime.GOMAXPROCS(0) - 1 {
			beside.Go(write)
		}
	}
	write()
	beside.Wait()
	out := all[:0]
	for i, g := range groups {
		if faults[i] != nil {
			j.fail(g.hits[0].rule, faults[i])
			continue
		}
		out = append(out, all[i])
	}
	return out
}

// groups puts the hits of one cause, culprit and party together, in the order of
// their first.
func (j *judge) groups(hits []*hit) []*group {
	const atOnce = 64
	var order []*group
	var spare []group
	var known hosts.Table[*group]
	causes := causeNumbers{of: make([]uint64, j.total), known: make(map[diagnosis.Cause]uint64)}
	for _, h := range hits {
		k := h.key()
		var none *group
		g := &none
		if k.own == nil { // else it is alone
			g = j.place(&known, k, causes.number(h.rule))
		}
		if *g == nil {
			if len(spare) == 0 {
				spare = make([]group, atOnce)
			}
			*g, spare = &spare[0], spare[1:]
			(*g).key, (*g).hits = k, (*g).one[:0]
			order = append(order, *g)
		}
		(*g).hits = append((*g).hits, h)
	}
	return order
}

// place is where the group of a key is, or belongs.
func (j *judge) place(known *hosts.Table[*group], k groupKey, cause uint64) **group {
	n := j.seeds.Mix(cause<<8|uint64(len(k.culprit)), uint64(k.a.Port()))
	for n = j.seeds.With(j.seeds.With(n, k.a.Addr()), k.b); ; n = j.seeds.Mix(n, n) {
		if g := known.At(n); *g == nil || (*g).key == k {
			return g
		}
	}
}

// causeNumbers numbers the causes of rules, from 1.
type causeNumbers struct {
	of    []uint64 // by the number of the rule
	known map[diagnosis.Cause]uint64
}

func (c *causeNumbers) number(r *Rule) uint64 {
	n := &c.of[r.number]
	if *n == 0 {
		if *n = c.known[r.Cause]; *n == 0 {
			*n = uint64(len(c.known)) + 1
			c.known[r.Cause] = *n
		}
	}
	return *n
}

// aside ranks what is told for completeness behind what is a fault.
func aside(a, b *Rule) int {
	switch {
	case a.Aside == b.Aside:
		return 0
	case a.Aside:
		return 1
	}
	return -1
}

// compareHits ranks the hits of a group: what is known in full comes first, as the
// first one is what the diagnosis tells of.
func compareHits(a, b *hit) int {
	if f := a.forgotten(); f != b.forgotten() {
		if f {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(b.cost(), a.cost()), cmp.Compare(b.confidence, a.confidence))
}

func (h *hit) cost() float64 { return h.stalled + failureSeconds*h.failed }

func (g *group) cost() float64 { return g.stalled + failureSeconds*float64(g.failed) }

func (h *hit) key() groupKey {
	k := h.party()
	k.culprit = h.culprit
	return k
}

// party is the key without the culprit.
func (h *hit) party() groupKey {
	k := groupKey{cause: h.rule.Cause}
	by := h.rule.By
	switch {
	case h.rule.Scope == Host:
		k.a = netip.AddrPortFrom(h.sub.addr, 0)
		return k
	case h.rule.Scope == Capture || by == ByAll:
		return k
	case by == ByNone || len(h.conns) == 0:
		k.own = h
		return k
	}
	client, server := h.conns[0].client, h.conns[0].server
	switch by {
	case ByServer:
		k.a = server
	case ByClient:
		k.b = client.Addr()
	case ByHost:
		k.a = netip.AddrPortFrom(server.Addr(), 0)
	default:
		k.a, k.b = netip.AddrPortFrom(server.Addr(), 0), client.Addr()
	}
	return k
}

// counter tells what of a group's conversations and addresses was counted before.
type counter struct {
	*subjects

	groups                  uint32
	talks, clients, servers []uint32 // by number: the last group that had it
}

func newCounter(s *subjects) *counter { return &counter{subjects: s} }

// begin begins another group.
func (c *counter) begin() {
	if c.groups++; c.talks == nil {
		c.talks = make([]uint32, len(c.subjects.talks))
		c.clients, c.servers = make([]uint32, c.ends+1), make([]uint32, c.ends+1)
	}
}

// fresh notes that the group has something, and reports whether that is new.
func (c *counter) fresh(last *uint32) bool {
	before := *last
	*last = c.groups
	return before != c.groups
}

// measure sums what a group concerns and costs. A cause's effects count where
// the cause itself does not.
func (c *counter) measure(g *group) {
	if h := g.hits[0]; len(g.hits) == 1 && len(h.absorbed) == 0 && len(h.conns) <= 1 { // nearly all, where there are many
		g.conns = h.conns
		g.reach = reach{conns: len(h.conns), clients: len(h.conns), servers: len(h.conns), failed: whole(finite(h.failed)), stalled: finite(h.stalled)}
		return
	}
	c.begin()
	most := 0
	for _, h := range g.hits {
		most += len(h.conns)
	}
	g.conns = make([]*talk, 0, most)
	failed := 0.0
	note := func(h *hit) {
		fresh := len(h.conns) == 0
		for _, t := range h.conns {
			if !c.fresh(&c.talks[t.place]) {
				continue
			}
			fresh = true
			g.conns = append(g.conns, t)
			if c.fresh(&c.clients[t.clientN]) {
				g.clients++
			}
			if c.fresh(&c.servers[t.serverN]) {
				g.servers++
			}
		}
		if fresh {
			g.stalled += finite(h.stalled)
			failed += finite(h.failed)
		}
	}
	for _, h := range g.hits {
		note(h)
	}
	for _, h := range g.hits {
		for _, e := range h.absorbed {
			note(e)
		}
	}
	g.reach.conns, g.failed = len(g.conns), whole(failed)
}

func whole(v float64) int { return int(math.Min(v, math.MaxInt32)) }

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

// writer writes what groups say. It is one goroutine's.
type writer struct {
	*machine
	*counter
	view *view
	lang string
}

// diagnosis writes what a group says.
func (w *writer) diagnosis(g *group) (diagnosis.Diagnosis, error) {
	if g.more > 0 {
		return w.rest(g)
	}
	h := g.hits[0]
	r := h.rule
	d := diagnosis.Diagnosis{
		Cause: r.Cause, Culprit: h.culprit, Severity: h.severity, Origin: diagnosis.ByRules, Rule: r.ID,
		References: r.Refs,
		Impact:     diagnosis.Impact{Connections: g.reach.conns, StalledSeconds: round6(g.stalled), Failed: g.failed},
		Evidence:   evidence(g),
	}
	for _, t := range g.conns {
		d.Connections = append(d.Connections, t.id)
	}
	d.Frames = frames(w.view.in, h.evidence, d.Evidence)
	w.trust(&d, h)
	if r.Ledger {
		if c := worstOf(g.conns); c != nil && c.Worst != nil && c.Worst.Ledger.Total > 0 {
			l := c.Worst.Ledger
			d.Ledger = &l
		}
	}
	return d, w.words(&d, g)
}

// trust computes the confidence of what a hit says, and names what lowers it.
func (w *writer) trust(d *diagnosis.Diagnosis, h *hit) {
	d.Confidence = finite(h.confidence)
	var c *conn.Summary
	if len(h.conns) > 0 {
		c = h.conns[0].sum
	}
	for _, x := range h.rule.Distrust {
		if x.met(&w.view.in.Trust, c) {
			d.Caveats = append(d.Caveats, x.caveat(w.lang))
			d.Confidence *= weaknessCost
		}
	}
	d.Confidence = math.Round(100*min(max(d.Confidence, leastConfidence), mostConfidence)) / 100
}

// look shows a group to the texts.
func (w *writer) look(g *group) {
	h := g.hits[0]
	w.view.look(h.sub)
	w.view.blame, w.view.party, w.view.reach, w.view.made = culpritWord(h.culprit, w.lang), party(h, w.lang), g.reach, nil
}

// words fills in the texts.
func (w *writer) words(d *diagnosis.Diagnosis, g *group) error {
	r := g.hits[0].rule
	w.look(g)
	var err error
	if d.Title, err = w.fill(&r.title, false); err != nil {
		return err
	}
	if d.Explanation, err = w.fill(&r.explain, false); err != nil {
		return err
	}
	for i := range r.remedies {
		s, err := w.fill(&r.remedies[i], false)
		if err != nil {
			return err
		}
		d.Remedies = append(d.Remedies, s)
	}
	for i := range r.rivals {
		x := &r.rivals[i]
		holds, err := w.truth(x.when, w.view)
		if err != nil {
			return err
		}
		if !holds {
			continue
		}
		s, err := w.fill(&x.because, false)
		if err != nil {
			return err
		}
		d.Excluded = append(d.Excluded, diagnosis.Exclusion{Cause: x.cause, Because: s})
	}
	if r.next == nil {
		return nil
	}
	command, err := w.fill(&r.next.command, true)
	if err != nil {
		return err
	}
	tells, err := w.fill(&r.next.tells, false)
	if err != nil {
		return err
	}
	d.NextStep = &diagnosis.NextStep{Command: command, TellsApart: tells}
	return nil
}

func (w *writer) fill(t *text, command bool) (string, error) {
	return t.in(w.lang).fill(w.machine, w.view, command)
}

// evidence joins the findings of a group and of what it explains.
func evidence(g *group) []int {
	var out []int
	for _, h := range g.hits {
		out = append(out, h.evidence...)
		for _, e := range h.absorbed {
			out = append(out, e.evidence...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// frames picks the frames that prove a diagnosis: those of the worst hit first,
// then of the others, then spread evenly over what is left, at most
// finding.MaxFrames, ascending.
func frames(in *Input, worst, all []int) []uint64 {
	var out []uint64
	for _, list := range [][]int{worst, all} {
		var more []uint64
		for _, n := range list {
			more = append(more, in.Findings[n].Evidence.Frames...)
		}
		slices.Sort(more)
		more = slices.DeleteFunc(slices.Compact(more), func(f uint64) bool { return slices.Contains(out, f) })
		out = append(out, spread(more, finding.MaxFrames-len(out))...)
	}
	slices.Sort(out)
	return out
}

// spread picks n of list evenly, the first and the last among them.
func spread(list []uint64, n int) []uint64 {
	if len(list) <= n {
		return list
	}
	if n <= 0 {
		return nil
	}
	if n == 1 {
		return list[:1]
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = list[i*(len(list)-1)/(n-1)]
	}
	return out
}

func round6(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// culpritWord names a culprit in a language.
func culpritWord(c diagnosis.Culprit, lang string) string {
	en, zh := string(c), string(c)
	switch c {
	case diagnosis.Client:
		zh = "客户端"
	case diagnosis.Server:
		zh = "服务器"
	case diagnosis.Network:
		en, zh = "the network", "网络"
	case diagnosis.Resolver:
		zh = "DNS 解析器"
	case diagnosis.Host:
		zh = "主机"
	case diagnosis.None:
		en, zh = "nobody", "无责任方"
	}
	if lang == Chinese {
		return zh
	}
	return en
}

// party is the culprit with its address.
func party(h *hit, lang string) string {
	word := culpritWord(h.culprit, lang)
	var addr string
	switch {
	case h.culprit == diagnosis.Network || h.culprit == diagnosis.None:
		return word
	case h.rule.Scope == Host:
		addr = h.sub.addr.String()
	case len(h.conns) == 0:
		return word
	case h.culprit == diagnosis.Client:
		addr = h.conns[0].client.Addr().String()
	default:
		addr = h.conns[0].server.String()
	}
	return word + " " + addr
}
