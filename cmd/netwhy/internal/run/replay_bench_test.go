package run_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/run"
)

// BenchmarkReplay replays the captures that NETWHY_BENCH names from the first byte
// to the report. `make profile` has it measured: what the compiler then knows of the
// hot paths is cmd/netwhy/default.pgo.
func BenchmarkReplay(b *testing.B) {
	files := strings.Fields(os.Getenv("NETWHY_BENCH"))
	if len(files) == 0 {
		b.Skip("NETWHY_BENCH names no captures")
	}
	for _, file := range files {
		b.Run(filepath.Base(file), func(b *testing.B) {
			for range b.N {
				if _, err := run.Replay(b.Context(), world(io.Discard), &run.Options{
					Files: []string{file}, Offline: true, Outputs: []run.Output{{Format: "json"}},
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
