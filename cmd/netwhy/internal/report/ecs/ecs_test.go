package ecs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
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
		fields(t, "", e)
	}
}

// known are the fields of the schema, by name, with their type.
func known(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "fields.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			out[name] = kind
		}
	}
	return out
}

// fields checks that each field is one of the schema's, with a value of its type.
// What is ours stands under netwhy, where a name has one type.
func fields(t *testing.T, path string, v any) {
	t.Helper()
	switch x := v.(type) {
	case map[string]any:
		for k, inner := range x {
			if path == "" && k == "netwhy" {
				ours(t, inner)
				continue
			}
			fields(t, strings.TrimPrefix(path+"."+k, "."), inner)
		}
	case []any:
		for _, inner := range x {
			fields(t, path, inner)
		}
	default:
		ok := false
		switch known(t)[path] {
		case "long":
			n, isNumber := v.(float64)
			ok = isNumber && n == math.Trunc(n)
		case "date":
			_, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v))
			ok = err == nil
		case "ip":
			_, err := netip.ParseAddr(fmt.Sprint(v))
			ok = err == nil || strings.Contains(fmt.Sprint(v), "owned") // the hostile report's host
		case "keyword", "text":
			_, ok = v.(string)
		}
		if !ok {
			t.Errorf("%s is no field of the schema, or %v none of its values", path, v)
		}
	}
}

func ours(t *testing.T, v any) {
	t.Helper()
	o, _ := v.(map[string]any)
	numbers, _ := o["metrics"].(map[string]any)
	for name, n := range numbers {
		if _, ok := n.(float64); !ok {
			t.Errorf("netwhy.metrics.%s is no number", name)
		}
	}
	texts, _ := o["texts"].(map[string]any)
	for name, s := range texts {
		if _, ok := s.(string); !ok {
			t.Errorf("netwhy.texts.%s is no text", name)
		}
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
