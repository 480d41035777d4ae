package ndjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/ndjson"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := ndjson.New(&b)
	r := reporttest.Stalled()
	early, ok := s.(report.SeenSink)
	if !ok {
		t.Fatal("symptoms are not written when they are seen")
	}
	first := r.Findings[0]
	first.ID = ""
	if err := early.Seen(&first); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `"id"`) {
		t.Errorf("an id that nobody has given yet: %s", &b)
	}
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
	want := []string{"seen", "finding", "finding", "diagnosis", "diagnosis", "report"}
	if len(events) != len(want) {
		t.Fatalf("events %v, want %v", events, want)
	}
	for i := range want {
		if events[i] != want[i] {
			t.Errorf("event %d is %q, want %q", i, events[i], want[i])
		}
	}
}
