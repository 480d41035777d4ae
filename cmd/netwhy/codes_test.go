package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCodesAreListed: the table of symptoms and causes is what the program knows.
// With -update it is rewritten.
func TestCodesAreListed(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", ".github", "CODES.md")
	table, err := netwhyCommand(t, "man", "--codes").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte("# Symptoms and causes\n\nWritten by `netwhy man --codes`; `netwhy explain NAME` says more of each.\n\n"), table...)
	got, err := os.ReadFile(path)
	if bytes.Equal(got, want) {
		return
	}
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not current (-update rewrites it): %v\n%s", path, err, cmp.Diff(string(got), string(want)))
}
