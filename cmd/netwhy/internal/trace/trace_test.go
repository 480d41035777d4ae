package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/trace"
)

func fixture(name string) string {
	return filepath.Join("..", "..", "..", "..", "fixtures", "captures", name)
}

func open(t *testing.T, name string) *capture.File {
	t.Helper()
	src, err := capture.Open(t.Context(), []string{fixture(name)}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// traced analyses a capture and looks at it a second time.
func traced(t *testing.T, name string, frames ...uint64) (*analyze.Result, *trace.Set) {
	t.Helper()
	res, err := analyze.Run(t.Context(), open(t, name), analyze.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := trace.NewSet(res.Connections, frames)
	src := open(t, name)
	for {
		b, err := src.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return res, set
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			set.Add(&b.Frames[i], b.Data(&b.Frames[i]))
		}
		b.Release()
	}
}

// TestSecondLookAgrees: the marks of the traces are those that the analysis
// counted, and no frame of a connection is missing.
func TestSecondLookAgrees(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"packet-loss.pcap", "slow-reader.pcap", "slow-database.pcap", "connection-refused.pcap", "dns-timeout.pcap"} {
		res, set := traced(t, name)
		var counts [len(tcp.CounterNames)]uint64
		for _, s := range res.Connections {
			tr := set.Traces[s.ID]
			if want := s.Client.Packets + s.Server.Packets; tr.Seen != want || uint64(len(tr.Frames)) != want {
				t.Errorf("%s, %v: %d frames, %d kept, want %d", name, s.ID, tr.Seen, len(tr.Frames), want)
			}
			for _, f := range tr.Frames {
				for m := range counts {
					if f.Marks.Has(1 << m) {
						counts[m]++
					}
				}
			}
		}
		if counts != res.TCP {
			t.Errorf("%s: marks\n%v\nwant\n%v", name, counts, res.TCP)
		}
	}
}

// TestNumbersAreWiresharks: relative numbers, lengths and windows as tshark prints
// them.
func TestNumbersAreWiresharks(t *testing.T) {
	t.Parallel()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tshark is not installed (Debian: tshark)")
		}
		t.Skip("tshark is not installed")
	}
	for _, name := range []string{"packet-loss.pcap", "slow-reader.pcap"} {
		cmd := exec.CommandContext(t.Context(), tshark, "-r", fixture(name), "-Y", "tcp.stream == 0", "-T", "fields",
			"-e", "frame.number", "-e", "tcp.seq", "-e", "tcp.ack", "-e", "tcp.len", "-e", "tcp.window_size")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		_, set := traced(t, name)
		var got strings.Builder
		for _, f := range set.Traces[flow.ID{Proto: flow.TCP}].Frames {
			fmt.Fprintf(&got, "%d\t%d\t%d\t%d\t%d\n", f.Number, f.Seq, f.Ack, f.Len, f.Window)
		}
		want := bytes.Split(out, []byte("\n"))
		for i, line := range strings.Split(got.String(), "\n") {
			if i >= len(want) || line != string(want[i]) {
				t.Fatalf("%s: %q, tshark %q", name, line, want[min(i, len(want)-1)])
			}
		}
	}
}

func TestExhibits(t *testing.T) {
	t.Parallel()
	_, set := traced(t, "connection-refused.pcap", 1, 2)
	if len(set.Exhibits) < 4 {
		t.Fatalf("%d exhibits", len(set.Exhibits))
	}
	for _, x := range set.Exhibits {
		if x.From == "" || x.To == "" || x.Label == "" {
			t.Errorf("%+v", x)
		}
	}
}

// batches is a source of frames at given times.
type batches struct{ times []int64 }

func (b *batches) Next(context.Context) (*packet.Batch, error) {
	if len(b.times) == 0 {
		return nil, io.EOF
	}
	out := &packet.Batch{}
	for _, at := range b.times {
		out.Frames = append(out.Frames, packet.Frame{Time: at, WireLen: 100})
	}
	b.times = nil
	return out, nil
}

// TestMeter: nothing is lost when steps are joined, whatever the times.
func TestMeter(t *testing.T) {
	t.Parallel()
	const second = 1_000_000_000
	for _, tt := range []struct {
		name  string
		times []int64
		most  int
	}{
		{"one", []int64{5}, 1},
		{"within a step", []int64{0, 999_999}, 1},
		{"an hour", []int64{0, second, 3600 * second}, 1024},
		{"time goes back", []int64{10 * second, 5 * second, 11 * second}, 1024},
		{"a clock from nowhere", []int64{0, 1<<63 - 1}, 1024},
		{"before 1970", []int64{-1 << 63, 1<<63 - 1}, 1024},
	} {
		m := trace.NewMeter(&batches{tt.times})
		for {
			if _, err := m.Next(t.Context()); err != nil {
				break
			}
		}
		got := m.Traffic()
		frames, octets := uint64(0), uint64(0)
		for _, s := range got.Slots {
			frames, octets = frames+s.Frames, octets+s.Bytes
		}
		if frames != uint64(len(tt.times)) || octets != 100*frames || len(got.Slots) > tt.most {
			t.Errorf("%s: %d frames, %d bytes in %d slots", tt.name, frames, octets, len(got.Slots))
		}
	}
	if trace.NewMeter(&batches{}).Traffic() != nil {
		t.Error("traffic without a frame")
	}
}

// FuzzAdd: whatever a frame holds, it is described or left out.
func FuzzAdd(f *testing.F) {
	f.Add(uint16(1), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x08\x00E\x00\x00("))
	f.Add(uint16(101), []byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, link uint16, data []byte) {
		s := &conn.Summary{ID: flow.ID{Proto: flow.TCP}, First: 1, Last: 1 << 40}
		set := trace.NewSet([]*conn.Summary{s}, []uint64{1})
		frame := packet.Frame{Number: 1, Link: packet.LinkType(link), CapLen: uint32(len(data)), WireLen: uint32(len(data))}
		for range 2 {
			set.Add(&frame, data)
		}
		if len(set.Exhibits) > 1 {
			t.Errorf("%d exhibits of one frame", len(set.Exhibits))
		}
	})
}
