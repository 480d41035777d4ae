package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// truth is what tshark says of a capture, as far as reading goes.
type truth struct {
	Packets      uint64 `json:"packets"`
	WireBytes    uint64 `json:"wire_bytes"`
	FirstTime    string `json:"first_time"`
	LastTime     string `json:"last_time"`
	EarliestTime string `json:"earliest_time"`
	LatestTime   string `json:"latest_time"`
}

func TestCorpusIsReadAsTsharkReadsIt(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus")
	files, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			o, i := readAll(t, Options{}, filepath.Join(dir, name))
			if o.err != nil {
				t.Fatal(o.err)
			}
			got := truth{
				i.Counters.Packets, i.Counters.Bytes,
				seconds(i.First), seconds(i.Last), seconds(i.Earliest), seconds(i.Latest),
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// seconds writes a time as tshark's frame.time_epoch.
func seconds(ns int64) string {
	frac := strconv.FormatInt(1e9+ns%1e9, 10)
	return strconv.FormatInt(ns/1e9, 10) + "." + frac[1:]
}

func TestLabIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shared(t, "lab"), "*.pcap*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no lab captures: %v", err)
	}
	for _, file := range files {
		o, i := readAll(t, Options{}, file)
		if o.err != nil || o.fault != nil || o.packets == 0 || len(i.Interfaces) == 0 || i.Interfaces[0].Link.Name() == "" {
			t.Errorf("%s: %+v, %+v", file, o, i.Interfaces)
		}
	}
	t.Logf("%d captures", len(files))
}

// TestLabCountsAgreeWithCapinfos also covers what has no truth beside it.
func TestLabCountsAgreeWithCapinfos(t *testing.T) {
	t.Parallel()
	capinfos, err := exec.LookPath("capinfos")
	if err != nil {
		t.Skip("capinfos is not installed")
	}
	files, err := filepath.Glob(filepath.Join(shared(t, "lab"), "*.pcap*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no lab captures: %v", err)
	}
	// Table of name, packets, bytes on the wire; without a header line.
	out, err := exec.CommandContext(t.Context(), capinfos, append([]string{"-T", "-r", "-M", "-c", "-d"}, files...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(files) {
		t.Fatalf("%d lines for %d files: %s", len(lines), len(files), lines[0])
	}
	for _, line := range lines {
		name, want, _ := strings.Cut(line, "\t")
		o, i := readAll(t, Options{}, name)
		if got := fmt.Sprintf("%d\t%d", o.packets, i.Counters.Bytes); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
