package reporttest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Updating is the flag -update of a test binary; each test package that compares
// with golden files declares it once: var update = reporttest.Updating().
func Updating() *bool { return flag.Bool("update", false, "rewrite the golden files") }

// Golden compares got with testdata/NAME, or rewrites that file.
func Golden(t *testing.T, name string, got []byte, update bool) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) //nolint:gosec // below testdata
	if err != nil {
		t.Fatalf("%v; run the test with -update to make it", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (run with -update and look at the diff):\n%s", path, d)
	}
}
