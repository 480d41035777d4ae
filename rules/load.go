package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
	"netwhy/rules/near"
)

// Dir is a place of rules: a folder, or one file of it.
type Dir struct {
	FS      fs.FS
	Name    string // for messages: what the user wrote; empty: the paths in FS say it
	Path    string // file or folder in FS; empty: all of it
	Builtin bool
}

// Set is a loaded set of rules. It does not change and may be used by several
// goroutines.
type Set struct {
	schema  *schema
	rules   []*Rule // sorted by id
	wakes   map[finding.Code][]*Rule
	lints   []*Error
	skipped []string
	tables  tables
}

// Load reads the built-in rules and those of dirs; a rule of a later place
// replaces one with the same id. The error joins all faults of all files, each
// an *Error; with a fault there is no Set.
func Load(codes []finding.Def, dirs ...Dir) (*Set, error) {
	return load(codes, append([]Dir{builtin()}, dirs...))
}

// LoadOnly reads the rules of dirs without those built in.
func LoadOnly(codes []finding.Def, dirs ...Dir) (*Set, error) { return load(codes, dirs) }

func load(codes []finding.Def, dirs []Dir) (*Set, error) {
	l := &loader{schema: newSchema(codes), faults: &faults{}, byID: make(map[string]*Rule)}
	for family := range l.schema.families {
		if slices.Contains(reserved(), family) {
			return nil, fmt.Errorf("codes of protocol %q hide a name of the rule language", family)
		}
	}
	for _, d := range dirs {
		l.dir(d)
	}
	l.references()
	if err := l.faults.err(false); err != nil {
		return nil, err
	}
	s := &Set{schema: l.schema, wakes: make(map[finding.Code][]*Rule), lints: l.faults.list, skipped: l.skipped}
	for _, id := range near.Sorted(l.byID) {
		s.rules = append(s.rules, l.byID[id])
	}
	for _, r := range s.rules {
		for _, c := range r.On {
			s.wakes[c] = append(s.wakes[c], r)
		}
	}
	s.tables = newTables(s.rules)
	s.tryOut()
	return s, (&faults{list: s.lints}).err(false)
}

// reserved are the names of the environment that no protocol may have.
func reserved() []string {
	own := []string{
		nameConn, nameWorst, nameTrust, nameCapture, nameHost, nameConns, nameTotal, nameMost,
		nameReach, nameCulprit, nameParty,
	}
	return slices.Concat(own, culpritNames(), severityNames())
}

type loader struct {
	schema  *schema
	faults  *faults
	byID    map[string]*Rule
	skipped []string            // built-in rules for analyzers that are not there
	absent  []string            // their ids and causes: others may name them
	round   map[string]Position // ids of the place at hand: twice in one place is a fault
}

func (l *loader) dir(d Dir) {
	l.round = make(map[string]Position)
	root := d.Path
	if root == "" {
		root = "."
	}
	err := fs.WalkDir(d.FS, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ext := path.Ext(name)
		if e.IsDir() || name != root && ext != ".yaml" && ext != ".yml" {
			return nil
		}
		data, err := fs.ReadFile(d.FS, name)
		if err != nil {
			return err
		}
		l.file(d.shown(name), data, d.Builtin)
		return nil
	})
	if err != nil {
		l.faults.add(Position{File: d.shown(root)}, "", "", "%v", err)
	}
}

func (d *Dir) shown(name string) string {
	switch {
	case d.Name == "":
		return name
	case d.Path != "" && d.Path == name || name == ".":
		return d.Name
	default:
		return path.Join(d.Name, name)
	}
}

func (l *loader) file(name string, data []byte, isBuiltin bool) {
	r := &reader{file: name, faults: l.faults}
	for _, doc := range r.documents(data) {
		seq, ok := doc.(*ast.SequenceNode)
		if !ok {
			r.fault(doc, "a rule file is a list of rules (- id: ...), not %s", kindOf(doc))
			continue
		}
		for _, n := range seq.Values {
			r.rule = r.peek(n, "id")
			l.rule(r, n, isBuiltin)
			r.rule = ""
		}
	}
}

