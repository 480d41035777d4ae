package run

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"netwhy/capture/packet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frames is a source of one batch with frames at the given moments.
type frames struct {
	at   []time.Duration
	done bool
}

func (s *frames) Next(context.Context) (*packet.Batch, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	pool := packet.NewPool(1, packet.DefaultBatchBytes)
	b, ok := pool.TryGet()
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	for i, d := range s.at {
		b.Append(packet.Frame{Number: uint64(i + 1), Time: int64(d)}, []byte{byte(i)})
	}
	return b, nil
}

// TestPace: frames come when they are due, divided by the speed, in order and
// all of them.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &frames{at: []time.Duration{5 * time.Second, 5*time.Second + 1, 7 * time.Second, 15 * time.Second}}
		p := newPaced(src, 2)
		begun := time.Now()
		var numbers []uint64
		var times []time.Duration
		for {
			b, err := p.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Frames {
				numbers = append(numbers, b.Frames[i].Number)
				times = append(times, time.Since(begun))
				if got := b.Data(&b.Frames[i]); len(got) != 1 || uint64(got[0])+1 != b.Frames[i].Number {
					t.Errorf("frame %d has the bytes %v", b.Frames[i].Number, got)
				}
			}
			b.Release()
		}
		want := []time.Duration{0, 0, time.Second, 5 * time.Second}
		if len(times) != len(want) {
			t.Fatalf("%d frames, want %d", len(times), len(want))
		}
		for i := range want {
			if times[i] != want[i] || numbers[i] != uint64(i+1) {
				t.Errorf("frame %d after %s, want frame %d after %s", numbers[i], times[i], i+1, want[i])
			}
		}
	})
}

// TestPaceEndsWithTheContext: nobody waits for a frame that is due tomorrow.
func TestPaceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		p := newPaced(&frames{at: []time.Duration{0, 24 * time.Hour}}, 1)
		if b, err := p.Next(ctx); err != nil || len(b.Frames) != 1 {
			t.Fatalf("first: %v", err)
		}
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := p.Next(ctx); !errors.Is(err, cause) {
			t.Errorf("got %v, want %v", err, cause)
		}
	})
}
