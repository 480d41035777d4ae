package capture

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/capture/packet"
)

// recordSeconds records one frame a second, of a hundred bytes.
func recordSeconds(t *testing.T, opt RecordingOptions, seconds int) *Recording {
	t.Helper()
	ifaces := []Interface{{Name: "eth0", Link: packet.LinkEthernet, DroppedKernel: 5}}
	r, err := NewRecording(opt, func() []Interface { return slices.Clone(ifaces) })
	if err != nil {
		t.Fatal(err)
	}
	pool := packet.NewPool(1, 64<<10)
	for i := range seconds {
		b, err := pool.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Append(packet.Frame{Number: uint64(i + 1), Time: int64(i) * int64(time.Second), Link: packet.LinkEthernet}, make([]byte, 100))
		if err := r.Write(b); err != nil {
			t.Fatal(err)
		}
		b.Release()
		ifaces[0].DroppedKernel++
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordingRotatesAndKeeps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		opt    RecordingOptions
		files  int
		frames uint64
	}{
		{"one file", RecordingOptions{}, 1, 60},
		{"by time", RecordingOptions{RotateTime: 10 * time.Second}, 6, 60},
		{"by size", RecordingOptions{RotateSize: 1000}, 8, 60},
		{"the latest three", RecordingOptions{RotateTime: 10 * time.Second, Keep: 3}, 3, 30},
		{"bytes in all", RecordingOptions{RotateTime: 10 * time.Second, KeepBytes: 4000}, 2, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			others := []string{"trace_notes.pcapng", "trace_00001_20260807T101502.pcap", "trace_00001_2026.pcapng"}
			for _, other := range others {
				if err := os.WriteFile(filepath.Join(dir, other), []byte("not netwhy's"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tt.opt.Path = filepath.Join(dir, "trace.pcapng")
			r := recordSeconds(t, tt.opt, 60)
			names, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, name := range names {
				if !slices.Contains(others, filepath.Base(name)) {
					files = append(files, name)
				}
			}
			if len(files) != tt.files || len(names) != tt.files+len(others) || r.Frames() != 60 {
				t.Fatalf("%d frames in %v", r.Frames(), names)
			}
			f, err := Open(t.Context(), files, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for {
				b, err := f.Next(t.Context())
				if err != nil {
					break
				}
				b.Release()
			}
			info := f.Info()
			if info.Counters.Packets != tt.frames || info.Truncated() != nil {
				t.Errorf("%d frames, want %d; %v", info.Counters.Packets, tt.frames, info.Truncated())
			}
			// Each file has the drops of its own time, not those before it.
			if got := info.Counters.DroppedKernel; got > tt.frames || got+uint64(tt.files)+1 < tt.frames {
				t.Errorf("%d drops in the statistics of %d files, one happened with each of %d frames", got, tt.files, tt.frames)
			}
		})
	}
}

// TestRecordingGoesOnNumbering: what an earlier run left counts for --keep too.
func TestRecordingGoesOnNumbering(t *testing.T) {
	t.Parallel()
	opt := RecordingOptions{Path: filepath.Join(t.TempDir(), "trace.pcapng"), RotateTime: 10 * time.Second, Keep: 4}
	recordSeconds(t, opt, 30)
	recordSeconds(t, opt, 30)
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(opt.Path), "*"))
	if len(files) != 4 || !strings.Contains(files[0], "_00003_") || !strings.Contains(files[3], "_00006_") {
		t.Errorf("kept: %v", files)
	}
}

func TestRecordingSaysWhyItCannotBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "no", "such", "x.pcapng"), dir} {
		_, err := NewRecording(RecordingOptions{Path: path}, func() []Interface { return nil })
		var why *RecordError
		if !errors.As(err, &why) || !strings.HasPrefix(err.Error(), "record to "+path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
