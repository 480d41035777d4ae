package rules

import (
	"sync"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/finding"
)

// TestAsleep: the built-in rules are cut at the right places, and are read as far
// as they are needed, by however many ask at once.
func TestAsleep(t *testing.T) {
	t.Parallel()
	full, err := load(analyze.Defs(), []Dir{builtin()}, true)
	if err != nil {
		t.Fatal(err)
	}
	s := sleeping(analyze.Defs())
	if s == nil {
		t.Fatal("the built-in rules cannot be cut: each begins with \"- id: \" and has its codes in one list after \"  on: \"")
	}
	if s.total != len(full.rules) {
		t.Fatalf("%d pieces of %d rules", s.total, len(full.rules))
	}
	woken := func(codes ...finding.Code) *Set {
		in := &Input{}
		for _, c := range codes {
			in.Findings = append(in.Findings, finding.Finding{Code: c})
		}
		w, faults := s.awake(in)
		if len(faults) > 0 {
			t.Error(faults)
		}
		return w
	}
	if w := woken(); len(w.rules) != 0 {
		t.Errorf("nothing was found and %d rules woke", len(w.rules))
	}
	var wg sync.WaitGroup
	for _, code := range full.schema.codes {
		wg.Go(func() {
			w, c := woken(finding.Code(code)), full.schema.number[finding.Code(code)]
			if len(w.wakes[c]) != len(full.wakes[c]) {
				t.Errorf("%s wakes %d rules, want %d", code, len(w.wakes[c]), len(full.wakes[c]))
				return
			}
			for i, r := range w.wakes[c] {
				if want := full.wakes[c][i]; r.ID != want.ID || r.Pos != want.Pos || r.brief != want.brief || len(r.remedies) != len(want.remedies) {
					t.Errorf("%s: %s at %s, want %s at %s", code, r.ID, r.Pos, want.ID, want.Pos)
				}
			}
		})
	}
	wg.Wait()
	if got := len(s.Rules()); got != len(full.rules) {
		t.Errorf("%d rules in all, want %d", got, len(full.rules))
	}
}

// TestAsleepWithoutAnalyzer: a run with fewer analyzers reads all at once.
func TestAsleepWithoutAnalyzer(t *testing.T) {
	t.Parallel()
	if s := sleeping(analyze.Defs()[1:]); s != nil {
		t.Error("rules sleep that can never be woken")
	}
}
