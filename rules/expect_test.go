package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// mostWithout is the number of built-in rules whose cause no capture shows yet.
// It may only fall.
const mostWithout = 0

// TestExpectations judges the captures that the built-in rules name: those that
// show the cause (fires) and the healthy ones that look alike (silent). They are
// beside the repository's own fixtures, or in the shared folders.
func TestExpectations(t *testing.T) {
	t.Parallel()
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join("..", "fixtures")
	around := os.Getenv("NETWHY_SHARED")
	if around == "" {
		around = filepath.Join("..", "..", "shared")
	}
	said := make(map[string][]diagnosis.Diagnosis)
	skipped := 0
	for _, e := range s.Expectations() {
		dir := own
		if _, err := os.Stat(filepath.Join(dir, e.File)); err != nil {
			dir = around
		}
		if _, err := os.Stat(filepath.Join(dir, e.File)); err != nil {
			if _, err := os.Stat(around); err != nil && os.Getenv("CI") != "true" {
				skipped++
				continue
			}
			t.Errorf("rule %s: no capture %s", e.Rule.ID, e.File)
			continue
		}
		got, done := said[e.File]
		if !done {
			if got, err = runner(s, dir)(t.Context(), e.File); err != nil {
				t.Errorf("rule %s: %v", e.Rule.ID, err)
			}
			said[e.File] = got
		}
		if err := e.Meets(got); err != nil {
			t.Error(err)
		}
	}
	if skipped > 0 {
		t.Logf("%d captures are not here", skipped)
	}
	without := 0
	for _, r := range s.Rules() {
		if len(r.Fires) == 0 {
			t.Logf("rule %s: no capture shows it", r.ID)
			without++
		}
	}
	if without > mostWithout {
		t.Errorf("%d rules have no capture, at most %d had", without, mostWithout)
	}
}
