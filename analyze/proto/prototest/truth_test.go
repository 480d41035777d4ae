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
	Names []string          `json:"protocols_all"`
}

// foreign are names of protocols that only one of the two has, by capture.
func foreign() map[string]string {
	return map[string]string{
		"sctp-www.pcap":     "image-gif",
		"tcp_dupack.pcapng": "data http",
		"http-ooo.pcap":     "data",
	}
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
		r := result(t, filepath.Join(dir, name))
		got := r.Keyed
		if only := differing(r.Protocols, want.Names); only != foreign()[name] {
			t.Errorf("%s: protocols that only one of the two names: %q, want %q", name, only, foreign()[name])
		}
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

// differing lists the names that only one of the two has.
func differing(ours map[string]uint64, theirs []string) string {
	var only []string
	for name := range ours {
		if !slices.Contains(theirs, name) {
			only = append(only, name)
		}
	}
	for _, name := range theirs {
		if name != "ethertype" && ours[name] == 0 { // no protocol
			only = append(only, name)
		}
	}
	slices.Sort(only)
	return strings.Join(only, " ")
}

func result(t *testing.T, path string) *analyze.Result {
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
	return r
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
