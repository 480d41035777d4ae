package decode

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"netwhy/capture/packet"
)

// split4 cuts an IPv4 payload into fragments of size bytes.
func split4(proto, id, size int, payload []byte) [][]byte {
	var out [][]byte
	for at := 0; at < len(payload); at += size {
		end := min(at+size, len(payload))
		frag := at / 8
		if end < len(payload) {
			frag |= 0x2000
		}
		out = append(out, ip4with("10.0.0.1", "10.0.0.2", proto, payload[at:end], ip4opt{total: -1, id: id, frag: frag, ttl: 64}))
	}
	return out
}

func split6(id, size int, payload []byte) [][]byte {
	var out [][]byte
	for at := 0; at < len(payload); at += size {
		end := min(at+size, len(payload))
		v := at
		if end < len(payload) {
			v |= 1
		}
		h := cat([]byte{6, 0}, be16(v), be32(id))
		out = append(out, ip6("2001:db8::1", "2001:db8::2", 0, cat([]byte{44, 0, 1, 4, 0, 0, 0, 0}, h, payload[at:end])))
	}
	return out
}

// feed gives packets to a Defragmenter and returns the last whole one.
func feed(f *Defragmenter, link packet.LinkType, frames ...[]byte) (p Packet, w Whole, whole int) {
	for i, b := range frames {
		var q Packet
		Decode(link, b, uint32(len(b)), &q)
		if q.Kind != KindFragment {
			continue
		}
		if got, ok := f.Add(uint64(i+1), int64(i), b, &q); ok {
			p, w = q, got
			whole++
		}
	}
	return p, w, whole
}

func TestDefragment(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 20)
	four := split4(6, 7, 24, tcp(1000, 80, text))
	six := split6(7, 24, tcp(1000, 80, text))
	orders := map[string]func([][]byte) [][]byte{
		"in order": func(f [][]byte) [][]byte { return f },
		"reversed": func(f [][]byte) [][]byte {
			var r [][]byte
			for i := range f {
				r = append(r, f[len(f)-1-i])
			}
			return r
		},
		"shuffled": func(f [][]byte) [][]byte {
			r := append([][]byte(nil), f...)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
			return r
		},
		"with repetitions": func(f [][]byte) [][]byte {
			var r [][]byte
			for _, b := range f[:len(f)-1] {
				r = append(r, b, b)
			}
			return append(r, f[len(f)-1])
		},
	}
	for name, order := range orders {
		for version, frames := range map[string][][]byte{"ipv4": four, "ipv6": six} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				var f Defragmenter
				p, w, n := feed(&f, packet.LinkRaw, order(frames)...)
				if n != 1 || p.Kind != KindTCP || p.Err != NoError {
					t.Fatalf("got %d whole, %v %q", n, p.Kind, p.Err)
				}
				if got := string(p.Data(w.Data)); got != text || int(p.PayloadLen) != len(text) {
					t.Errorf("got %d bytes %q", p.PayloadLen, got)
				}
				if p.SrcPort() != 1000 || p.Broadcast || p.NConvs != 1 || p.MF || p.FragOff != 0 || p.Fragments == 0 {
					t.Errorf("got %+v", p)
				}
				if w.Conflict || w.Overlap || w.FirstFrame != 1 {
					t.Errorf("got %+v", w)
				}
				if f.Pending() != 0 || f.bytes != 0 {
					t.Errorf("%d pending with %d bytes", f.Pending(), f.bytes)
				}
			})
		}
	}
}

// TestDefragmentEthernet: the layers outside stay, and so do the addresses.
func TestDefragmentEthernet(t *testing.T) {
	t.Parallel()
	var frames [][]byte
	for _, b := range split4(6, 7, 16, tcp(1000, 80, "hello")) {
		frames = append(frames, eth(0x8100, vlan(5, 0x800, b)))
	}
	var f Defragmenter
	p, w, n := feed(&f, packet.LinkEthernet, frames...)
	if n != 1 || stack(&p) != "eth vlan ip tcp" || p.VLAN != 5 || string(p.Data(w.Data)) != "hello" {
		t.Fatalf("got %d, %s, %+v", n, stack(&p), p)
	}
	if src, dst, ok := p.MACs(w.Data); !ok || src != MAC(macSrc) || dst != MAC(macDst) {
		t.Errorf("got %x %x", src, dst)
	}
}

