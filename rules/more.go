package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// Bounds of what a diagnosis names that stands for many parties.
const (
	mostEvidence    = 100
	mostConnections = 100
	mostExamples    = 5
)

// curtailed leaves the diagnoses that are told one by one, and joins the others of
// one cause, culprit and severity to one that stands where the first of them stood.
// What is only known of forgotten conversations is never told by itself: too little
// is left of them to tell a story.
func curtailed(order []*group, c *counter) []*group {
	type kind struct {
		cause   diagnosis.Cause
		culprit diagnosis.Culprit
	}
	type grave struct {
		kind
		severity finding.Severity
	}
	told := make(map[kind]int)
	rest := make(map[grave]*group)
	out := order[:0:0]
	for _, g := range order {
		h := g.hits[0]
		k := kind{h.rule.Cause, h.culprit}
		if !h.forgotten() && told[k] < mostTold {
			told[k]++
			out = append(out, g)
			continue
		}
		more := rest[grave{k, h.severity}]
		if more == nil {
			more = &group{}
			rest[grave{k, h.severity}] = more
			out = append(out, more)
		}
		more.hits = append(more.hits, g.hits...)
		more.more++
	}
	for k, more := range rest {
		more.told = told[k.kind]
		c.measure(more)
	}
	return out
}

// rest writes a diagnosis that stands for many parties: how many, what it cost
// them, and samples.
func (w *writer) rest(g *group) (diagnosis.Diagnosis, error) {
	h := g.hits[0]
	r := h.rule
	d := diagnosis.Diagnosis{
		Cause: r.Cause, Culprit: h.culprit, Severity: h.severity, Origin: diagnosis.ByRules, Rule: r.ID, References: r.Refs, More: g.more,
		Impact:   diagnosis.Impact{Connections: g.reach.conns, StalledSeconds: round6(g.stalled), Failed: g.failed},
		Evidence: g.sample(),
	}
	for _, t := range g.conns[:min(len(g.conns), mostConnections)] {
		d.Connections = append(d.Connections, t.id)
	}
	d.Frames = frames(w.view.in, h.evidence, d.Evidence)
	w.trust(&d, slices.MinFunc(g.hits, func(a, b *hit) int { return cmp.Compare(a.confidence, b.confidence) }))
	say := manyOf(w.lang)
	d.Title = say.title(g, r)
	d.Remedies = []string{say.remedy}
	var out []string
	if g.told > 0 {
		out = append(out, fmt.Sprintf(say.told, g.told))
	}
	if list := g.examples(); len(list) > 0 {
		out = append(out, fmt.Sprintf(say.worst, strings.Join(list, ", ")))
	}
	if n := g.forgotten(); n > 0 {
		out = append(out, fmt.Sprintf(say.forgotten, n))
	}
	if h.forgotten() {
		d.Explanation = strings.Join(out, say.space)
		return d, nil
	}
	one := &group{hits: []*hit{h}}
	w.measure(one)
	w.look(one)
	title, err := w.fill(&r.title, false)
	if err != nil {
		return d, err
	}
	d.Explanation = strings.Join(append(out, fmt.Sprintf(say.such, title)), say.space)
	return d, nil
}

// sample are findings of the worst parties.
func (g *group) sample() []int {
	var out []int
	for _, h := range g.hits {
		if len(out) >= mostEvidence {
			break
		}
		out = append(out, h.evidence[:min(len(h.evidence), mostEvidence-len(out))]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// examples are the addresses of the worst parties.
func (g *group) examples() []string {
	var out []string
	for _, h := range g.hits {
		if len(out) == mostExamples {
			break
		}
		var s string
		switch {
		case h.rule.Scope == Host:
			s = h.sub.addr.String()
		case len(h.conns) == 0:
			continue
		case h.rule.By == ByClient:
			s = h.conns[0].client.Addr().String()
		case h.rule.By == ByPair:
			s = h.conns[0].client.Addr().String() + " → " + h.conns[0].server.Addr().String()
		case h.rule.By == ByNone:
			s = h.conns[0].client.String() + " → " + h.conns[0].server.String()
		case h.rule.By == ByHost:
			s = h.conns[0].server.Addr().String()
		default:
			s = h.conns[0].server.String()
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// forgotten counts the conversations of which little is left.
func (g *group) forgotten() int {
	seen := make(map[flow.ID]bool)
	for _, h := range g.hits {
		if h.forgotten() {
			seen[h.sub.id] = true
		}
	}
	return len(seen)
}

// many are the words for many parties.
type many struct {
	party     func(r *Rule, n int, more bool) string
	head      string // cause, parties
	failed    string
	conns     func(n int) string
	list      string // between the figures
	space     string // between sentences
	told      string
	worst     string
	such      string
	forgotten string
	remedy    string
	units     units
}

func (m *many) title(g *group, r *Rule) string {
	parts := []string{m.conns(g.reach.conns)}
	if g.failed > 0 {
		parts = append(parts, fmt.Sprintf(m.failed, grouped(g.failed)))
	}
	if g.stalled > 0 {
		parts = append(parts, m.units.seconds(g.stalled))
	}
	return fmt.Sprintf(m.head, r.Cause, m.party(r, g.more, g.told > 0)) + strings.Join(parts, m.list)
}

func manyOf(lang string) many {
	if lang == Chinese {
		return many{
			party: func(r *Rule, n int, more bool) string {
				noun := [...]string{"台服务器", "个客户端", "台主机", "对主机", "方", "个连接"}[r.By]
				if more {
					return "另外 " + grouped(n) + " " + noun
				}
				return grouped(n) + " " + noun
			},
			head: "%s：%s，", conns: func(n int) string { return grouped(n) + " 个连接" }, failed: "%s 次失败", list: "，", space: "",
			told: "损失最大的 %d 个已逐一说明；这里是同一规则成立的其余全部。", worst: "其中损失最大的：%s。", such: "例如：%s。",
			forgotten: "其中 %d 个连接因内存所限只保留了两端地址和发现。",
			remedy:    "在逐一修复之前先找出它们的共同点：一次发布、代理、证书、防火墙规则或默认设置。报告的发现列出了每一个。",
			units:     unitsOf(lang),
		}
	}
	return many{
		party: func(r *Rule, n int, more bool) string {
			noun := [...]string{nameServer, nameClient, nameHost, "pair of hosts", "party", Connection.String()}[r.By]
			if n != 1 {
				noun = [...]string{nameServers, nameClients, "hosts", "pairs of hosts", "parties", "connections"}[r.By]
			}
			if more {
				noun = "more " + noun
			}
			return grouped(n) + " " + noun
		},
		head: "%s at %s: ", conns: func(n int) string {
			if n == 1 {
				return "1 connection"
			}
			return grouped(n) + " connections"
		}, failed: "%s failed", list: ", ", space: " ",
		told: "The %d that cost most are told one by one; these are all others that the same rule holds for.", worst: "The worst of them: %s.", such: "Such as: %s.",
		forgotten: "Of %d of these connections only ends and findings were kept, for want of room.",
		remedy:    "Look for what they have in common before you mend them one by one: a deployment, a proxy, a certificate, a rule of a firewall, a default. The findings of the report name each.",
		units:     unitsOf(lang),
	}
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
