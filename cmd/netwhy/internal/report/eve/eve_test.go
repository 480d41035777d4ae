package eve_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/eve"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*report.Report{"stalled": reporttest.Stalled(), "attack": reporttest.Attack()} {
		got := reporttest.Written(t, eve.New, r)
		reporttest.Golden(t, name+".ndjson", got, *update)
		check(t, got)
	}
}

func check(t *testing.T, got []byte) {
	t.Helper()
	for line := range bytes.Lines(got) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		validate(t, e)
	}
}

// validate checks what every event of Suricata's has.
func validate(t *testing.T, e map[string]any) {
	t.Helper()
	stamp, _ := e["timestamp"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000000-0700", stamp); err != nil {
		t.Error(err)
	}
	kind, _ := e["event_type"].(string)
	if _, ok := e[kind].(map[string]any); !ok {
		t.Errorf("the event %q has no object of its name", kind)
	}
}
