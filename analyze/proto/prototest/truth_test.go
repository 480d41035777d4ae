package prototest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// counted reads the frames by protocol that tshark counts, by capture.
func counted(t *testing.T) map[string]map[string]uint64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "protocols.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		file, list, ok := strings.Cut(line, "\t")
		if !ok {
			continue // what the file is
		}
		all[file] = map[string]uint64{}
		for item := range strings.FieldsSeq(list) {
			at := strings.LastIndexByte(item, ':')
			n, err := strconv.ParseUint(item[at+1:], 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[file][item[:at]] = n
		}
	}
	return all
}

func TestCountersAgreeWithTshark(t *testing.T) {
	t.Parallel()
	dir := corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth in %s: %v", dir, err)
	}
	right, wrong, frames := 0, map[string]string{}, counted(t)
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
		if d := differing(r.Protocols, frames[name]); d != "" {
			t.Errorf("%s: protocols that differ: %s", name, d)
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

// differing lists the protocols whose counts differ: ours and theirs.
func differing(ours, theirs map[string]uint64) string {
	names := maps.Clone(ours)
	maps.Copy(names, theirs)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ours[name] != theirs[name] {
			list = append(list, fmt.Sprintf("%s:%d/%d", name, ours[name], theirs[name]))
		}
	}
	return strings.Join(list, " ")
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
