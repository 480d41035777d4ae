package rules

import (
	"fmt"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
)

// sampleNumber and sampleText stand for every figure when a rule is tried out.
const (
	sampleNumber = 2.5
	sampleText   = "10.0.0.1"
)

// tryOut evaluates every expression of every rule on zeros and on samples: what
// cannot be evaluated is found when rules are loaded and not at the incident. A
// condition that holds on zeros holds without evidence. In a quick load only rules
// of one's own are.
func (s *Set) tryOut(quick bool) {
	if quick && !slices.ContainsFunc(s.rules, func(r *Rule) bool { return !r.Builtin }) {
		return
	}
	m := newMachine()
	zero := s.zeros(&Input{})
	zeros, sample := &view{given: zero}, &view{given: samples(zero)}
	for _, r := range s.rules {
		if quick && r.Builtin {
			continue
		}
		for _, v := range []*view{zeros, sample} {
			if err := m.tryRule(r, v); err != nil {
				s.lints = append(s.lints, &Error{Pos: r.Pos, Rule: r.ID, Message: fmt.Sprintf("cannot be evaluated: %v", err)})
				break
			}
		}
		if ok, err := m.truth(r.when, zeros); err == nil && ok {
			s.lints = append(s.lints, &Error{Pos: r.Pos, Rule: r.ID, Lint: true, Message: "when holds even if everything is 0: it asks for no evidence"})
		}
	}
}

// samples is an environment with the names of another.
func samples(of map[string]any) map[string]any {
	out := make(map[string]any, len(of))
	for k, v := range of {
		if v != k { // culprits and severities stand for themselves
			v = sampled(v)
		}
		out[k] = v
	}
	return out
}

func sampled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = sampled(x)
		}
		return out
	case float64:
		return sampleNumber
	case string:
		return sampleText
	case bool:
		return true
	default:
		return v
	}
}

func (m *machine) tryRule(r *Rule, v *view) error {
	if _, err := m.truth(r.when, v); err != nil {
		return fmt.Errorf("when: %w", err)
	}
	for name, p := range map[string]*program{"confidence": r.confidence, "stalled_seconds": r.stalled, nameFailed: r.failed} {
		if _, err := m.number(p, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := m.choose(&r.culprit, v, culpritNames()); err != nil {
		return fmt.Errorf("culprit: %w", err)
	}
	if _, err := m.choose(&r.severity, v, severityNames()); err != nil {
		return fmt.Errorf("severity: %w", err)
	}
	return m.tryTexts(r, v)
}

func (m *machine) tryTexts(r *Rule, v *view) error {
	try := func(what string, t *text, command bool) error {
		for _, lang := range []string{English, Chinese} {
			if _, err := t.in(lang).fill(m, v, command); err != nil {
				return fmt.Errorf("%s (%s): %w", what, lang, err)
			}
		}
		return nil
	}
	for i := range r.rivals {
		if _, err := m.truth(r.rivals[i].when, v); err != nil {
			return fmt.Errorf("excludes: %w", err)
		}
		if err := try("because", &r.rivals[i].because, false); err != nil {
			return err
		}
	}
	for i := range r.remedies {
		if err := try("remedies", &r.remedies[i], false); err != nil {
			return err
		}
	}
	if r.next != nil {
		if err := try("command", &r.next.command, true); err != nil {
			return err
		}
		if err := try("tells_apart", &r.next.tells, false); err != nil {
			return err
		}
	}
	if err := try("title", &r.title, false); err != nil {
		return err
	}
	return try("explanation", &r.explain, false)
}

// Codes returns the declarations that the set was checked against, by code.
func (s *Set) Codes() []finding.Def {
	out := make([]finding.Def, 0, len(s.schema.codes))
	for _, c := range s.schema.codes {
		out = append(out, *s.schema.defs[finding.Code(c)])
	}
	return out
}

// Example is what a rule says when every number is 2.5 and every text an
// address: what an author looks at, and what the tests hold fast.
type Example struct {
	Title, Explanation string
	Remedies           []string
	Excluded           []diagnosis.Exclusion
	NextStep           *diagnosis.NextStep
}

// Example fills in the texts of a rule with samples.
func (s *Set) Example(r *Rule, lang string) (Example, error) {
	m := newMachine()
	env := samples(s.zeros(&Input{}))
	culprit := diagnosis.Culprit(r.Culprits()[0])
	env[nameCulprit], env[nameParty] = culpritWord(culprit, lang), culpritWord(culprit, lang)+" "+sampleText
	v := &view{given: env}
	var e Example
	var err error
	if e.Title, err = r.title.in(lang).fill(m, v, false); err != nil {
		return e, err
	}
	if e.Explanation, err = r.explain.in(lang).fill(m, v, false); err != nil {
		return e, err
	}
	for i := range r.remedies {
		t, err := r.remedies[i].in(lang).fill(m, v, false)
		if err != nil {
			return e, err
		}
		e.Remedies = append(e.Remedies, t)
	}
	for i := range r.rivals {
		t, err := r.rivals[i].because.in(lang).fill(m, v, false)
		if err != nil {
			return e, err
		}
		e.Excluded = append(e.Excluded, diagnosis.Exclusion{Cause: r.rivals[i].cause, Because: t})
	}
	if r.next != nil {
		e.NextStep = &diagnosis.NextStep{}
		if e.NextStep.Command, err = r.next.command.in(lang).fill(m, v, true); err != nil {
			return e, err
		}
		e.NextStep.TellsApart, err = r.next.tells.in(lang).fill(m, v, false)
	}
	return e, err
}
