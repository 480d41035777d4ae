// Package lang holds the Chinese of texts that are declared in English where the
// thing is decided: what a symptom and its figures are, why a rule decides as it
// does, what analyzers say in words, and the help of commands and flags.
//
// # Why by the English text
//
// The English text is the key, as in gettext: who declares a symptom does not
// have to know that there are translations, and a text that is changed has none
// until somebody looks at it again. The tests of the command line name what is
// missing. Texts that are made of parts (titles, explanations, remedies) are not
// here: rules carry them in both languages.
package lang

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Chinese is the name of the language, as in --lang.
const Chinese = "zh"

// table has a line for each text: English, a tab, Chinese. Empty lines and those
// that begin with # say what follows.
//
//go:embed zh.tsv
var table string

var chinese = sync.OnceValue(func() map[string]string { return parse(table) }) //nolint:gochecknoglobals // a constant table, read when it is first wanted

func parse(table string) map[string]string {
	const expected = 2000
	m := make(map[string]string, expected)
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		if english, zh, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			m[english] = zh
		}
	}
	return m
}

// Words are the texts of one language. The zero value is English.
type Words struct{ m map[string]string }

// Of returns the texts of a language; English for any but Chinese.
func Of(name string) Words {
	if name == Chinese {
		return Words{chinese()}
	}
	return Words{}
}

// Has reports whether a text has a translation of its own; in English all do.
func (w Words) Has(english string) bool {
	if w.m == nil {
		return true
	}
	_, ok := w.m[oneLine(english)]
	return ok
}

// Text returns a text in the language; the English one where there is none.
func (w Words) Text(english string) string {
	if w.m == nil {
		return english
	}
	if zh, ok := w.m[oneLine(english)]; ok {
		return zh
	}
	return english
}

// Prefixes of the table's keys for what is no text by itself.
const figure = "figure "

// Figure names a figure, which is told without its unit: "stalled".
func (w Words) Figure(name string) string {
	if zh, ok := w.m[figure+name]; ok {
		return zh
	}
	return strings.ReplaceAll(name, "_", " ")
}

// HasFigure reports whether a figure has a name in the language.
func (w Words) HasFigure(name string) bool { return w.m == nil || w.m[figure+name] != "" }

// Value returns a figure that is a word or a sentence of ours; texts from packets
// stay as they are.
func (w Words) Value(figure, text string) string {
	if zh, ok := w.m[figure+" "+text]; ok {
		return zh
	}
	if strings.Contains(text, " ") {
		return w.Text(text)
	}
	return text
}

// NotAssessed returns a line of what could not be judged: "tls: encrypted".
func (w Words) NotAssessed(line string) string {
	what, why, ok := strings.Cut(line, ": ")
	if w.m == nil || !ok {
		return line
	}
	return what + "：" + w.Text(why)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Prefix of the table's keys for messages about what went wrong; %s stands for
// what differs.
const errorPrefix = "error "

type message struct {
	pattern *regexp.Regexp
	chinese string
}

var messages = sync.OnceValue(func() []message { //nolint:gochecknoglobals // a constant table, read when something went wrong
	var out []message
	for english, zh := range chinese() {
		if text, ok := strings.CutPrefix(english, errorPrefix); ok {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(text), "%s", "(.+)")
			out = append(out, message{regexp.MustCompile("^" + pattern + "$"), zh})
		}
	}
	// The longest first: what leaves least open says most.
	slices.SortFunc(out, func(a, b message) int {
		x, y := a.pattern.String(), b.pattern.String()
		return cmp.Or(cmp.Compare(len(y), len(x)), cmp.Compare(x, y))
	})
	return out
})

// Error translates a message about what went wrong: as a whole, or what is wrong
// and what to do apart ("...; ..."). What is not known stays as it is.
func (w Words) Error(text string) string {
	if w.m == nil {
		return text
	}
	return told(text)
}

func told(text string) string {
	if zh, ok := matched(text); ok {
		return zh
	}
	parts := strings.Split(text, "; ")
	for i, p := range parts {
		if zh, ok := matched(p); ok {
			parts[i] = zh
		}
	}
	return strings.Join(parts, "；")
}

func matched(text string) (string, bool) {
	for _, m := range messages() {
		found := m.pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		zh := m.chinese
		for _, part := range found[1:] {
			zh = strings.Replace(zh, "%s", told(part), 1) // it is shorter than the whole
		}
		return zh, true
	}
	return "", false
}
