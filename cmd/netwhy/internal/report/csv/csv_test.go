package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/csv"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestTable(t *testing.T) {
	t.Parallel()
	got := reporttest.Written(t, csv.New, reporttest.Stalled())
	reporttest.Golden(t, "connections.csv", got, *update)
	lines, err := stdcsv.NewReader(bytes.NewReader(got)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(reporttest.Connections()); len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, cell := range lines[len(lines)-1] {
		if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) {
			t.Errorf("a spreadsheet would run %q", cell)
		}
		if strings.ContainsAny(cell, "\x1b\n\r\u202e") {
			t.Errorf("control characters in %q", cell)
		}
	}
}

// TestEmpty: a capture without conversations has the header all the same.
func TestEmpty(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := csv.New(&b).Finish(&report.Report{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != strings.Join(csv.Columns(), ",")+"\n" {
		t.Errorf("%q", got)
	}
}
