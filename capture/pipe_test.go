package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"netwhy/capture/packet"
)

// packers compress what is written to them; flush sends what was written on.
var packers = map[string]func(w io.Writer) (io.WriteCloser, func() error){
	"plain": func(w io.Writer) (io.WriteCloser, func() error) { return unpacked{w}, func() error { return nil } },
	"gzip": func(w io.Writer) (io.WriteCloser, func() error) {
		z := gzip.NewWriter(w)
		return z, z.Flush
	},
	"zstd": func(w io.Writer) (io.WriteCloser, func() error) {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, nil
		}
		return z, z.Flush
	},
	"lz4": func(w io.Writer) (io.WriteCloser, func() error) {
		z := lz4.NewWriter(w)
		return z, z.Flush
	},
}

type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }

// TestFramesOfAPausedPipeLeaveAtOnce writes a frame, waits until it came out at
// the other end, and only then writes the next: it hangs if a frame waits for more.
func TestFramesOfAPausedPipeLeaveAtOnce(t *testing.T) {
	t.Parallel()
	for name, packer := range packers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			f, err := Open(ctx, []string{"-"}, Options{Stdin: in})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, flush := packer(out)
			rec, err := NewRecorder(z, RecordOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rec.AddInterface(Interface{Link: packet.LinkEthernet}); err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				p := packet.Frame{Time: int64(i)}
				data := strings.Repeat("x", i)
				if err := errors.Join(rec.Write(&p, []byte(data), ""), rec.Flush(), flush()); err != nil {
					t.Fatal(err)
				}
				b, err := f.Next(ctx)
				if err != nil {
					t.Fatalf("frame %d: %v", i+1, err)
				}
				if len(b.Frames) != 1 || string(b.Data(&b.Frames[0])) != data || b.Frames[0].Number != uint64(i+1) {
					t.Errorf("frame %d: got %+v", i+1, b.Frames)
				}
				b.Release()
			}
			if err := errors.Join(rec.Finish(nil), z.Close(), out.Close()); err != nil {
				t.Fatal(err)
			}
			if b, err := f.Next(ctx); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v, %v", b, err)
			}
			if i := f.Info(); i.Truncated() != nil || i.Counters.Packets != 5 {
				t.Errorf("%+v", i)
			}
		})
	}
}

func TestWaitingForAPipeEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"} { // nothing; a gzip header and nothing
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.WriteString(given); err != nil {
			t.Fatal(err)
		}
		f, err := Open(t.Context(), []string{"-"}, Options{Stdin: in})
		if err != nil {
			t.Fatal(err)
		}
		stop := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		go cancel(stop)
		if _, err := f.Next(ctx); !errors.Is(err, stop) {
			t.Errorf("got %v, want the cause", err)
		}
		if err := errors.Join(f.Close(), in.Close(), out.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestAPipeThatIsNoCapture(t *testing.T) {
	t.Parallel()
	for _, stdin := range []io.Reader{strings.NewReader("12:00:00.1 IP a > b: text\n"), bytes.NewReader(nil)} {
		f := open(t, Options{Stdin: stdin}, "-")
		_, err := f.Next(t.Context())
		var wrong *OpenError
		if !errors.As(err, &wrong) || wrong.Name != "-" {
			t.Errorf("got %v", err)
		}
	}
}

// TestAnySplitOfThePipeGivesTheSame feeds a file byte by byte and in odd pieces.
func TestAnySplitOfThePipeGivesTheSame(t *testing.T) {
	t.Parallel()
	content := record(t, recordedIfaces, recordedFrames)
	want := samples(t, open(t, Options{Stdin: bytes.NewReader(content)}, "-"))
	for _, n := range []int{1, 2, 3, 7, 64} {
		got := samples(t, open(t, Options{Stdin: &pieces{content, n}}, "-"))
		if len(got) != len(want) {
			t.Fatalf("in pieces of %d: %d frames, want %d", n, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("in pieces of %d: got %+v, want %+v", n, got[i], want[i])
			}
		}
	}
}

// pieces gives at most n bytes a read.
type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.n, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}
