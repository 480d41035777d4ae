package decode

import (
	"math/rand/v2"
	"testing"

	"netwhy/capture/packet"
)

// TestPlain: the short way says what the long way says, of frames that are nearly plain too.
func TestPlain(t *testing.T) {
	t.Parallel()
	base := eth(0x800, ip4("10.0.0.1", "10.0.0.2", 6, cat(unhex("9c400050 00000001 00000002 8018 0100 0000 0000 0101080a 00000007 00000008"), []byte("hello, world"))))
	r := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for range 100_000 {
		b := append([]byte(nil), base...)
		for range r.IntN(4) {
			b[12+r.IntN(len(b)-12)] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 {
			b[12+r.IntN(42)] ^= 1 << r.IntN(8)
		}
		b = append(b, make([]byte, r.IntN(8))...)[:len(b)-r.IntN(40)*r.IntN(2)]
		wire := uint32(len(b) + r.IntN(40)*r.IntN(2))
		var short, long Packet
		scribble(&short)
		if !short.plain(b) {
			continue
		}
		taken++
		long.layers(packet.LinkEthernet, b, wire)
		if !same(&short, &long) {
			t.Fatalf("%x of %d bytes: got %+v, want %+v", b, wire, short.fields, long.fields)
		}
	}
	if taken < 10_000 {
		t.Errorf("only %d frames were plain", taken)
	}
}