// TestDefragmentTunnel: a fragmented tunnel packet holds a fragment again.
func TestDefragmentTunnel(t *testing.T) {
	t.Parallel()
	var frames [][]byte
	for i, b := range split4(6, 7, 80, tcp(1000, 80, strings.Repeat("x", 100))) {
		outer := cat(unhex("0000 0800"), b)
		frames = append(frames, split4(47, 100+i, 48, outer)...)
	}
	var f Defragmenter
	p, w, n := feed(&f, packet.LinkRaw, frames...)
	if p.Kind != KindTCP || p.Tunnel != TunnelGRE || len(p.Data(w.Data)) != 100 {
		t.Fatalf("got %d whole, %v %q, %d bytes", n, p.Kind, p.Err, len(p.Data(w.Data)))
	}
}

// TestDefragmentPolicy: which bytes count when fragments disagree, and what does
// not belong together.
func TestDefragmentPolicy(t *testing.T) {
	t.Parallel()
	seg := udp(1000, 9999, []byte("aaaaaaaaaaaaaaaabbbbbbbbcccccccc"))
	part := func(id, from, to int, more bool, fill byte) []byte {
		b := append([]byte(nil), seg[from:to]...)
		if fill != 0 {
			b = bytes.Repeat([]byte{fill}, to-from)
		}
		frag := from / 8
		if more {
			frag |= 0x2000
		}
		return ip4with("10.0.0.1", "10.0.0.2", 17, b, ip4opt{total: -1, id: id, frag: frag, ttl: 64})
	}
	tests := []struct {
		name              string
		frames            [][]byte
		whole             int
		data              string
		overlap, conflict bool
		malformed         uint64
	}{
		{"whole", [][]byte{part(1, 0, 24, true, 0), part(1, 24, 40, false, 0)}, 1, "aaaaaaaaaaaaaaaabbbbbbbbcccccccc", false, false, 0},
		{"first bytes stay", [][]byte{part(1, 0, 24, true, 0), part(1, 16, 32, true, 'z'), part(1, 32, 40, false, 0)}, 1, "aaaaaaaaaaaaaaaazzzzzzzzcccccccc", true, true, 0},
		{"covers several", [][]byte{part(1, 8, 16, true, 0), part(1, 24, 32, true, 0), part(1, 8, 40, false, 'z'), part(1, 0, 8, true, 0)}, 1, "aaaaaaaazzzzzzzzbbbbbbbbzzzzzzzz", true, true, 0},
		{"same bytes again", [][]byte{part(1, 0, 24, true, 0), part(1, 16, 40, false, 0)}, 1, "aaaaaaaaaaaaaaaabbbbbbbbcccccccc", true, false, 0},
		{"other identification", [][]byte{part(1, 0, 24, true, 0), part(2, 24, 40, false, 0)}, 0, "", false, false, 0},
		{"first is missing", [][]byte{part(1, 24, 40, false, 0)}, 0, "", false, false, 0},
		{"last is missing", [][]byte{part(1, 0, 24, true, 0)}, 0, "", false, false, 0},
		{"beyond 65535", [][]byte{ip4with("10.0.0.1", "10.0.0.2", 17, seg, ip4opt{total: -1, id: 1, frag: 0x1fff, ttl: 1})}, 0, "", false, false, 1},
		{"nothing in it", [][]byte{ip4with("10.0.0.1", "10.0.0.2", 17, nil, ip4opt{total: -1, id: 1, frag: 0x2000, ttl: 1})}, 0, "", false, false, 1},
		{"two ends", [][]byte{part(1, 0, 24, true, 0), part(1, 24, 32, false, 0)}, 1, "aaaaaaaaaaaaaaaabbbbbbbb", false, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f Defragmenter
			p, w, n := feed(&f, packet.LinkRaw, tt.frames...)
			if n != tt.whole || w.Overlap != tt.overlap || w.Conflict != tt.conflict || f.Stats.Malformed != tt.malformed {
				t.Fatalf("got %d whole %+v, %+v", n, w, f.Stats)
			}
			if n > 0 && string(p.Data(w.Data)) != tt.data {
				t.Errorf("got %q, want %q (%v %q)", p.Data(w.Data), tt.data, p.Kind, p.Err)
			}
		})
	}
	t.Run("two vlans", func(t *testing.T) {
		t.Parallel()
		var f Defragmenter
		a, b := part(1, 0, 24, true, 0), part(1, 24, 40, false, 0)
		if _, _, n := feed(&f, packet.LinkEthernet, eth(0x8100, vlan(5, 0x800, a)), eth(0x8100, vlan(6, 0x800, b))); n != 0 {
			t.Error("fragments of two VLANs were joined")
		}
	})
	t.Run("cut by the snaplen", func(t *testing.T) {
		t.Parallel()
		a := part(1, 0, 24, true, 0)
		var p Packet
		Decode(packet.LinkRaw, a[:40], uint32(len(a)), &p)
		if p.Kind != KindUDP || p.DstPort() != 9999 {
			t.Errorf("first fragment: got %v", p.Kind)
		}
		b := part(1, 24, 40, false, 0)
		Decode(packet.LinkRaw, b[:30], uint32(len(b)), &p)
		if p.Kind != KindIPOther || p.Err != Short || p.NConvs != 0 {
			t.Errorf("later fragment: got %v %q", p.Kind, p.Err)
		}
	})
}

