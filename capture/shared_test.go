package capture

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared returns a folder of the captures that are kept beside the repository.
func shared(tb testing.TB, folder string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			tb.Fatal(err)
		}
		for ; root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if at := filepath.Join(dir, "shared"); isDir(at) {
				root = at
			}
		}
	}
	at := filepath.Join(root, folder)
	if root == "" || !isDir(at) {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("no captures %q: set NETWHY_SHARED to the folder that has them", folder)
		}
		tb.Skipf("no captures %q here; set NETWHY_SHARED to the folder that has them", folder)
	}
	return at
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}
