package prototest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/proto"
	"netwhy/capture"
)

// truth is the part of a truth file that these analyzers answer for.
type truth struct {
	Rcode map[string]uint64 `json:"dns_rcode"`
	Alert map[string]uint64 `json:"tls_alert_desc"`
	HTTP  map[string]uint64 `json:"http_response_code"`
}

func TestCountersAgreeWithTshark(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth in %s: %v", dir, err)
	}
	right, wrong := 0, map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want truth
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := count(t, filepath.Join(dir, name))
		diff := compare("dns_rcode", got[proto.DNSRcode], want.Rcode) +
			compare("tls_alert", got[proto.TLSAlert], want.Alert) +
			compare("http_status", got[proto.HTTPStatus], want.HTTP)
		if diff == "" {
			right++
		} else {
			wrong[name] = diff
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s:%s", name, wrong[name])
	}
	t.Logf("%d of %d captures agree", right, len(files))
}

func count(t *testing.T, path string) [proto.Counters]map[string]uint64 {
	t.Helper()
	src, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer src.Close()
	r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 1}, nil)
	var cut *capture.TruncatedError
	if err != nil && !errors.As(err, &cut) {
		t.Fatalf("%s: %v", path, err)
	}
	return r.Keyed
}

func compare(what string, got, want map[string]uint64) string {
	var out strings.Builder
	keys := maps.Clone(want)
	if keys == nil {
		keys = map[string]uint64{}
	}
	maps.Copy(keys, got)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if got[k] != want[k] {
			fmt.Fprintf(&out, " %s[%s] got %d, want %d;", what, k, got[k], want[k])
		}
	}
	return out.String()
}

func corpus(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(root(), "corpus")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("captures are missing: %v", err)
		}
		t.Skipf("captures are missing: %v", err)
	}
	return dir
}
