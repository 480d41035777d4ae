package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
	"netwhy/rules/near"
)

// builder makes a Rule of a draft.
type builder struct {
	*loader
	*reader
	at      Position
	rule    *Rule
	builtin bool
	absent  string // protocol that a built-in rule needs and this run has not
}

func (b *builder) fault(pos Position, hint, format string, args ...any) {
	b.loader.faults.add(pos, b.reader.rule, hint, format, args...)
}

func (b *builder) lint(pos Position, format string, args ...any) {
	b.loader.faults.lint(pos, b.reader.rule, format, args...)
}

func (b *builder) build(d *draft, isBuiltin bool) *Rule {
	r := &Rule{ID: d.id.text, Cause: diagnosis.Cause(d.cause.text), Why: d.why.text, When: d.when.text, Builtin: isBuiltin, Pos: b.at}
	b.rule = r
	b.identity(d, r)
	if i, ok := b.oneOf(d.scope, "scope", scopeNames()); ok {
		r.Scope = Scope(i) //nolint:gosec // an index of three names
	}
	if i, ok := b.oneOf(d.by, "by", sideNames()); ok {
		r.By = Side(i) //nolint:gosec // an index of six names
	} else if r.Scope == Host && !d.by.set {
		r.By = ByHost
	}
	if r.Scope == Host && r.By > ByHost {
		b.fault(d.by.pos, "", "by: %s gathers no hosts; a host rule is by server, client or host", r.By)
	}
	r.Ledger, r.Aside = b.flag(d.ledger, "ledger"), b.flag(d.aside, "aside")
	b.symptoms(d, r)
	b.judgement(d, r)
	b.words(d, r)
	for _, s := range d.subsumes {
		sub := Subsumption{Cause: diagnosis.Cause(s.cause.text)}
		if i, ok := b.oneOf(s.where, "in", relationNames()); ok {
			sub.Where = Relation(i) //nolint:gosec // an index of six names
		}
		r.Subsumes = append(r.Subsumes, sub)
	}
	for _, w := range d.distrust {
		if i, ok := b.oneOf(w, "distrust", weaknessNames()); ok {
			r.Distrust = append(r.Distrust, Weakness(i)) //nolint:gosec // an index of few names
		}
	}
	r.Refs, r.Fires, r.Silent = plain(d.references), plain(d.fires), plain(d.silent)
	b.complete(d)
	r.brief = r.needsLittle()
	return r
}

func (b *builder) identity(d *draft, r *Rule) {
	if !d.id.set {
		b.fault(b.at, "", "no id: a rule is named by its cause, such as receiver-zero-window")
	} else if !kebab(r.ID) {
		b.fault(d.id.pos, "", "id %q is no kebab-case name (lower case letters, digits and hyphens)", r.ID)
	}
	where := d.cause
	if !d.cause.set {
		r.Cause, where = diagnosis.Cause(r.ID), d.id
	}
	if b.builtin && b.quick {
		return // its name is known to be right
	}
	if known := causes(); where.set && !slices.Contains(known, string(r.Cause)) {
		// New causes are welcome; a slip of the finger is not.
		if m, ok := near.Name(string(r.Cause), known); ok && slip(string(r.Cause), m) {
			b.fault(where.pos, fmt.Sprintf("; did you mean %q?", m), "unknown cause %q", r.Cause)
		} else if !kebab(string(r.Cause)) {
			b.fault(where.pos, "", "cause %q is no kebab-case name", r.Cause)
		}
	}
}

// slip reports whether a name is a known one misspelt: one letter, or two where
// the first word is the same (ntp-no-answer is not arp-no-answer).
func slip(name, known string) bool {
	a, _, _ := strings.Cut(name, "-")
	b, _, _ := strings.Cut(known, "-")
	d := near.Distance(name, known)
	return d <= 1 || d <= 2 && a == b
}

