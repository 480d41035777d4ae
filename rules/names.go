package rules

import (
	"slices"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
)

// name resolves a dotted name to what reads it in a view; false: the environment
// has no such figure.
func (e *environment) name(path string) (closure, bool) {
	head, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		return e.word(path)
	}
	side, figure, ofSide := strings.Cut(rest, ".")
	if names := e.schema.families[head]; names != nil {
		return e.schema.codeFigure(names[side], figure)
	}
	switch head {
	case nameConn:
		switch {
		case !ofSide:
			return read(connFacts(), rest, func(v *view) *conn.Summary { return v.conn })
		case side == nameClient:
			return read(sideFacts(), figure, func(v *view) *conn.Side { return &v.conn.Client })
		case side == nameServer:
			return read(sideFacts(), figure, func(v *view) *conn.Side { return &v.conn.Server })
		}
	case nameWorst:
		return read(worstFacts(), rest, func(v *view) *conn.Exchange { return v.worst })
	case nameTrust:
		return read(trustFacts(), rest, func(v *view) *conn.Trust { return &v.in.Trust })
	case nameCapture:
		return read(captureFacts(), rest, func(v *view) *Input { return v.in })
	}
	switch {
	case head == nameHost && e.scope != Connection:
		return read(hostFacts(), rest, func(v *view) *subjectFacts { return &v.sub })
	case head == nameConns && e.scope != Connection:
		return read(connsFacts(), rest, func(v *view) *subjectFacts { return &v.sub })
	case head == nameTotal && e.scope != Connection:
		return overall(side, figure, ofSide, add)
	case head == nameMost && e.scope != Connection:
		return overall(side, figure, ofSide, larger)
	case head == nameReach && e.use == forText:
		return read(reachFacts(), rest, func(v *view) *reach { return &v.reach })
	}
	return closure{}, false
}

// word is a name that stands for itself, or one of those that texts have.
func (e *environment) word(name string) (closure, bool) {
	switch {
	case e.use == forCulprit && slices.Contains(culpritNames(), name), e.use == forSeverity && slices.Contains(severityNames(), name):
		return text1(func(*view) string { return name })
	case e.use == forText && name == nameCulprit:
		return text1(func(v *view) string { return v.blame })
	case e.use == forText && name == nameParty:
		return text1(func(v *view) string { return v.party })
	}
	return closure{}, false
}

// read reads a fact of one thing.
func read[T any](facts []fact[T], name string, of func(*view) *T) (closure, bool) {
	i := slices.IndexFunc(facts, func(f fact[T]) bool { return f.name == name })
	if i < 0 {
		return closure{}, false
	}
	get := facts[i].get
	var zero T
	switch get(&zero).(type) {
	case float64:
		return number1(func(v *view) float64 { n, _ := get(of(v)).(float64); return n })
	case string:
		return text1(func(v *view) string { s, _ := get(of(v)).(string); return s })
	case bool:
		return truth1(func(v *view) bool { b, _ := get(of(v)).(bool); return b })
	}
	return closure{}, false
}

// overall reads total.* and most.*: a fact of all conversations, joined.
func overall(side, figure string, ofSide bool, join func(a, b float64) float64) (closure, bool) {
	switch {
	case !ofSide:
		return across(connFacts(), side, self, join)
	case side == nameClient:
		return across(sideFacts(), figure, clientOf, join)
	case side == nameServer:
		return across(sideFacts(), figure, serverOf, join)
	}
	return closure{}, false
}

func across[T any](facts []fact[T], name string, part func(*conn.Summary) *T, join func(a, b float64) float64) (closure, bool) {
	i := slices.IndexFunc(facts, func(f fact[T]) bool { return f.name == name })
	if i < 0 {
		return closure{}, false
	}
	var zero T
	if _, text := facts[i].get(&zero).(string); text {
		return closure{}, false
	}
	return number1(func(v *view) float64 { return fold(facts[i], v.sub.talks, part, join) })
}

// codeFigure reads a figure of a code's findings.
func (s *schema) codeFigure(def *finding.Def, name string) (closure, bool) {
	if def == nil {
		return closure{}, false
	}
	n := s.number[def.Code]
	for i, m := range def.Metrics {
		switch {
		case m.Name != name:
		case m.Text:
			return text1(func(v *view) string { return v.sheet[n].text(i) })
		default:
			return number1(func(v *view) float64 { return v.sheet[n].num(i) })
		}
	}
	if name == factCount { // what most conditions ask
		return number1(func(v *view) float64 {
			if f := v.sheet[n].only; f != nil {
				return float64(f.Evidence.Count)
			}
			return v.sheet[n].count
		})
	}
	for _, f := range codeFacts() {
		if f.name == name {
			return number1(func(v *view) float64 { x := v.sheet[n].whole(); return f.get(&x) })
		}
	}
	return closure{}, false
}

// kept are the figures of a conversation that are kept of it in short.
func kept() []string {
	return []string{
		nameConn + ".proto", nameConn + ".stream", nameConn + ".app", nameConn + ".established", nameConn + ".failed_exchanges",
		nameConn + "." + namePackets, nameConn + "." + nameBytes, nameConn + ".ipv6",
		nameConn + ".client.addr", nameConn + ".client.ip", nameConn + ".client.port",
		nameConn + ".server.addr", nameConn + ".server.ip", nameConn + ".server.port",
		nameTotal + "." + namePackets, nameTotal + "." + nameBytes, nameMost + "." + namePackets, nameMost + "." + nameBytes,
	}
}

// needsLittle reports whether a rule judges by findings and by what is kept of a
// conversation in short.
func (r *Rule) needsLittle() bool {
	have := kept()
	for _, p := range []*program{r.when, r.culprit.expr, r.severity.expr, r.confidence, r.stalled, r.failed} {
		if p == nil {
			continue
		}
		for name := range p.uses {
			head, rest, _ := strings.Cut(name, ".")
			switch {
			case rest == "" || rest == nameClient || rest == nameServer: // a part of a longer one
			case (head == nameConn || head == nameWorst || head == nameTotal || head == nameMost) && !slices.Contains(have, name):
				return false
			}
		}
	}
	return true
}
