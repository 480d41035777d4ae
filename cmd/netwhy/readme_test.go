package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadmeShowsWhatIsPrinted runs the commands that README shows with their
// output (blocks that begin with "$ netwhy replay"), so that neither can drift.
// With -update the blocks are rewritten.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const indent = "    "
	block := regexp.MustCompile(`(?m)^    \$ (netwhy replay .*)\n(?:(?:    .*)?\n)*`)
	runs := 0
	got := block.ReplaceAllFunc(text, func(old []byte) []byte {
		runs++
		line := strings.TrimSpace(string(block.FindSubmatch(old)[1]))
		cmd := netwhyCommand(t, strings.Fields(line)[1:]...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return old
		}
		var b strings.Builder
		b.WriteString(indent + "$ " + line + "\n")
		for l := range strings.Lines(string(out)) {
			if l != "\n" {
				b.WriteString(indent)
			}
			b.WriteString(l)
		}
		b.WriteString("\n")
		return []byte(b.String())
	})
	if runs == 0 {
		t.Fatal("README shows no command with its output")
	}
	if bytes.Equal(got, text) {
		return
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("README is not what the program prints (-update rewrites it):\n%s", cmp.Diff(string(text), string(got)))
}

// TestReadmeNamesDependencies: every module that we import has its reason in
// README's table.
func TestReadmeNamesDependencies(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.]+\.[a-z]+/\S+) v\S+$`)
	for _, m := range direct.FindAllSubmatch(mod, -1) {
		if !bytes.Contains(readme, append([]byte("`"), append(m[1], '`')...)) {
			t.Errorf("README's table of dependencies has no line for %s", m[1])
		}
	}
}
