package decode

import (
	"math/rand/v2"
	"testing"
)

// The sum of a packet is that of its words, however many are added at once.
func TestSum(t *testing.T) {
	t.Parallel()
	words := func(b []byte, s uint64) uint64 {
		for i := 0; i+1 < len(b); i += 2 {
			s += uint64(b[i])<<8 | uint64(b[i+1])
		}
		if len(b)%2 == 1 {
			s += uint64(b[len(b)-1]) << 8
		}
		return s
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		random, ones := make([]byte, n), make([]byte, n)
		for i := range random {
			random[i], ones[i] = byte(r.Uint32()), 0xff
		}
		for _, b := range [][]byte{random, ones, make([]byte, n)} {
			start := uint64(r.Uint32())
			got, want := folded(sum(b, start)), folded(words(b, start))
			if got%0xffff != want%0xffff {
				t.Fatalf("sum of %d bytes: %#x, want %#x", n, got, want)
			}
			if verdict(sum(b, start)) != verdict(words(b, start)) {
				t.Fatalf("verdict of %d bytes differs: sums %#x and %#x", n, got, want)
			}
		}
	}
}
