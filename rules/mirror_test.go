package rules_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// mirrorDelay is how long after the original a mirror port's copy comes.
const mirrorDelay = 3 // microseconds

// mirrored writes each frame of a classic pcap file twice, as a mirror of two
// ports does.
func mirrored(t *testing.T, data []byte) []byte {
	t.Helper()
	const fileHeader, recordHeader = 24, 16
	var order binary.ByteOrder = binary.LittleEndian
	if len(data) < fileHeader || order.Uint32(data) != 0xa1b2c3d4 {
		t.Fatal("no pcap file in microseconds and little-endian order")
	}
	out := bytes.NewBuffer(bytes.Clone(data[:fileHeader]))
	for rest := data[fileHeader:]; len(rest) >= recordHeader; {
		n := recordHeader + int(order.Uint32(rest[8:]))
		if n > len(rest) {
			break
		}
		record := rest[:n]
		out.Write(record)
		again := bytes.Clone(record)
		micros := order.Uint32(again[4:]) + mirrorDelay
		order.PutUint32(again[4:], micros%1_000_000)
		order.PutUint32(again, order.Uint32(again)+micros/1_000_000)
		out.Write(again)
		rest = rest[n:]
	}
	return out.Bytes()
}

// TestMirroredCopies: a capture in which a mirror port copied every frame shows
// the same causes as the clean one, and a healthy one stays healthy.
func TestMirroredCopies(t *testing.T) {
	t.Parallel()
	dir := shared(t, "lab")
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, rules.LabelsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	labels, err := rules.ReadLabels(f)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	clean, copied := runner(s, dir), runner(s, tmp)
	differ := 0
	for _, l := range labels {
		if l.Cause == "duplicate-packets" || l.Cause == "broadcast-storm" {
			continue // copies are their matter
		}
		data, err := os.ReadFile(filepath.Join(dir, l.Name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tmp, l.Name), mirrored(t, data), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := clean(t.Context(), l.Name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := copied(t.Context(), l.Name)
		if err != nil {
			t.Fatal(err)
		}
		if first(want) != first(got) {
			differ++
			t.Logf("%s: clean %s, mirrored %s", l.Name, first(want), first(got))
		}
		if err := os.Remove(filepath.Join(tmp, l.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if differ > mostMirrored {
		t.Errorf("%d captures are judged otherwise when mirrored, at most %d were", differ, mostMirrored)
	}
}

// mostMirrored is the number of captures judged otherwise when mirrored; it may
// only fall.
const mostMirrored = 0

// first is the first cause of warning or above.
func first(said []diagnosis.Diagnosis) diagnosis.Cause {
	for _, d := range said {
		if d.Severity >= finding.Warning {
			return d.Cause
		}
	}
	return ""
}
