package rules

import (
	"maps"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
)

// tables are the facts that the rules of a set read: the others are never made.
type tables struct {
	conn         []fact[conn.Summary]
	side         []fact[conn.Side]
	worst        []fact[conn.Exchange]
	total, most  []fact[conn.Summary]
	sideT, sideM []fact[conn.Side]
	codes        map[finding.Code]bool
}

func newTables(rules []*Rule) tables {
	uses := make(map[string]bool)
	for _, r := range rules {
		maps.Copy(uses, r.uses)
	}
	t := tables{codes: make(map[finding.Code]bool)}
	t.conn = used(connFacts(), uses, nameConn)
	t.side = used(sideFacts(), uses, nameConn+"."+nameClient, nameConn+"."+nameServer)
	t.worst = used(worstFacts(), uses, nameWorst)
	t.total = used(connFacts(), uses, nameTotal)
	t.most = used(connFacts(), uses, nameMost)
	t.sideT = used(sideFacts(), uses, nameTotal+"."+nameClient, nameTotal+"."+nameServer)
	t.sideM = used(sideFacts(), uses, nameMost+"."+nameClient, nameMost+"."+nameServer)
	return t
}

func used[T any](all []fact[T], uses map[string]bool, prefixes ...string) (out []fact[T]) {
	for _, f := range all {
		for _, p := range prefixes {
			if uses[p+"."+f.name] {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// zeros makes the part of the environment that is the same for every subject:
// every code with zeros, and an empty conversation.
func (s *Set) zeros(in *Input) map[string]any {
	env := map[string]any{
		nameTrust:   row(trustFacts(), &in.Trust),
		nameCapture: row(captureFacts(), in),
		nameHost:    row(hostFacts(), &subjectFacts{}),
		nameConns:   row(connsFacts(), &subjectFacts{}),
	}
	for _, n := range append(culpritNames(), severityNames()...) {
		if n != nameHost {
			env[n] = n
		}
	}
	for family, codes := range s.schema.families {
		m := make(map[string]any, len(codes))
		for name, d := range codes {
			m[name] = zeroCode(d)
		}
		env[family] = m
	}
	s.tables.setConn(env, nil)
	s.tables.setFigures(env, nil)
	return env
}

func row[T any](facts []fact[T], v *T) map[string]any {
	m := make(map[string]any, len(facts))
	for _, f := range facts {
		m[f.name] = f.get(v)
	}
	return m
}

func zeroCode(d *finding.Def) map[string]any {
	m := make(map[string]any, len(d.Metrics)+7)
	for _, f := range []string{factCount, factFlows, factHosts, factFindings, factFirstFrame, factLastFrame, factSpan} {
		m[f] = 0.0
	}
	for _, v := range d.Metrics {
		m[v.Name] = zeroOf(v)
	}
	return m
}

func zeroOf(m finding.Metric) any {
	if m.Text {
		return ""
	}
	return 0.0
}

// setConn writes conn.* and worst.* of a conversation; nil is one of zeros.
func (t *tables) setConn(env map[string]any, c *conn.Summary) {
	if c == nil {
		c = &conn.Summary{}
	}
	m := row(t.conn, c)
	m[nameClient], m[nameServer] = row(t.side, &c.Client), row(t.side, &c.Server)
	env[nameConn] = m
	x := c.Worst
	if x == nil {
		x = &conn.Exchange{}
	}
	env[nameWorst] = row(t.worst, x)
}

// setFigures writes total.* and most.* over conversations.
func (t *tables) setFigures(env map[string]any, conns []*conn.Summary) {
	total, most := map[string]any{}, map[string]any{}
	tc, ts, mc, ms := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	for _, f := range t.total {
		total[f.name] = fold(f, conns, self, add)
	}
	for _, f := range t.most {
		most[f.name] = fold(f, conns, self, larger)
	}
	for _, f := range t.sideT {
		tc[f.name], ts[f.name] = fold(f, conns, clientOf, add), fold(f, conns, serverOf, add)
	}
	for _, f := range t.sideM {
		mc[f.name], ms[f.name] = fold(f, conns, clientOf, larger), fold(f, conns, serverOf, larger)
	}
	total[nameClient], total[nameServer], most[nameClient], most[nameServer] = tc, ts, mc, ms
	env[nameTotal], env[nameMost] = total, most
}

func self(c *conn.Summary) *conn.Summary  { return c }
func clientOf(c *conn.Summary) *conn.Side { return &c.Client }
func serverOf(c *conn.Summary) *conn.Side { return &c.Server }
func add(a, b float64) float64            { return a + b }
func larger(a, b float64) float64         { return max(a, b) }

func fold[T any](f fact[T], conns []*conn.Summary, part func(*conn.Summary) *T, join func(a, b float64) float64) float64 {
	var out float64
	for _, c := range conns {
		switch v := f.get(part(c)).(type) {
		case float64:
			out = join(out, v)
		case bool:
			if v {
				out = join(out, 1)
			}
		}
	}
	return out
}

// codeSheets are the families of codes that the findings of the subject at hand
// belong to: each is a clone of the shared one, made once and used again.
type codeSheets struct {
	of  map[string]map[string]any
	row map[finding.Code]map[string]any // of each code that was met
	set []setCode                       // that differ from the shared ones
}

type setCode struct{ family, name string }

// setCodes writes the figures of a subject's findings, joined by code.
func (j *judge) setCodes(env map[string]any, findings []*finding.Finding) {
	for _, x := range j.codes.set {
		shared, _ := j.base[x.family].(map[string]any)
		j.codes.of[x.family][x.name] = shared[x.name]
	}
	j.codes.set = j.codes.set[:0]
	for i, f := range findings {
		def := j.schema.defs[f.Code]
		if def == nil || metBefore(findings[:i], f.Code) {
			continue
		}
		family, name := split(f.Code)
		sheet := j.codes.of[family]
		if sheet == nil {
			shared, _ := j.base[family].(map[string]any)
			sheet = maps.Clone(shared)
			j.codes.of[family] = sheet
		}
		env[family] = sheet
		row := j.codes.row[f.Code]
		if row == nil {
			row = zeroCode(def)
			j.codes.row[f.Code] = row
		}
		joined(row, def, findings[i:])
		sheet[name] = row
		j.codes.set = append(j.codes.set, setCode{family, name})
		j.changed = append(j.changed, family)
	}
}

func metBefore(list []*finding.Finding, c finding.Code) bool {
	for _, f := range list {
		if f.Code == c {
			return true
		}
	}
	return false
}

// joined writes the figures of all findings of one code.
func joined(m map[string]any, def *finding.Def, findings []*finding.Finding) {
	var count, flows, hosts, joins float64
	var first, last uint64
	var start, end int64
	seen := false
	for _, f := range findings {
		if f.Code != def.Code {
			continue
		}
		count += float64(f.Evidence.Count)
		joins++
		if f.Flow.Valid() {
			flows++
		}
		if f.Host.IsValid() {
			hosts++
		}
		if !seen || f.Evidence.First < first {
			first, start = f.Evidence.First, f.Evidence.Start
		}
		if !seen || f.Evidence.Last > last {
			last, end = f.Evidence.Last, f.Evidence.End
		}
		for i, v := range def.Metrics {
			if i < len(f.Values) {
				m[v.Name] = merged(v, m[v.Name], f.Values[i], seen)
			} else if !seen { // what the subject before had
				m[v.Name] = zeroOf(v)
			}
		}
		seen = true
	}
	m[factCount], m[factFlows], m[factHosts], m[factFindings] = count, flows, hosts, joins
	m[factFirstFrame], m[factLastFrame], m[factSpan] = float64(first), float64(last), max(0, seconds(end-start))
}

// merged joins a figure with those of other conversations. Within one, First and
// Last are the figures of the whole conversation: over several the worst counts, and
// stalled time adds up.
func merged(v finding.Metric, before any, now finding.Value, seen bool) any {
	if v.Text {
		if t, _ := before.(string); seen && t != "" {
			return t
		}
		return now.Text
	}
	n, _ := before.(float64)
	if !seen {
		return now.Num
	}
	switch v.Merge {
	case finding.Sum:
		return n + now.Num
	case finding.Max:
		return max(n, now.Num)
	case finding.Min:
		return min(n, now.Num)
	case finding.First, finding.Last:
		if strings.HasSuffix(v.Name, "stalled_seconds") {
			return n + now.Num
		}
		return max(n, now.Num)
	default:
		return n
	}
}
