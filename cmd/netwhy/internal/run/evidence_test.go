package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/run"
)

// TestEvidenceIsWhatWasSeen: tshark reads the evidence, finds in it the same
// bytes and times as in the frames of the whole capture that the report names,
// and shows a comment at each. The display filter finds the same frames.
func TestEvidenceIsWhatWasSeen(t *testing.T) {
	t.Parallel()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tshark is not installed; .ci/setup ci installs it")
		}
		t.Skip("tshark is not installed")
	}
	for _, name := range []string{"slow-database", "packet-loss", "mtu-black-hole"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("..", "..", "..", "..", "fixtures", "captures", name+".pcap")
			dir := t.TempDir()
			var r struct {
				Diagnoses []struct {
					Frames   []uint64
					File     struct{ Name string } `json:"evidence_file"`
					Evidence []string
				}
			}
			if err := json.Unmarshal(replayJSON(t, run.Options{Files: []string{path}, Evidence: dir}), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Diagnoses) == 0 {
				t.Fatal("no diagnosis")
			}
			for _, d := range r.Diagnoses {
				fields := []string{"-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "ip.checksum", "-e", "tcp.seq_raw", "-e", "tcp.checksum", "-e", "udp.checksum"}
				filter := "frame.number in {" + strings.Trim(strings.ReplaceAll(jsonText(t, d.Frames), ",", ", "), "[]") + "}"
				want := output(t, tshark, append([]string{"-r", path, "-Y", filter}, fields...)...)
				proof := filepath.Join(dir, d.File.Name)
				got := output(t, tshark, append([]string{"-r", proof}, fields...)...)
				if !bytes.Equal(want, got) {
					t.Errorf("%s: tshark reads\n%s\nand in the whole capture\n%s", d.File.Name, got, want)
				}
				comments := output(t, tshark, "-r", proof, "-T", "fields", "-e", "frame.comment")
				if n := bytes.Count(comments, []byte("netwhy D")); n != len(d.Frames) {
					t.Errorf("%s: %d comments on %d frames:\n%s", d.File.Name, n, len(d.Frames), comments)
				}
			}
		})
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, stderr.String())
	}
	return out
}
