package rules

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"netwhy/analyze/finding"
)

// asleep are the built-in rules of a run, unread: what a capture has wakes a few of
// them, and to parse all took four fifths of a small replay's time (measured). Which
// codes wake a rule is told from its text, the rest of it is read when one of them
// was found. The rules are known to be right: Load and the tests prove them.
type asleep struct {
	schema *schema
	pieces []piece
	wakes  map[finding.Code][]int // places in pieces
	whole  func() *Set            // all of them, read

	mu   sync.Mutex
	read []*Rule // by piece; nil: not yet
}

// piece is one rule as it is written.
type piece struct {
	file string
	line int // that it begins on, from 0
	text []byte
}

// sleeping returns a set whose rules are asleep; nil where their text or the codes
// are not as they are wont to be.
func sleeping(codes []finding.Def) *Set {
	a := &asleep{schema: newSchema(codes), wakes: make(map[finding.Code][]int)}
	d := builtin()
	err := fs.WalkDir(d.FS, d.Path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(d.FS, name)
		if err != nil {
			return err
		}
		return a.cut(name, data)
	})
	if err != nil {
		return nil
	}
	a.read = make([]*Rule, len(a.pieces))
	a.whole = sync.OnceValue(func() *Set {
		s, err := load(codes, []Dir{d}, true)
		if err != nil {
			return &Set{schema: a.schema} // the tests load them all
		}
		return s
	})
	return &Set{schema: a.schema, asleep: a, total: len(a.pieces)}
}

// cut finds the rules of a file and the codes that wake them.
func (a *asleep) cut(name string, data []byte) error {
	const begins, on, ends = "\n- id: ", "\n  on: [", "]"
	line := 0
	for at := bytes.Index(data, []byte(begins)); at >= 0; {
		line += bytes.Count(data[:at+1], []byte("\n"))
		data = data[at+1:]
		at = bytes.Index(data, []byte(begins))
		text := data
		if at >= 0 {
			text = data[:at+1]
		}
		_, list, ok := bytes.Cut(text, []byte(on))
		list, _, closed := bytes.Cut(list, []byte(ends))
		if !ok || !closed {
			return fmt.Errorf("%s:%d: no list of codes", name, line+1)
		}
		for code := range strings.SplitSeq(string(list), ",") {
			c := finding.Code(strings.TrimSpace(code))
			if _, known := a.schema.defs[c]; !known {
				return fmt.Errorf("%s:%d: no analyzer for %s", name, line+1, c)
			}
			a.wakes[c] = append(a.wakes[c], len(a.pieces))
		}
		a.pieces = append(a.pieces, piece{file: name, line: line, text: text})
	}
	return nil
}

// awake returns a set with the rules that the findings wake, those at least.
func (s *Set) awake(in *Input) (*Set, []*Error) {
	a := s.asleep
	if a == nil {
		return s, nil
	}
	var need []int
	seen := make(map[finding.Code]bool)
	for i := range in.Findings {
		if c := in.Findings[i].Code; !seen[c] {
			seen[c] = true
			need = append(need, a.wakes[c]...)
		}
	}
	slices.Sort(need)
	need = slices.Compact(need)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &loader{schema: a.schema, quick: true, faults: &faults{}, byID: make(map[string]*Rule)}
	woken := &Set{schema: a.schema, total: len(a.pieces)}
	for _, n := range need {
		if a.read[n] == nil {
			a.read[n] = l.piece(&a.pieces[n], n)
		}
		if a.read[n] != nil {
			woken.rules = append(woken.rules, a.read[n])
		}
	}
	slices.SortFunc(woken.rules, func(x, y *Rule) int { return strings.Compare(x.ID, y.ID) })
	woken.wake()
	return woken, slices.DeleteFunc(l.faults.list, func(e *Error) bool { return e.Lint })
}

// piece reads one rule.
func (l *loader) piece(p *piece, number int) *Rule {
	l.round = make(map[string]Position)
	before := len(l.byID)
	l.file(p.file, p.line, p.text, true)
	if len(l.byID) == before {
		return nil
	}
	for id := range l.round {
		r := l.byID[id]
		r.number = number
		return r
	}
	return nil
}

// all is the set with every rule read.
func (s *Set) all() *Set {
	if s.asleep == nil {
		return s
	}
	return s.asleep.whole()
}