// draft is a rule as written, before its expressions are compiled: the scope has
// to be known first.
type draft struct {
	id, cause, scope, by, when, why       scalar
	culprit, severity, confidence, ledger scalar
	stalled, failed                       scalar
	on, explains, distrust                []scalar
	references, fires, silent             []scalar
	title, explanation                    texts
	remedies                              []texts
	subsumes                              []subsumeDraft
	excludes                              []excludeDraft
	next                                  *nextDraft
}

type texts struct {
	pos    Position
	en, zh scalar
}

type subsumeDraft struct{ cause, where scalar }

type excludeDraft struct {
	cause, when scalar
	because     texts
}

type nextDraft struct {
	command scalar
	tells   texts
}

func (l *loader) rule(r *reader, n ast.Node, isBuiltin bool) {
	var d draft
	one := func(key string, into *scalar) field {
		return field{key, func(n ast.Node) { *into = r.scalar(n, key) }}
	}
	many := func(key string, into *[]scalar) field {
		return field{key, func(n ast.Node) { *into = r.texts(n, key) }}
	}
	before := len(l.faults.list)
	b := &builder{loader: l, reader: r, at: r.at(n), builtin: isBuiltin}
	if !r.mapping(n, "a rule", []field{
		one("id", &d.id), one("cause", &d.cause), one("scope", &d.scope), one("by", &d.by), one("when", &d.when),
		one("why", &d.why), one("culprit", &d.culprit), one("severity", &d.severity), one("confidence", &d.confidence),
		one("ledger", &d.ledger), many("on", &d.on), many("explains", &d.explains), many("distrust", &d.distrust),
		many("references", &d.references), many("fires", &d.fires), many("silent", &d.silent),
		{"impact", func(n ast.Node) {
			r.mapping(n, "impact", []field{one("stalled_seconds", &d.stalled), one(nameFailed, &d.failed)})
		}},
		{"title", func(n ast.Node) { d.title = r.languages(n, "title") }},
		{"explanation", func(n ast.Node) { d.explanation = r.languages(n, "explanation") }},
		{"remedies", func(n ast.Node) {
			r.list(n, func(n ast.Node) { d.remedies = append(d.remedies, r.languages(n, "remedies")) })
		}},
		{"subsumes", func(n ast.Node) {
			r.list(n, func(n ast.Node) {
				var s subsumeDraft
				if r.mapping(n, "subsumes", []field{one("cause", &s.cause), one("in", &s.where)}) {
					d.subsumes = append(d.subsumes, s)
				}
			})
		}},
		{"excludes", func(n ast.Node) {
			r.list(n, func(n ast.Node) {
				var x excludeDraft
				if r.mapping(n, "excludes", []field{
					one("cause", &x.cause), one("when", &x.when),
					{"because", func(n ast.Node) { x.because = r.languages(n, "because") }},
				}) {
					d.excludes = append(d.excludes, x)
				}
			})
		}},
		{"next_step", func(n ast.Node) {
			x := &nextDraft{}
			if r.mapping(n, "next_step", []field{
				one("command", &x.command),
				{"tells_apart", func(n ast.Node) { x.tells = r.languages(n, "tells_apart") }},
			}) {
				d.next = x
			}
		}},
	}) {
		return
	}
	rule := b.build(&d, isBuiltin)
	if b.absent != "" {
		// A run may have fewer analyzers than the rules know of: what they
		// would judge cannot be found. Rules of one's own have to fit.
		l.faults.list = l.faults.list[:before]
		l.skipped = append(l.skipped, rule.ID+" ("+b.absent+")")
		l.absent = append(l.absent, rule.ID, string(rule.Cause))
		return
	}
	if rule.ID == "" || hard(l.faults.list[before:]) {
		return
	}
	if first, twice := l.round[rule.ID]; twice {
		l.faults.add(d.id.pos, rule.ID, "", "this id was used before, at %s", first)
		return
	}
	l.round[rule.ID] = d.id.pos
	l.byID[rule.ID] = rule
}

