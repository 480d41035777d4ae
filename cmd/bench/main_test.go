package main

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table names every tool with its ratios, and what is not installed.
func TestBench(t *testing.T) {
	t.Parallel()
	capture := filepath.Join(t.TempDir(), "one.pcap")
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4)
	if err := os.WriteFile(capture, b, 0o600); err != nil {
		t.Fatal(err)
	}
	tools := []tool{{name: "echo", args: []string{"echo", file}, note: "says the name"}}
	rows, err := measure(context.Background(), tools, capture, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0]) != 3 {
		t.Fatalf("rows: got %v, want three samples of one tool", rows)
	}
	var out strings.Builder
	render(&out, capture, tools, rows)
	if got := out.String(); !strings.Contains(got, "one\n") || !strings.Contains(got, "echo  1.00") {
		t.Errorf("table:\n%s", got)
	}
	have, missing := installed([]tool{{name: "none", args: []string{"no-such-tool"}}})
	if len(have) != 0 || len(missing) != 1 {
		t.Errorf("installed: got %v and %v", have, missing)
	}
}

func TestWalkNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	if err := walk(filepath.Join(t.TempDir(), "none.pcap")); err == nil || !strings.Contains(err.Error(), "none.pcap") {
		t.Errorf("error: got %v, want one that names the file", err)
	}
}
