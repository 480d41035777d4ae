package text_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/report/reporttest"
	"netwhy/cmd/netwhy/internal/report/text"
)

// TestManyOfOneCause: after some of a cause only titles are written, and what stands
// for many is written in full.
func TestManyOfOneCause(t *testing.T) {
	t.Parallel()
	r := reporttest.Stalled()
	one := r.Diagnoses[0]
	r.Diagnoses = nil
	for i := range 9 {
		d := one
		d.Title = fmt.Sprintf("server number %d is slow, and this is said at such a length that it needs another line", i)
		r.Diagnoses = append(r.Diagnoses, d)
	}
	r.Diagnoses[8].More = 1000
	var b bytes.Buffer
	if err := text.New(&b, text.Options{}).Finish(r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Diagnoses {
		if !strings.Contains(b.String(), fmt.Sprintf("server number %d is slow", i)) {
			t.Errorf("number %d is left out", i)
		}
	}
	if n := strings.Count(b.String(), strings.Fields(one.Explanation)[0]+" "+strings.Fields(one.Explanation)[1]); n != 6 {
		t.Errorf("%d are written in full, want 5 and the last\n%s", n, b.String())
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
