package rules

import (
	"maps"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
)

// env is the view as the machine wants it: a map of all names.
func (v *view) env() map[string]any {
	if v.given != nil {
		return v.given
	}
	if v.zero == nil {
		v.zero = v.set.zeros(v.in)
	}
	if v.made != nil {
		return v.made
	}
	env := maps.Clone(v.zero)
	for _, n := range v.dirty {
		def := v.set.schema.defs[finding.Code(v.set.schema.codes[n])]
		family, name := split(def.Code)
		shared, _ := env[family].(map[string]any)
		sheets := maps.Clone(shared)
		x := v.sheet[n].whole()
		sheets[name] = x.row(def)
		env[family] = sheets
	}
	setConn(env, v.conn, v.worst)
	if v.sub.talks != nil {
		setFigures(env, v.sub.talks)
	}
	env[nameHost], env[nameConns] = row(hostFacts(), &v.sub), row(connsFacts(), &v.sub)
	env[nameCulprit], env[nameParty], env[nameReach] = v.blame, v.party, row(reachFacts(), &v.reach)
	v.made = env
	return env
}

// zeros makes an environment with every code at zero, and an empty conversation.
func (s *Set) zeros(in *Input) map[string]any {
	env := map[string]any{
		nameTrust:   row(trustFacts(), &in.Trust),
		nameCapture: row(captureFacts(), in),
		nameHost:    row(hostFacts(), &subjectFacts{}),
		nameConns:   row(connsFacts(), &subjectFacts{}),
		nameCulprit: "", nameParty: "", nameReach: row(reachFacts(), &reach{}),
	}
	for _, n := range append(culpritNames(), severityNames()...) {
		if n != nameHost {
			env[n] = n
		}
	}
	for family, codes := range s.schema.families {
		m := make(map[string]any, len(codes))
		for name, d := range codes {
			m[name] = (&sheet{}).row(d)
		}
		env[family] = m
	}
	setConn(env, &conn.Summary{}, &conn.Exchange{})
	setFigures(env, nil)
	return env
}

func row[T any](facts []fact[T], v *T) map[string]any {
	m := make(map[string]any, len(facts))
	for _, f := range facts {
		m[f.name] = f.get(v)
	}
	return m
}

func (x *sheet) row(d *finding.Def) map[string]any {
	m := make(map[string]any, len(d.Metrics)+len(codeFacts()))
	for _, f := range codeFacts() {
		m[f.name] = f.get(x)
	}
	for i, v := range d.Metrics {
		if v.Text {
			m[v.Name] = x.text(i)
		} else {
			m[v.Name] = x.num(i)
		}
	}
	return m
}

// setConn writes conn.* and worst.* of a conversation.
func setConn(env map[string]any, c *conn.Summary, x *conn.Exchange) {
	m := row(connFacts(), c)
	m[nameClient], m[nameServer] = row(sideFacts(), &c.Client), row(sideFacts(), &c.Server)
	env[nameConn], env[nameWorst] = m, row(worstFacts(), x)
}

// setFigures writes total.* and most.* over conversations.
func setFigures(env map[string]any, conns []*talk) {
	all := func(join func(a, b float64) float64) map[string]any {
		m := joined(connFacts(), conns, self, join)
		m[nameClient], m[nameServer] = joined(sideFacts(), conns, clientOf, join), joined(sideFacts(), conns, serverOf, join)
		return m
	}
	env[nameTotal], env[nameMost] = all(add), all(larger)
}

func joined[T any](facts []fact[T], conns []*talk, part func(*conn.Summary) *T, join func(a, b float64) float64) map[string]any {
	m := make(map[string]any, len(facts))
	for _, f := range facts {
		m[f.name] = fold(f, conns, part, join)
	}
	return m
}

func self(c *conn.Summary) *conn.Summary  { return c }
func clientOf(c *conn.Summary) *conn.Side { return &c.Client }
func serverOf(c *conn.Summary) *conn.Side { return &c.Server }
func add(a, b float64) float64            { return a + b }
func larger(a, b float64) float64         { return max(a, b) }

func fold[T any](f fact[T], conns []*talk, part func(*conn.Summary) *T, join func(a, b float64) float64) float64 {
	var out float64
	var room conn.Summary
	for _, t := range conns {
		switch v := f.get(part(t.summary(&room))).(type) {
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
