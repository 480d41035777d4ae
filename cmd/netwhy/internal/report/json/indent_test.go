package json_test

import (
	"bytes"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
	jsonreport "netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

// TestIndentedAsWritten: the document that is indented while it is written is the
// one that encoding/json would have made.
func TestIndentedAsWritten(t *testing.T) {
	t.Parallel()
	long := reporttest.Stalled() // of several pieces
	for i := range 300 {
		f, d := long.Findings[i%2], long.Diagnoses[0]
		f.Count, d.Confidence = uint64(i), float64(i)
		long.Findings, long.Diagnoses = append(long.Findings, f), append(long.Diagnoses, d)
	}
	long.Diagnoses = append(long.Diagnoses,
		report.Diagnosis{},
		report.Diagnosis{
			Remedies: []string{}, Connections: []report.Connection{}, Evidence: []string{}, Frames: []uint64{}, Excluded: []report.Exclusion{},
			Rule: new(""), NextStep: &report.NextStep{}, Ledger: &report.Ledger{Path: 1e-9}, File: &report.EvidenceFile{Name: "<a>", SHA256: "0"},
		},
	)
	for _, r := range []*report.Report{reporttest.Empty(), reporttest.Healthy(), reporttest.Stalled(), reporttest.Asked(), reporttest.Attack(), long} {
		want, err := jsonreport.Marshal(r, "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got := write(t, r); !bytes.Equal(got, want) {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}