// TestDefragmentLate: a fragment that comes late completes its datagram, as in
// Wireshark; where it disagrees its identification was most likely used again.
func TestDefragmentLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		after    time.Duration
		conflict bool
	}{{time.Second, true}, {time.Hour, false}} {
		var f Defragmenter
		var w Whole
		ok := false
		for i, b := range [][]byte{
			ip4with("10.0.0.1", "10.0.0.2", 17, udp(1000, 9999, make([]byte, 24)), ip4opt{total: -1, id: 1, frag: 0x2000, ttl: 64}),
			ip4with("10.0.0.1", "10.0.0.2", 17, bytes.Repeat([]byte{7}, 24), ip4opt{total: -1, id: 1, frag: 2, ttl: 64}),
		} {
			var p Packet
			Decode(packet.LinkRaw, b, uint32(len(b)), &p)
			w, ok = f.Add(uint64(i+1), int64(i)*int64(tt.after), b, &p)
		}
		if !ok || w.Conflict != tt.conflict || f.Stats.Conflicts > 0 != tt.conflict {
			t.Errorf("after %v: whole %v, %+v, %+v", tt.after, ok, w, f.Stats)
		}
	}
}

// TestDefragment6: in IPv6 neither VLAN nor protocol keep fragments apart, the
// last one says what is inside, and a first fragment that was cut is not read.
func TestDefragment6(t *testing.T) {
	t.Parallel()
	part := func(vid, next, at int, more byte, data []byte) []byte {
		h := cat([]byte{byte(next), 0}, be16(at|int(more)), be32(9))
		return eth(0x8100, vlan(vid, 0x86dd, ip6("2001:db8::1", "2001:db8::2", 44, cat(h, data))))
	}
	whole := udp(1000, 9999, make([]byte, 24))
	first, last := part(5, 58, 0, 1, whole[:16]), part(6, 17, 16, 0, whole[16:])
	var f Defragmenter
	if p, _, n := feed(&f, packet.LinkEthernet, first, last); n != 1 || p.Kind != KindUDP || p.DstPort() != 9999 {
		t.Errorf("%d whole, %v", n, p.Kind)
	}
	var p Packet
	Decode(packet.LinkEthernet, part(5, 17, 0, 1, whole)[:80], uint32(len(first)+16), &p)
	if p.Kind != KindIPOther || p.Err != Short || p.NConvs != 0 {
		t.Errorf("cut first fragment: %v %q", p.Kind, p.Err)
	}
}

// TestDefragmentBounds: bytes and datagrams hold under a flood.
func TestDefragmentBounds(t *testing.T) {
	t.Parallel()
	one := func(id, size int) []byte {
		return ip4with("10.0.0.1", "10.0.0.2", 17, make([]byte, size), ip4opt{total: -1, id: id, frag: 0x2000, ttl: 64})
	}
	f := Defragmenter{MaxBytes: 64 << 10, MaxDatagrams: 20}
	for i := range 1000 {
		feed(&f, packet.LinkRaw, one(i, 8192))
		if f.Pending() > 20 || f.bytes > 80<<10 {
			t.Fatalf("%d: %d pending, %d bytes", i, f.Pending(), f.bytes)
		}
	}
	if f.Stats.Evicted < 900 || f.Stats.Fragments != 1000 {
		t.Errorf("got %+v", f.Stats)
	}
	for i := range 3 * maxDatagram / 8 { // tiny fragments of one datagram, backwards and over again
		b := ip4with("10.0.0.1", "10.0.0.2", 17, make([]byte, 8), ip4opt{total: -1, id: 9, frag: 0x2000 | (8000 - i%8000), ttl: 64})
		feed(&f, packet.LinkRaw, b)
	}
	if f.bytes > 200<<10 {
		t.Errorf("%d bytes held", f.bytes)
	}
}

// TestDefragmentSteady: once warm, a stream of small fragmented datagrams
// allocates nothing.
func TestDefragmentSteady(t *testing.T) {
	frames := split4(17, 7, 1480, udp(1000, 9999, make([]byte, 3000)))
	var f Defragmenter
	if n := testing.AllocsPerRun(100, func() {
		var p Packet
		for i, b := range frames {
			Decode(packet.LinkRaw, b, uint32(len(b)), &p)
			f.Add(uint64(i), 0, b, &p)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
