package rules

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// draft is a rule as written, before its expressions are compiled: the scope has
// to be known first.
type draft struct {
	id, cause, scope, by, when, why              scalar
	culprit, severity, confidence, ledger, aside scalar
	stalled, failed                              scalar
	on, explains, distrust                       []scalar
	references, fires, silent                    []scalar
	title, explanation                           texts
	remedies                                     []texts
	subsumes                                     []subsumeDraft
	excludes                                     []excludeDraft
	next                                         *nextDraft
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
		one("ledger", &d.ledger), one("aside", &d.aside), many("on", &d.on), many("explains", &d.explains), many("distrust", &d.distrust),
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
