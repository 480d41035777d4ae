package capture

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"netwhy/capture/packet"
)

// seed adds small files made here, and those of the robustness corpus that fit
// if it is there.
func seed(f *testing.F, fits func(content []byte) bool) {
	f.Helper()
	frames := []sample{{Time: 1e9, Data: "first"}, {Time: 2e9, Data: "second"}}
	var n ng
	n.section(binary.BigEndian)
	n.iface(1, 0, uint16(9), uint16(1), "\x8a\x00\x00\x00", 0)
	n.enhanced(0, 1, "abc")
	n.block(blockSimple, 4, "defg")
	n.block(blockStats, 0, 0, 0)
	for _, content := range [][]byte{
		pcapFile(1, frames...), variant{magic: magicModified, extra: 8}.file(frames), n.b,
		record(f, recordedIfaces, recordedFrames), pack(f, "gzip", pcapFile(1, frames...)),
		pack(f, "zstd", pcapFile(1, frames...)), pack(f, "lz4", pcapFile(1, frames...)), []byte("text\n"),
	} {
		if fits(content) {
			f.Add(content)
		}
	}
	names, _ := filepath.Glob(filepath.Join(os.Getenv("NETWHY_SHARED"), "corpus-robust", "*"))
	for _, name := range names {
		if st, err := os.Stat(name); err != nil || st.Size() > 4096 {
			continue
		}
		if content, err := os.ReadFile(name); err == nil && fits(content) {
			f.Add(content)
		}
	}
}

// fuzzLimit keeps a packed bomb from taking the fuzzer's time.
const fuzzLimit = 20000

// check reads content in two different splits and holds what every reader owes:
// frames within their batch, numbered in a row, no more bytes than were given,
// and the same whatever the split.
func check(t *testing.T, content []byte, packed bool) {
	t.Helper()
	var first []sample
	for i, n := range []int{1, 3} {
		f, err := Open(t.Context(), []string{"-"}, Options{Stdin: &pieces{content, n}, BatchBytes: 512, Batches: 2, MaxPackets: fuzzLimit})
		if err != nil {
			t.Fatal(err)
		}
		var got []sample
		total := 0
		for {
			b, err := f.Next(t.Context())
			if err != nil {
				break
			}
			for k := range b.Frames {
				p := &b.Frames[k]
				data := b.Data(p)
				total += len(data)
				got = append(got, sample{Number: p.Number, Time: p.Time, Wire: p.WireLen, Link: p.Link, Iface: p.Interface, Data: string(data)})
				if p.Number != uint64(len(got)) || p.WireLen < p.CapLen || int(p.Interface) >= len(f.Info().Interfaces) {
					t.Errorf("frame %d: %+v", len(got), p)
				}
			}
			b.Release()
		}
		if total > len(content) && !packed {
			t.Errorf("%d bytes of frames from %d", total, len(content))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if i == 0 {
			first = got
			continue
		}
		if len(got) != len(first) {
			t.Fatalf("%d frames in pieces of %d, %d in pieces of 1", len(got), n, len(first))
		}
		for k := range got {
			if got[k] != first[k] {
				t.Fatalf("frame %d differs: %+v, %+v", k+1, got[k], first[k])
			}
		}
	}
}

func FuzzPcap(f *testing.F) {
	seed(f, func(b []byte) bool { return len(b) >= pcapHeaderLen && isPcap(b) })
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) < pcapHeaderLen || !isPcap(content) {
			return
		}
		check(t, content, false)
		p, _, wrong := newPcapReader(content) // with the whole file as its head, as a regular file is opened
		if wrong != "" {
			return
		}
		var b packet.Batch
		st := walk{interfaces: &interfaces{}}
		if next, _, _ := p.parse(&b, content, pcapHeaderLen, &st); next > len(content) {
			t.Errorf("read %d of %d bytes", next, len(content))
		}
	})
}

func FuzzPcapng(f *testing.F) {
	seed(f, func(b []byte) bool { return bytes.HasPrefix(b, []byte("\n\r\r\n")) })
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte("\n\r\r\n")) {
			check(t, content, false)
		}
	})
}

func FuzzDetect(f *testing.F) {
	seed(f, func([]byte) bool { return true })
	f.Fuzz(func(t *testing.T, content []byte) {
		if what, remedy := foreign(content); what != "" && remedy == "" {
			t.Errorf("%s: no remedy", what)
		}
		if e := notACapture("x", content, ""); bytes.ContainsAny([]byte(e.Error()), "\n\x1b\x00") {
			t.Errorf("not one plain line: %q", e)
		}
		check(t, content, compressionOf(content) != "")
	})
}