// hard reports whether there is a fault that keeps a rule from working.
func hard(list []*Error) bool {
	return slices.ContainsFunc(list, func(e *Error) bool { return !e.Lint })
}

// languages reads {en: ..., zh: ...}; a lone text is English.
func (r *reader) languages(n ast.Node, what string) texts {
	t := texts{pos: r.at(n)}
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		r.mapping(n, what, []field{
			{English, func(n ast.Node) { t.en = r.scalar(n, what) }},
			{Chinese, func(n ast.Node) { t.zh = r.scalar(n, what) }},
		})
	default:
		t.en = r.scalar(n, what)
	}
	return t
}

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
	r.Ledger = d.ledger.text == "true"
	if d.ledger.set && !r.Ledger && d.ledger.text != "false" {
		b.fault(d.ledger.pos, "", "ledger is true or false, not %q", d.ledger.text)
	}
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
	p, list := compile(s, env, want, nil)
	b.take(list)
	b.note(p)
	return p
}

// note remembers which names the rule reads.
func (b *builder) note(p *program) {
	if p == nil {
		return
	}
	if b.rule.uses == nil {
		b.rule.uses = make(map[string]bool)
	}
	for u := range p.uses {
		b.rule.uses[u] = true
	}
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
	t, list := parseText(s, env, lang, command)
	b.take(list)
	for i := range t.parts {
		b.note(t.parts[i].prog)
	}
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

// references checks what a rule says of others: the causes that it names exist,
// and no cause is in the end the reason of itself.
func (l *loader) references() {
	known := append(causes(), l.absent...)
	for _, r := range l.byID {
		known = append(known, string(r.Cause), r.ID)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, id := range near.Sorted(l.byID) {
		r := l.byID[id]
		for _, c := range r.Rivals() {
			if !slices.Contains(known, string(c)) {
				l.faults.add(r.Pos, r.ID, near.Hint(string(c), known), "excludes: unknown cause %q", c)
			}
		}
		for _, s := range r.Subsumes {
			if !slices.Contains(known, string(s.Cause)) {
				l.faults.add(r.Pos, r.ID, near.Hint(string(s.Cause), known), "subsumes: unknown cause %q", s.Cause)
			}
		}
		if l.circle(r, r, make(map[string]bool)) {
			l.faults.add(r.Pos, r.ID, "", "subsumes: %s would be the reason of itself in the end", r.Cause)
		}
	}
}

// circle reports whether to is among what from explains, directly or by others.
func (l *loader) circle(from, to *Rule, seen map[string]bool) bool {
	for id, r := range l.byID {
		if !from.explains(r) {
			continue
		}
		if r == to {
			return true
		}
		if !seen[id] {
			seen[id] = true
			if l.circle(r, to, seen) {
				return true
			}
		}
	}
	return false
}

// explains reports whether r is the reason of what effect says.
func (r *Rule) explains(effect *Rule) bool {
	return slices.ContainsFunc(r.Subsumes, func(s Subsumption) bool {
		return s.Cause == effect.Cause || string(s.Cause) == effect.ID
	})
}

// Check returns what "netwhy rules check" objects to: Load's faults were
// returned by Load; these are the omissions. Built-in rules are left out unless
// all is set.
func (s *Set) Check(all bool) error {
	var errs []error
	for _, e := range s.lints {
		r, ok := s.Rule(e.Rule)
		if all || !ok || !r.Builtin {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// Skipped names the built-in rules that were left out because this run has no
// analyzer for their protocol, with the protocol.
func (s *Set) Skipped() []string { return slices.Clone(s.skipped) }

// Rules returns the rules, sorted by id.
func (s *Set) Rules() []*Rule { return slices.Clone(s.rules) }

// Rule finds a rule by id.
func (s *Set) Rule(id string) (*Rule, bool) {
	i, ok := slices.BinarySearchFunc(s.rules, id, func(r *Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return nil, false
	}
	return s.rules[i], true
}

// IDs are the ids of all rules, sorted: for near names.
func (s *Set) IDs() []string {
	out := make([]string, len(s.rules))
	for i, r := range s.rules {
		out[i] = r.ID
	}
	return out
}
