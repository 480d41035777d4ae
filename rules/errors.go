package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a rule file. Line and Column count from 1; 0 is unknown.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Error is one fault of one rule: where it stands, what is wrong, and what the
// author probably meant.
type Error struct {
	Pos     Position
	Rule    string // id; empty: the fault is in the file, or the rule has no id
	Message string
	Hint    string // "did you mean ...?", or the expression with a caret under the fault
	root    string // first name of an expression that is unknown
	Lint    bool   // the rule works; only "netwhy rules check" objects
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Pos.String())
	b.WriteString(": ")
	if e.Rule != "" {
		b.WriteString("rule ")
		b.WriteString(e.Rule)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	b.WriteString(e.Hint)
	return b.String()
}

// faults collects the faults of a load: an author mends a file in one round.
type faults struct{ list []*Error }

func (f *faults) add(pos Position, rule, hint, format string, args ...any) {
	f.list = append(f.list, &Error{Pos: pos, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *faults) lint(pos Position, rule, format string, args ...any) {
	f.list = append(f.list, &Error{Pos: pos, Rule: rule, Message: fmt.Sprintf(format, args...), Lint: true})
}

// err joins the faults in the order of their places; nil when there is none.
// Without lints only what keeps a rule from working counts.
func (f *faults) err(lints bool) error {
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	var errs []error
	for _, e := range f.list {
		if lints || !e.Lint {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}
