// Package explain says what stands in reports: a symptom, a root cause, or one of
// them as it was found. For people it is a page in the report's own layout and
// language; for programs the same as JSON.
//
// What is said is not written here: symptoms and figures are explained where they
// are declared (finding.Def), causes by their rules, and Chinese by package lang
// and the rules.
package explain

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/rules"
)

// Book knows all symptoms and causes.
type Book struct {
	set   *rules.Set
	lang  string
	words lang.Words
	codes map[string]finding.Def
}

// New opens the book in a language.
func New(set *rules.Set, language string) *Book {
	b := &Book{set: set, lang: language, words: lang.Of(language), codes: make(map[string]finding.Def)}
	for _, d := range set.Codes() {
		b.codes[string(d.Code)] = d
	}
	return b
}

// Names lists all that can be explained.
func (b *Book) Names() []string {
	var out []string
	for _, d := range b.set.Codes() {
		out = append(out, string(d.Code))
	}
	for _, r := range b.set.Rules() {
		out = append(out, string(r.Cause))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Symptom is what a code means.
type Symptom struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"` // by itself
	Meaning  string   `json:"meaning"`  // what was seen, how it is decided, by which source
	Figures  []Figure `json:"figures"`
	Causes   []string `json:"causes"` // whose rules look at it
}

// Figure is what one figure of a symptom means.
type Figure struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// Symptom explains a code; false: there is none of this name.
func (b *Book) Symptom(code string) (*Symptom, bool) {
	d, ok := b.codes[code]
	if !ok {
		return nil, false
	}
	out := &Symptom{Code: code, Severity: d.Severity.String(), Meaning: b.words.Text(d.Doc), Figures: []Figure{}, Causes: []string{}}
	for i := range d.Metrics {
		out.Figures = append(out.Figures, Figure{Name: d.Metrics[i].Name, Meaning: b.words.Text(d.Metrics[i].Doc)})
	}
	for _, r := range b.rulesOn(d.Code) {
		if !slices.Contains(out.Causes, string(r.Cause)) {
			out.Causes = append(out.Causes, string(r.Cause))
		}
	}
	return out, true
}

// rulesOn lists the rules that a symptom wakes, then those that it only supports.
func (b *Book) rulesOn(code finding.Code) []*rules.Rule {
	var woken, supported []*rules.Rule
	for _, r := range b.set.Rules() {
		switch {
		case slices.Contains(r.On, code):
			woken = append(woken, r)
		case slices.Contains(r.Explains, code):
			supported = append(supported, r)
		}
	}
	return append(woken, supported...)
}

// Cause is what one rule says of a root cause.
type Cause struct {
	Cause      string   `json:"cause"`
	Rule       string   `json:"rule"`
	Title      string   `json:"title"` // … stands for what depends on the case
	Meaning    string   `json:"meaning"`
	Blame      []string `json:"blame"`
	Severities []string `json:"severities"`
	Symptoms   []string `json:"symptoms"` // any of them wakes the rule
	Supports   []string `json:"supports"` // that it explains besides
	Condition  string   `json:"condition"`
	Reason     string   `json:"reason"` // of the thresholds in the condition
	Rivals     []string `json:"rivals"` // that are ruled out where the facts allow it
	Remedies   []string `json:"remedies"`
	References []string `json:"references"`
}

// Causes explains a cause by all its rules; none: no rule names it. The name may
// also be that of a rule.
func (b *Book) Causes(name string) []Cause {
	var out []Cause
	for _, r := range b.set.Rules() {
		if string(r.Cause) == name || r.ID == name {
			out = append(out, b.cause(r))
		}
	}
	return out
}

func (b *Book) cause(r *rules.Rule) Cause {
	c := Cause{
		Cause: string(r.Cause), Rule: r.ID, Title: general(r.Title(b.lang)), Meaning: general(r.Explanation(b.lang)),
		Blame: r.Culprits(), Severities: r.Severities(), Symptoms: names(r.On), Supports: names(r.Explains),
		Condition: strings.Join(strings.Fields(r.When), " "), Reason: b.words.Text(strings.TrimSpace(r.Why)),
		Rivals: []string{}, Remedies: []string{}, References: append([]string{}, r.Refs...),
	}
	for _, x := range r.Rivals() {
		c.Rivals = append(c.Rivals, string(x))
	}
	for _, t := range r.Remedies(b.lang) {
		c.Remedies = append(c.Remedies, general(t))
	}
	return c
}

func names(codes []finding.Code) []string {
	out := make([]string, 0, len(codes))
	for _, c := range codes {
		out = append(out, string(c))
	}
	return out
}

var blanks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`…(\s*…)+`) }) //nolint:gochecknoglobals // constant

// general is a text of a rule without its case: what is filled in from the packets
// is left open.
func general(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			break
		}
		b.WriteString("…")
		rest = after[end(after):]
	}
	return blanks().ReplaceAllString(strings.Join(strings.Fields(b.String()), " "), "…")
}

// end is where an expression is closed: braces nest, and quotes hide them.
func end(s string) int {
	depth, quote := 1, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}