func kebab(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !letter && (r != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// flag reads true or false; left out is false.
func (b *builder) flag(s scalar, what string) bool {
	const yes, no = "true", "false"
	if s.set && s.text != yes && s.text != no {
		b.fault(s.pos, "", "%s is true or false, not %q", what, s.text)
	}
	return s.text == yes
}

func (b *builder) oneOf(s scalar, what string, known []string) (int, bool) {
	if !s.set {
		return 0, false
	}
	i := slices.Index(known, s.text)
	if i < 0 {
		h := near.Hint(s.text, known)
		if h == "" {
			h = "; it is one of " + strings.Join(known, ", ")
		}
		b.fault(s.pos, h, "unknown %s %q", what, s.text)
	}
	return i, i >= 0
}

// symptoms reads on and explains.
func (b *builder) symptoms(d *draft, r *Rule) {
	codes := func(list []scalar) (out []finding.Code) {
		for _, s := range list {
			if _, ok := b.schema.defs[finding.Code(s.text)]; !ok {
				family, _ := split(finding.Code(s.text))
				if b.builtin && b.schema.families[family] == nil {
					b.absent = family
					continue
				}
				b.fault(s.pos, near.Hint(s.text, b.schema.codes), "unknown code %q", s.text)
				continue
			}
			out = append(out, finding.Code(s.text))
		}
		return out
	}
	r.On, r.Explains = codes(d.on), codes(d.explains)
	if len(d.on) == 0 {
		b.fault(b.at, "", "no on: name the codes that wake the rule")
	}
}

// judgement compiles condition, culprit, severity, confidence and impact.
func (b *builder) judgement(d *draft, r *Rule) {
	cond := b.schema.types(r.Scope, forCondition)
	if d.when.set {
		r.when = b.expr(d.when, cond, reflect.Bool)
	} else {
		b.fault(b.at, "", "no when: the condition, such as tcp.zero_window.stalled_seconds >= 1")
	}
	r.culprit = b.choice(d.culprit, "culprit", culpritNames(), b.schema.types(r.Scope, forCulprit))
	r.severity = b.choice(d.severity, "severity", severityNames(), b.schema.types(r.Scope, forSeverity))
	if d.confidence.set {
		r.confidence = b.expr(d.confidence, cond, reflect.Float64)
	} else {
		b.fault(b.at, "", "no confidence: a number from 0 to 1, or an expression over the evidence")
	}
	if d.stalled.set {
		r.stalled = b.expr(d.stalled, cond, reflect.Float64)
	}
	if d.failed.set {
		r.failed = b.expr(d.failed, cond, reflect.Float64)
	}
}

func (b *builder) choice(s scalar, what string, known []string, env *environment) choice {
	switch {
	case !s.set:
		b.fault(b.at, "; it is one of "+strings.Join(known, ", "), "no %s", what)
		return choice{}
	case slices.Contains(known, s.text):
		return choice{fixed: s.text}
	case kebab(s.text): // one word: meant as a name, not as an expression
		b.oneOf(s, what, known)
		return choice{}
	}
	p := b.expr(s, env, reflect.String)
	if p == nil {
		return choice{}
	}
	return choice{expr: p, names: p.names(known)}
}

func (b *builder) expr(s scalar, env *environment, want reflect.Kind) *program {
	x := &expression{src: s, env: env, want: want}
	if b.builtin && b.quick {
		return postpone(x)
	}
	p, list := compile(x)
	b.take(list)
	return p
}

func (b *builder) take(list []*Error) {
	for _, e := range list {
		if b.builtin && e.root != "" && b.schema.families[e.root] == nil {
			b.absent = e.root
		}
		e.Rule = b.reader.rule
		b.loader.faults.list = append(b.loader.faults.list, e)
	}
}

// words compiles the texts, the rivals and the next step.
func (b *builder) words(d *draft, r *Rule) {
	env := b.schema.types(r.Scope, forText)
	r.title = b.text(d.title, "title", env, false)
	r.explain = b.text(d.explanation, "explanation", env, false)
	for _, t := range d.remedies {
		r.remedies = append(r.remedies, b.text(t, "remedies", env, false))
	}
	for _, x := range d.excludes {
		v := rival{cause: diagnosis.Cause(x.cause.text)}
		if !x.cause.set || !x.when.set || !x.because.en.set {
			b.fault(b.at, "", "each of excludes needs cause, when and because")
			continue
		}
		v.when = b.expr(x.when, b.schema.types(r.Scope, forCondition), reflect.Bool)
		v.because = b.text(x.because, "because", env, false)
		r.rivals = append(r.rivals, v)
	}
	if d.next != nil {
		r.next = &next{
			command: b.text(texts{pos: d.next.command.pos, en: d.next.command, zh: d.next.command}, "command", env, true),
			tells:   b.text(d.next.tells, "tells_apart", env, false),
		}
	}
}

func (b *builder) text(t texts, what string, env *environment, command bool) text {
	var out text
	if t.en.set {
		out.en = b.template(t.en, env, English, command)
	} else {
		pos := t.pos
		if pos.Line == 0 {
			pos = b.at
		}
		b.fault(pos, "", "no %s in English (en:)", what)
	}
	if t.zh.set {
		out.zh = b.template(t.zh, env, Chinese, command)
	} else if t.en.set {
		b.lint(t.pos, "no %s in Chinese (zh:)", what)
	}
	return out
}

func (b *builder) template(s scalar, env *environment, lang string, command bool) *template {
	t, list := parseText(s, env, lang, command, b.builtin && b.quick)
	b.take(list)
	return t
}

// complete notes what a rule can do without, but a good one has.
func (b *builder) complete(d *draft) {
	if !d.why.set {
		b.lint(b.at, "no why: say the reason of each threshold")
	}
	if len(d.remedies) == 0 {
		b.lint(b.at, "no remedies: say what to do")
	}
	if len(d.fires) == 0 {
		b.lint(b.at, "no fires: name a capture that shows the cause")
	}
	if len(d.silent) == 0 {
		b.lint(b.at, "no silent: name a healthy capture that looks alike")
	}
}

func plain(list []scalar) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.text
	}
	return out
}
