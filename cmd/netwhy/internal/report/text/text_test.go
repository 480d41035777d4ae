package text_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/reporttest"
	"netwhy/cmd/netwhy/internal/report/text"
	"netwhy/cmd/netwhy/internal/terminal"
)

var update = reporttest.Updating()

func write(t *testing.T, r *report.Report, opt text.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.New(&b, opt).Finish(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	interrupted := reporttest.Healthy()
	interrupted.Interrupted = "interrupt"
	lost := reporttest.Asked() // the model named nothing that exists: nobody is told of another cause
	lost.Diagnoses[len(lost.Diagnoses)-1].Agrees = false
	tests := []struct {
		name string
		r    *report.Report
		opt  text.Options
	}{
		{"empty", reporttest.Empty(), text.Options{}},
		{"healthy", reporttest.Healthy(), text.Options{}},
		{"healthy.zh", reporttest.Healthy(), text.Options{Lang: "zh"}},
		{"interrupted", interrupted, text.Options{}},
		{"stalled", reporttest.Stalled(), text.Options{}},
		{"stalled.zh", reporttest.Stalled(), text.Options{Lang: "zh"}},
		{"stalled.colour", reporttest.Stalled(), text.Options{Colour: true}},
		{"asked", reporttest.Asked(), text.Options{}},
		{"asked.no-cause", lost, text.Options{}},
		{"many", reporttest.Many(), text.Options{}},
		{"attack", reporttest.Attack(), text.Options{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := write(t, tt.r, tt.opt)
			reporttest.Golden(t, tt.name+".golden", []byte(got), *update)
			if tt.opt.Colour {
				return
			}
			for i, line := range strings.Split(got, "\n") {
				if w := terminal.Width(line); w > terminal.Columns {
					t.Errorf("line %d is %d columns wide: %s", i+1, w, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("line %d ends in a space: %q", i+1, line)
				}
			}
		})
	}
}

// TestEarlyThenTheRest: what is shown while an answer is waited for, and what
// follows, are together the whole.
func TestEarlyThenTheRest(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s, ok := text.New(&b, text.Options{}).(report.EarlySink)
	if !ok {
		t.Fatal("the text does not come early")
	}
	if err := s.Early(reporttest.Stalled()); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(reporttest.Asked()); err != nil {
		t.Fatal(err)
	}
	if want := write(t, reporttest.Asked(), text.Options{}); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestNothingEscapes: whatever a packet carries, the only control characters in
// the text are line breaks and the report's own colours.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	for _, colour := range []bool{false, true} {
		got := write(t, reporttest.Attack(), text.Options{Colour: colour})
		if colour {
			for _, own := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"} {
				got = strings.ReplaceAll(got, own, "")
			}
		}
		if !utf8.ValidString(got) {
			t.Error("not UTF-8")
		}
		for i, r := range got {
			if r != '\n' && (r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x202e) {
				t.Errorf("colour %v: %U at byte %d: %q", colour, r, i, got[max(0, i-30):min(len(got), i+30)])
			}
		}
	}
}
