package ecs_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/ecs"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*report.Report{"stalled": reporttest.Stalled(), "attack": reporttest.Attack()} {
		got := reporttest.Written(t, ecs.New, r)
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

// validate checks the fields that ECS demands, and that the categories are of its
// lists (ECS Field Reference, "Categorization").
func validate(t *testing.T, e map[string]any) {
	t.Helper()
	stamp, _ := e["@timestamp"].(string)
	if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil {
		t.Error(err)
	}
	event, _ := e["event"].(map[string]any)
	allowed := map[string][]any{
		"kind":     {"alert", "event", "metric"},
		"category": {"network"},
		"type":     {"connection", "end", "info", "indicator"},
		"outcome":  {nil, "success", "failure"},
	}
	for name, values := range allowed {
		got, isList := event[name].([]any)
		if !isList {
			got = []any{event[name]}
		}
		for _, g := range got {
			found := false
			for _, v := range values {
				found = found || v == g
			}
			if !found {
				t.Errorf("event.%s is %v", name, g)
			}
		}
	}
	if v, _ := e["ecs"].(map[string]any); v["version"] != ecs.Version {
		t.Errorf("ecs.version is %v", v)
	}
}
