package ndjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"netwhy/cmd/netwhy/internal/report/ndjson"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := ndjson.New(&b)
	r := reporttest.Stalled()
	for i := range r.Findings {
		before := b.Len()
		if err := s.Finding(&r.Findings[i]); err != nil {
			t.Fatal(err)
		}
		if b.Len() == before {
			t.Error("a finding was not written as it happened")
		}
	}
	if err := s.Finish(r); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "stalled.ndjson", b.Bytes(), *update)
	var events []string
	for line := range bytes.Lines(b.Bytes()) {
		var e struct{ Event string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e.Event)
	}
	want := []string{"finding", "finding", "diagnosis", "diagnosis", "report"}
	if len(events) != len(want) {
		t.Fatalf("events %v, want %v", events, want)
	}
	for i := range want {
		if events[i] != want[i] {
			t.Errorf("event %d is %q, want %q", i, events[i], want[i])
		}
	}
}
