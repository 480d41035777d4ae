//go:build unix

package capture

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFIFO(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	f := open(t, Options{}, name) // does not wait for a writer
	content := record(t, recordedIfaces, recordedFrames)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(name, content, 0o600) }()
	if got := samples(t, f); len(got) != len(recordedFrames) {
		t.Errorf("%d frames", len(got))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if p := f.Progress(); p.Size != -1 || p.Read != int64(len(content)) || p.Packets != uint64(len(recordedFrames)) {
		t.Errorf("%+v", p)
	}
}
