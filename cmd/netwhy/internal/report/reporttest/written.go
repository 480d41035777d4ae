package reporttest

import (
	"bytes"
	"io"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
)

// Written is what a format makes of Connections and a report.
func Written(t *testing.T, sink func(io.Writer) report.Sink, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	s := sink(&b)
	if c, ok := s.(report.ConnectionSink); ok {
		for _, sum := range Connections() {
			if err := c.Connection(&sum); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range r.Findings {
		if err := s.Finding(&r.Findings[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
