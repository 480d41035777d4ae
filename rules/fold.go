package rules

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
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

// group is the hits that become one diagnosis, worst first.
type group struct {
	hits []*hit
	reach
	conns []*conn.Summary
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
	groups := make(map[groupKey]*group)
	var order []*group
	for _, h := range hits {
		k := h.key()
		g := groups[k]
		if g == nil {
			g = &group{}
			groups[k] = g
			order = append(order, g)
		}
		g.hits = append(g.hits, h)
	}
	for _, g := range order {
		slices.SortStableFunc(g.hits, func(a, b *hit) int {
			return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(b.cost(), a.cost()), cmp.Compare(b.confidence, a.confidence))
		})
		g.measure()
	}
	slices.SortStableFunc(order, func(a, b *group) int {
		return cmp.Or(
			cmp.Compare(b.hits[0].severity, a.hits[0].severity),
			cmp.Compare(b.cost(), a.cost()),
			cmp.Compare(b.hits[0].confidence, a.hits[0].confidence),
			cmp.Compare(a.hits[0].rule.ID, b.hits[0].rule.ID),
		)
	})
	out := make([]diagnosis.Diagnosis, 0, len(order))
	for _, g := range order {
		d, err := j.diagnosis(g)
		if err != nil {
			j.fail(g.hits[0].rule, err)
			continue
		}
		out = append(out, d)
	}
	return out
}

func (h *hit) cost() float64 { return h.stalled + failureSeconds*h.failed }

func (g *group) cost() float64 { return g.stalled + failureSeconds*float64(g.failed) }

func (h *hit) key() groupKey {
	k := groupKey{cause: h.rule.Cause, culprit: h.culprit}
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
	client, server := h.conns[0].Client.Addr, h.conns[0].Server.Addr
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

// measure sums what the group concerns and costs. A cause's effects count where
// the cause itself does not.
func (g *group) measure() {
	seen := make(map[flow.ID]bool)
	clients, servers := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	failed := 0.0
	note := func(h *hit) {
		fresh := len(h.conns) == 0
		for _, c := range h.conns {
			if !seen[c.ID] {
				seen[c.ID], fresh = true, true
				g.conns = append(g.conns, c)
				clients[c.Client.Addr.Addr()], servers[c.Server.Addr.Addr()] = true, true
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
	g.reach.conns, g.clients, g.servers, g.failed = len(g.conns), len(clients), len(servers), int(math.Min(failed, math.MaxInt32))
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

// diagnosis writes what a group says.
func (j *judge) diagnosis(g *group) (diagnosis.Diagnosis, error) {
	h := g.hits[0]
	r := h.rule
	d := diagnosis.Diagnosis{
		Cause: r.Cause, Culprit: h.culprit, Severity: h.severity, Origin: diagnosis.ByRules, Rule: r.ID,
		References: r.Refs,
		Impact:     diagnosis.Impact{Connections: g.reach.conns, StalledSeconds: round6(g.stalled), Failed: g.failed},
		Evidence:   evidence(g),
	}
	for _, c := range g.conns {
		d.Connections = append(d.Connections, c.ID)
	}
	d.Frames = j.frames(h.evidence, d.Evidence)
	d.Confidence = finite(h.confidence)
	for _, w := range r.Distrust {
		var c *conn.Summary
		if len(h.conns) > 0 {
			c = h.conns[0]
		}
		if w.met(&j.in.Trust, c) {
			d.Caveats = append(d.Caveats, w.caveat(j.opt.Lang))
			d.Confidence *= weaknessCost
		}
	}
	d.Confidence = math.Round(100*min(max(d.Confidence, leastConfidence), mostConfidence)) / 100
	if r.Ledger {
		if c := worstOf(g.conns); c != nil && c.Worst != nil && c.Worst.Ledger.Total > 0 {
			l := c.Worst.Ledger
			d.Ledger = &l
		}
	}
	return d, j.words(&d, g)
}

// words fills in the texts.
func (j *judge) words(d *diagnosis.Diagnosis, g *group) error {
	h, lang := g.hits[0], j.opt.Lang
	r := h.rule
	env := j.env(h.sub) // conditions cannot name what is added here
	env[nameCulprit] = culpritWord(h.culprit, lang)
	env[nameParty] = party(h, lang)
	env[nameReach] = row(reachFacts(), &g.reach)
	var err error
	if d.Title, err = r.title.in(lang).fill(j.machine, env, false); err != nil {
		return err
	}
	if d.Explanation, err = r.explain.in(lang).fill(j.machine, env, false); err != nil {
		return err
	}
	for i := range r.remedies {
		s, err := r.remedies[i].in(lang).fill(j.machine, env, false)
		if err != nil {
			return err
		}
		d.Remedies = append(d.Remedies, s)
	}
	for i := range r.rivals {
		v := &r.rivals[i]
		holds, err := j.truth(v.when, env)
		if err != nil {
			return err
		}
		if !holds {
			continue
		}
		s, err := v.because.in(lang).fill(j.machine, env, false)
		if err != nil {
			return err
		}
		d.Excluded = append(d.Excluded, diagnosis.Exclusion{Cause: v.cause, Because: s})
	}
	if r.next == nil {
		return nil
	}
	command, err := r.next.command.in(lang).fill(j.machine, env, true)
	if err != nil {
		return err
	}
	tells, err := r.next.tells.in(lang).fill(j.machine, env, false)
	if err != nil {
		return err
	}
	d.NextStep = &diagnosis.NextStep{Command: command, TellsApart: tells}
	return nil
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
func (j *judge) frames(worst, all []int) []uint64 {
	var out []uint64
	for _, list := range [][]int{worst, all} {
		var more []uint64
		for _, n := range list {
			more = append(more, j.in.Findings[n].Evidence.Frames...)
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
		addr = h.conns[0].Client.Addr.Addr().String()
	default:
		addr = h.conns[0].Server.Addr.String()
	}
	return word + " " + addr
}
