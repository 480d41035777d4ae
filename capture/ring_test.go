package capture

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"netwhy/capture/packet"
)

// TestRingKeepsTheLatest compares the ring with a list that keeps everything:
// what the ring has is always the end of it, whole, and as much as fits.
func TestRingKeepsTheLatest(t *testing.T) {
	t.Parallel()
	const size = 10_000
	rnd := rand.New(rand.NewPCG(1, 2))
	ring := NewRing(size)
	pool := packet.NewPool(1, 64<<10)
	var all [][]byte
	number := uint64(0)
	for range 300 {
		b, err := pool.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range rnd.IntN(6) {
			data := bytes.Repeat([]byte{byte(number)}, rnd.IntN(1500))
			if rnd.IntN(50) == 0 {
				data = make([]byte, size+1) // longer than the ring: left out
			} else {
				all = append(all, data)
			}
			number++
			b.Append(packet.Frame{Number: number, Time: int64(number)}, data)
		}
		ring.Add(b)
		b.Release()
		i, n := 0, 0
		_, _, count := ring.Span()
		ring.Each(func(_ *packet.Frame, data []byte) bool {
			if want := all[len(all)-count+i]; !bytes.Equal(data, want) {
				t.Fatalf("frame %d of %d differs: %d bytes, want %d", i, count, len(data), len(want))
			}
			i++
			n += len(data)
			return true
		})
		if i != count || n > size {
			t.Fatalf("%d frames of %d, %d bytes in a ring of %d", i, count, n, size)
		}
		if count < len(all) && count < len(ring.frames) && n < size-2*1500 {
			t.Fatalf("only %d bytes are kept in a ring of %d", n, size)
		}
	}
}

func TestClockJumps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		wall, mono time.Duration
		jumped     bool
	}{
		{"time goes by", 100 * time.Millisecond, 100 * time.Millisecond, false},
		{"the clock is slewed", 100 * time.Millisecond, 101 * time.Millisecond, false},
		{"set forward", time.Hour, 10 * time.Millisecond, true},
		{"set back", -time.Hour, 10 * time.Millisecond, true},
		{"the machine slept", 8 * time.Hour, 100 * time.Millisecond, true},
		{"the loop was stopped, as by a debugger", time.Minute, time.Minute, false},
	} {
		if got := apart(tt.wall, tt.mono); got != tt.jumped {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
