package capture

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"netwhy/capture/packet"
)

// TestRingKeepsTheLatestFrames compares the ring with a list of all frames: it
// holds the end of the list, whole and unchanged, and wastes less room than two of
// the longest frames.
func TestRingKeepsTheLatestFrames(t *testing.T) {
	t.Parallel()
	const size, longest = 4096, 300
	rnd := rand.New(rand.NewPCG(1, 2))
	ring := NewRing(size)
	var all [][]byte
	for n := range 3000 {
		data := make([]byte, rnd.IntN(longest))
		if rnd.IntN(8) == 0 {
			data = nil // a frame of which nothing was kept
		}
		for i := range data {
			data[i] = byte(n)
		}
		all = append(all, data)
		b := &packet.Batch{}
		b.Append(packet.Frame{Number: uint64(n), Time: int64(n)}, data)
		ring.Add(b)

		first, last, held := ring.Span()
		if held == 0 || last != int64(n) || first != int64(n-held+1) {
			t.Fatalf("after frame %d the ring has %d frames, %d to %d", n, held, first, last)
		}
		next, total := n-held+1, 0
		ring.Each(func(f *packet.Frame, got []byte) bool {
			if f.Number != uint64(next) || !bytes.Equal(got, all[next]) {
				t.Fatalf("after frame %d: place of frame %d has frame %d with %d bytes", n, next, f.Number, len(got))
			}
			next++
			total += len(got)
			return true
		})
		if next != n+1 {
			t.Fatalf("after frame %d: the ring gave frames up to %d", n, next-1)
		}
		if full := held == size/perFrame; held <= n && !full && total < size-2*longest {
			t.Fatalf("after frame %d: only %d of %d bytes are in use", n, total, size)
		}
	}
}

// TestRingLeavesOutWhatNeverFits: one giant frame does not cost all the others.
func TestRingLeavesOutWhatNeverFits(t *testing.T) {
	t.Parallel()
	ring := NewRing(1024)
	b := &packet.Batch{}
	b.Append(packet.Frame{Number: 1, Time: 1}, make([]byte, 100))
	ring.Add(b)
	giant := &packet.Batch{}
	giant.Append(packet.Frame{Number: 2, Time: 2}, make([]byte, 2000))
	ring.Add(giant)
	if first, last, held := ring.Span(); first != 1 || last != 1 || held != 1 {
		t.Errorf("the ring has %d frames, %d to %d", held, first, last)
	}
	seen := 0
	ring.Each(func(*packet.Frame, []byte) bool { seen++; return false })
	if seen != 1 {
		t.Errorf("Each went on for %d frames after it was told to stop", seen)
	}
	if _, _, held := NewRing(10).Span(); held != 0 {
		t.Errorf("a new ring has %d frames", held)
	}
}
