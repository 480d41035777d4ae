package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"netwhy/analyze/finding"
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
	rules   []*Rule   // sorted by id
	wakes   [][]*Rule // by the number of the code
	lints   []*Error
	skipped []string
	total   int     // rules that there are, read or not
	asleep  *asleep // nil: all are read
}

// Load reads the built-in rules and those of dirs; a rule of a later place
// replaces one with the same id. The error joins all faults of all files, each
// an *Error; with a fault there is no Set.
func Load(codes []finding.Def, dirs ...Dir) (*Set, error) {
	return load(codes, append([]Dir{builtin()}, dirs...), false)
}

// LoadQuick is Load for a run: the built-in rules are taken to be right, which
// Load and the tests prove, and each of their expressions is compiled when it is
// first evaluated. Without rules of one's own they are even read when they are first
// woken.
func LoadQuick(codes []finding.Def, dirs ...Dir) (*Set, error) {
	if len(dirs) == 0 {
		if s := sleeping(codes); s != nil {
			return s, nil
		}
	}
	all := append([]Dir{builtin()}, dirs...)
	s, err := load(codes, all, true)
	if err == nil && len(s.skipped) > 0 { // a run without some analyzers: only compiling tells whom that touches
		return load(codes, all, false)
	}
	return s, err
}

// LoadOnly reads the rules of dirs without those built in.
func LoadOnly(codes []finding.Def, dirs ...Dir) (*Set, error) { return load(codes, dirs, false) }

func load(codes []finding.Def, dirs []Dir, quick bool) (*Set, error) {
	l := &loader{schema: newSchema(codes), quick: quick, faults: &faults{}, byID: make(map[string]*Rule)}
	for family := range l.schema.families {
		if slices.Contains(reserved(), family) {
			return nil, fmt.Errorf("codes of protocol %q hide a name of the rule language", family)
		}
	}
	for _, d := range dirs {
		l.dir(d)
	}
	if own := slices.ContainsFunc(dirs, func(d Dir) bool { return !d.Builtin }); own || !quick {
		l.references()
	}
	if err := l.faults.err(false); err != nil {
		return nil, err
	}
	s := &Set{schema: l.schema, lints: l.faults.list, skipped: l.skipped}
	for _, id := range near.Sorted(l.byID) {
		s.rules = append(s.rules, l.byID[id])
	}
	for i, r := range s.rules {
		r.number = i
	}
	s.total = len(s.rules)
	s.wake()
	s.tryOut(quick)
	return s, (&faults{list: s.lints}).err(false)
}

// wake notes which rules each code wakes.
func (s *Set) wake() {
	s.wakes = make([][]*Rule, len(s.schema.codes))
	for _, r := range s.rules {
		for _, c := range r.On {
			n := s.schema.number[c]
			s.wakes[n] = append(s.wakes[n], r)
		}
	}
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
	quick   bool // the built-in rules are not proven again
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
		l.file(d.shown(name), 0, data, d.Builtin)
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

// file reads a file, or what stands below so many lines of one.
func (l *loader) file(name string, below int, data []byte, isBuiltin bool) {
	r := &reader{file: name, below: below, faults: l.faults}
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
func (s *Set) Rules() []*Rule { return slices.Clone(s.all().rules) }

// Rule finds a rule by id.
func (s *Set) Rule(id string) (*Rule, bool) {
	s = s.all()
	i, ok := slices.BinarySearchFunc(s.rules, id, func(r *Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return nil, false
	}
	return s.rules[i], true
}

// IDs are the ids of all rules, sorted: for near names.
func (s *Set) IDs() []string {
	s = s.all()
	out := make([]string, len(s.rules))
	for i, r := range s.rules {
		out[i] = r.ID
	}
	return out
}
