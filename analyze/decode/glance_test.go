package decode

import (
	"math/rand/v2"
	"testing"

	"netwhy/capture/packet"
)

// TestGlance: the short way says what the long way says, of frames that are nearly plain
// too.
func TestGlance(t *testing.T) {
	t.Parallel()
	base := [][]byte{
		eth(0x800, ip4("10.0.0.1", "10.0.0.2", 6, cat(unhex("9c400050 00000001 00000002 8018 0100 0000 0000 0101080a 00000007 00000008"), []byte("hello, world")))),
		eth(0x800, ip4("10.0.0.2", "10.0.0.1", 6, tcp(80, 40000, ""))),
		eth(0x800, ip4("10.0.0.2", "10.0.0.2", 6, tcp(80, 40000, "to itself"))),
		eth(0x800, ip4("10.0.0.1", "10.0.0.53", 17, udp(40000, 53, []byte("a question")))),
		eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(40000, 4789, inner()))),
		eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(40000, 53, nil))),
		eth(0x800, ip4("10.0.0.1", "224.0.0.251", 17, udp(5353, 5353, []byte("to all")))),
	}
	r := rand.New(rand.NewPCG(3, 4))
	taken := map[Kind]int{}
	for range 200_000 {
		b := append([]byte(nil), base[r.IntN(len(base))]...)
		for range r.IntN(3) {
			b[12+r.IntN(len(b)-12)] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 {
			b[12+r.IntN(30)] ^= 1 << r.IntN(8)
		}
		b = append(b, make([]byte, r.IntN(8))...)[:len(b)-r.IntN(40)*r.IntN(2)]
		hash, proto := Glance(b)
		if hash == 0 {
			continue
		}
		var short, p Packet
		scribble(&short)
		short.Glimpsed(b, hash)
		p.layers(packet.LinkEthernet, b, uint32(len(b)+r.IntN(40)*r.IntN(2)))
		taken[p.Kind]++
		if !same(&short, &p) || p.Proto != proto {
			t.Fatalf("%x: in one go %+v, layer by layer %+v", b, short.fields, p.fields)
		}
		if p.Kind == KindUDP && (p.IPVersion != 4 || p.Dst()[12] >= firstGroup) {
			t.Fatalf("%x goes to a group", b)
		}
	}
	if taken[KindTCP] < 10_000 || taken[KindUDP] < 10_000 {
		t.Errorf("so many were taken: %v", taken)
	}
}
