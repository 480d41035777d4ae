package rules_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"netwhy/analyze"
	"netwhy/rules"
)

var update = flag.Bool("update", false, "write the golden files")

// TestBuiltin loads the built-in rules against every code that a run can report,
// and wants them complete: reasons, both languages, captures for and against.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range unjoin(s.Check(true)) {
		if !strings.Contains(e.Error(), "no fires") && !strings.Contains(e.Error(), "no silent") { // TestExpectations counts these
			t.Error(e)
		}
	}
	for _, id := range s.Skipped() {
		t.Logf("rule %s: no analyzer reports its codes", id)
	}
}

// TestTexts holds the texts of the built-in rules fast, in both languages,
// filled in with samples. Run with -update after a change and read the diff.
func TestTexts(t *testing.T) {
	t.Parallel()
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range s.Rules() {
		for _, lang := range []string{rules.English, rules.Chinese} {
			e, err := s.Example(r, lang)
			if err != nil {
				t.Errorf("%s (%s): %v", r.ID, lang, err)
				continue
			}
			fmt.Fprintf(&b, "%s (%s)\n  %s\n  %s\n", r.ID, lang, e.Title, e.Explanation)
			for _, m := range e.Remedies {
				fmt.Fprintf(&b, "  + %s\n", m)
			}
			for _, x := range e.Excluded {
				fmt.Fprintf(&b, "  - not %s: %s\n", x.Cause, x.Because)
			}
			if e.NextStep != nil {
				fmt.Fprintf(&b, "  $ %s\n    %s\n", e.NextStep.Command, e.NextStep.TellsApart)
			}
		}
	}
	golden(t, "texts.golden", b.String())
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s changed (-want +got):\n%s", path, d)
	}
}

// unjoin takes joined errors apart.
func unjoin(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}
