package rules_test

import (
	"testing"

	"netwhy/analyze"
	"netwhy/rules"
)

// TestBuiltin loads the built-in rules against every code that a run can report,
// and wants them complete: reasons, both languages, captures for and against.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(true); err != nil {
		t.Error(err)
	}
	for _, id := range s.Skipped() {
		t.Logf("rule %s: no analyzer reports its codes", id)
	}
}
