package capture

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeveralFilesAreOneTimeline(t *testing.T) {
	t.Parallel()
	at := func(times ...int64) []sample {
		var all []sample
		for _, s := range times {
			all = append(all, sample{Time: s * 1e9})
		}
		return all
	}
	tests := []struct {
		name  string
		files [][]sample
		want  []string // file and frame within it
	}{
		{"one after the other", [][]sample{at(1, 2), at(3, 4)}, []string{"a1", "a2", "b1", "b2"}},
		{"named in the wrong order", [][]sample{at(3, 4), at(1, 2)}, []string{"b1", "b2", "a1", "a2"}},
		{"interleaved", [][]sample{at(1, 3), at(2, 4)}, []string{"a1", "b1", "a2", "b2"}},
		{"equal times: the file named first", [][]sample{at(1, 1), at(1, 1)}, []string{"a1", "a2", "b1", "b2"}},
		{"time goes back within a file: its order stays", [][]sample{at(5, 1), at(2, 6)}, []string{"b1", "a1", "a2", "b2"}},
		{"empty ones", [][]sample{nil, at(1), nil}, []string{"b1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for i, frames := range test.files {
				for k := range frames {
					frames[k].Data = string(rune('a'+i)) + string(rune('1'+k))
				}
				names = append(names, write(t, "x.pcap", pcapFile(1, frames...)))
			}
			got := samples(t, open(t, Options{}, names...))
			var order []string
			for i := range got {
				order = append(order, got[i].Data)
				if got[i].Number != uint64(i+1) {
					t.Errorf("frame %d has number %d", i+1, got[i].Number)
				}
			}
			if !slices.Equal(order, test.want) {
				t.Errorf("got %v, want %v", order, test.want)
			}
		})
	}
}

// TestMergingAgreesWithMergecap compares frame by frame with Wireshark's tool.
func TestMergingAgreesWithMergecap(t *testing.T) {
	t.Parallel()
	mergecap, err := exec.LookPath("mergecap")
	if err != nil {
		t.Skip("mergecap is not installed")
	}
	lab := shared(t, "lab")
	names, err := filepath.Glob(filepath.Join(lab, "d00*.pcap*"))
	if err != nil || len(names) < 3 {
		t.Fatalf("captures: %v, %v", names, err)
	}
	slices.Reverse(names)
	names = append(names, names[0]) // every frame of it twice, at the same time
	merged := filepath.Join(t.TempDir(), "merged.pcapng")
	if out, err := exec.CommandContext(t.Context(), mergecap, append([]string{"-w", merged}, names...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := samples(t, open(t, Options{}, merged))
	got := samples(t, open(t, Options{}, names...))
	for i := range want { // mergecap joins equal interfaces
		want[i].Iface = 0
	}
	for i := range got {
		got[i].Iface = 0
	}
	if len(got) == 0 || len(got) != len(want) {
		t.Fatalf("%d frames, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frame %d: %s", i+1, cmp.Diff(want[i].Time, got[i].Time))
		}
	}
	t.Logf("%d frames of %d files", len(got), len(names))
}
