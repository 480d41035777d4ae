package analyze_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"netwhy/analyze"
	"netwhy/capture"
)

// TestFoundEarly: symptoms are told before the end, each with the ends of its
// conversation, in the same order for any number of workers, and the result has
// each of them.
func TestFoundEarly(t *testing.T) {
	t.Parallel()
	paths := captures(t, "lab")
	paths = paths[:len(paths)/2] // some 7 MB, as one timeline
	var first string
	for _, workers := range []int{1, 3} {
		var b strings.Builder
		told := map[string]bool{}
		src, err := capture.Open(t.Context(), paths, capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: workers, Found: func(f *analyze.Found) {
			if f.Flow.Valid() && !f.Client.IsValid() {
				t.Errorf("%s at frame %d: whose?", f.Code, f.Evidence.First)
			}
			fmt.Fprintf(&b, "%s %v %v %v %v %d %v\n", f.Code, f.Flow, f.Host, f.Client, f.Server, f.Evidence.First, f.Values)
			told[fmt.Sprint(f.Code, f.Flow, f.Host)] = true
		}}, nil)
		if err := errors.Join(err, src.Close()); err != nil {
			t.Fatal(err)
		}
		if len(told) == 0 {
			t.Fatal("nothing was told early")
		}
		for i := range r.Findings {
			f := &r.Findings[i]
			delete(told, fmt.Sprint(f.Code, f.Flow, f.Host))
		}
		if len(told) > 0 {
			t.Errorf("%d workers: told early and not found in the end: %v", workers, told)
		}
		if first == "" {
			first = b.String()
		}
		if d := cmp.Diff(first, b.String()); d != "" {
			t.Errorf("%d workers tell otherwise than one:\n%s", workers, d)
		}
	}
}

// TestSmallCapturesAreNotToldTwice: what is read in a moment has its report at
// once.
func TestSmallCapturesAreNotToldTwice(t *testing.T) {
	t.Parallel()
	run(t, filepath.Join("..", "fixtures", "captures", "slow-database.pcap"), analyze.Options{Found: func(f *analyze.Found) {
		t.Errorf("%s was told early", f.Code)
	}})
}
