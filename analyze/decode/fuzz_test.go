package decode

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"netwhy/capture/packet"
)

// check holds for every packet, whatever the bytes were.
func check(t *testing.T, data []byte, wire uint32, p *Packet) {
	t.Helper()
	end := uint32(len(data))
	if p.End > end || p.L4 > p.End || p.Payload > p.End {
		t.Fatalf("offsets %d %d %d of %d bytes: %+v", p.L4, p.Payload, p.End, end, p)
	}
	if p.L3 != None && p.L3 > p.L4 && p.Kind != KindLink && p.Kind != KindUndecoded {
		t.Fatalf("transport at %d before ip at %d: %+v", p.L4, p.L3, p)
	}
	if uint64(p.PayloadLen) > uint64(max(wire, end)) {
		t.Fatalf("payload of %d bytes in %d", p.PayloadLen, wire)
	}
	if got := uint32(len(p.Data(data))); got > p.PayloadLen && (p.Kind == KindTCP || p.Kind == KindUDP) {
		t.Fatalf("captured %d of %d bytes of payload: %+v", got, p.PayloadLen, p)
	}
	if p.NConvs > MaxConvs || p.Broadcast != (p.Kind == KindFragment) {
		t.Fatalf("got %+v", p)
	}
	switch p.Kind {
	case KindTCP, KindUDP, KindICMP, KindICMPv6, KindSCTP, KindIPOther, KindFragment:
		if p.IPVersion != 4 && p.IPVersion != 6 {
			t.Fatalf("%v without ip: %+v", p.Kind, p)
		}
	default:
	}
	var o TCPOptions
	ParseOptions(p.Options(data), &o)
	p.IPChecksum(data)
	p.TransportChecksum(data)
	p.MACs(data)
	p.Echo(data)
	ARPFields(data, p)
}

func FuzzDecode(f *testing.F) {
	seeds := []struct {
		link packet.LinkType
		data []byte
	}{
		{1, eth(0x8100, vlan(5, 0x800, inner()))},
		{1, eth(0x86dd, ip6("2001:db8::1", "2001:db8::2", 0, cat(unhex("2b00 0104 00000000 3c00 0000 00000000 0600 0104 00000000"), tcp(1, 2, "x"))))},
		{1, eth(0x8847, cat(unhex("00064040 00065140 00000000"), eth(0x800, inner())))},
		{1, eth(0x800, ip4("192.0.2.1", "192.0.2.2", 47, cat(unhex("f000 88be 00000000 00000001 00000000 00000000 00000000"), eth(0x800, inner()))))},
		{1, eth(0x800, ip4("192.0.2.1", "192.0.2.2", 17, udp(1, 2152, cat(unhex("36ff 0040 00000001 00000085 01100900"), inner()))))},
		{1, eth(0x800, ip4("192.0.2.1", "192.0.2.2", 17, udp(1, 6081, cat(unhex("0100 6558 00000900 01028001"), eth(0x800, inner())))))},
		{1, eth(0x800, ip4("192.0.2.1", "10.0.0.1", 1, icmp(3, 4, 1400, inner6())))},
		{127, cat(unhex("0000"), le16(17), le32(3), make([]byte, 8), unhex("30 8801 0000 020000000003 020000000001 020000000002 0000 8000 0000 aaaa03 000000 0800"), inner())},
		{239, cat(unhex("0200 0000"), le16(8), le16(10), make([]byte, 4), le16(4+len(inner())), le16(9), inner())},
		{192, cat(unhex("0000"), le16(28), le32(105), le16(2), le16(20), make([]byte, 16), unhex("0801"), make([]byte, 22))},
		{258, cat(le32(108), le32(1), le32(1), make([]byte, 96), eth(0x800, inner()))},
		{107, cat(unhex("1841 0300 80 000000 0800"), inner())},
	}
	for _, s := range seeds {
		f.Add(uint16(s.link), uint32(len(s.data)), s.data)
		f.Add(uint16(s.link), uint32(len(s.data)), s.data[:len(s.data)-30])
	}
	f.Fuzz(func(t *testing.T, link uint16, wire uint32, data []byte) {
		var p Packet
		var again Packet // what an earlier frame left must not matter
		scribble(&again)
		wire &= 0x3ffff
		Decode(packet.LinkType(link), data, wire, &p)
		Decode(packet.LinkType(link), data, wire, &again)
		if !same(&p, &again) {
			t.Fatalf("two results: %+v %+v", p, again)
		}
		check(t, data, wire, &p)
		if p.Quotes {
			p.Quote().Counted(data[:p.End], p.Kind)
		}
	})
}

// scribble puts a value into every field of a Packet.
func scribble(p *Packet) {
	fill(unsafe.Slice((*byte)(unsafe.Pointer(&p.fields)), unsafe.Sizeof(p.fields)))
	fill(unsafe.Slice((*byte)(unsafe.Pointer(p.more())), unsafe.Sizeof(*p.rare)))
}

func fill(b []byte) {
	for i := range b {
		b[i] = 1
	}
}

// same reports whether two Packets tell the same.
func same(p, q *Packet) bool {
	if p.fields != q.fields || p.Quotes && *p.Quote() != *q.Quote() {
		return false
	}
	for i := range int(p.NConvs) {
		if p.Conv(i) != q.Conv(i) {
			return false
		}
	}
	return true
}

// FuzzDefragment reads fragments from the input: 1 byte of identification, 2
// bytes as in the header, 1 byte of length. The Defragmenter is compared with a
// slow one.
func FuzzDefragment(f *testing.F) {
	f.Add([]byte("\x01\x20\x00\x10\x01\x00\x02\x08"))
	f.Add([]byte("\x01\x00\x02\x08\x01\x20\x01\x10\x01\x20\x00\x10"))
	f.Add([]byte("\x01\x20\x00\x18\x02\x20\x00\x18\x01\x00\x01\x30\x02\x00\x03\x07"))
	f.Fuzz(func(t *testing.T, script []byte) {
		var fast Defragmenter
		slow := map[byte]*slowDatagram{}
		for i := 0; len(script) >= 4 && i < 500; i++ {
			id, frag, n := script[0]&3, binary.BigEndian.Uint16(script[1:])&0x203f, int(script[3])
			script = script[4:]
			body := make([]byte, n)
			for k := range body {
				body[k] = byte(i + k)
			}
			b := ip4with("10.0.0.1", "10.0.0.2", 253, body, ip4opt{total: -1, id: int(id), frag: int(frag), ttl: 64})
			var p Packet
			Decode(packet.LinkRaw, b, uint32(len(b)), &p)
			check(t, b, uint32(len(b)), &p)
			if p.Kind != KindFragment {
				continue
			}
			w, ok := fast.Add(uint64(i), 0, b, &p)
			want := slowAdd(slow, id, int(frag&0x1fff)*8, frag&0x2000 != 0, body)
			if ok != (want != nil) || ok && string(w.Data[ipv4HeaderLen:]) != string(want) {
				t.Fatalf("fragment %d: got %v %x, want %x", i, ok, w.Data, want)
			}
			if ok {
				check(t, w.Data, uint32(len(w.Data)), &p)
			}
		}
	})
}

// slowDatagram is a datagram byte by byte.
type slowDatagram struct {
	bytes map[int]byte
	end   int
}

func slowAdd(all map[byte]*slowDatagram, id byte, off int, more bool, body []byte) []byte {
	if more {
		body = body[:len(body)/8*8]
	}
	if len(body) == 0 {
		return nil
	}
	d := all[id]
	if d == nil {
		d = &slowDatagram{bytes: map[int]byte{}, end: -1}
		all[id] = d
	}
	if !more && d.end < 0 {
		d.end = off + len(body)
	}
	for i, c := range body {
		if _, ok := d.bytes[off+i]; !ok {
			d.bytes[off+i] = c
		}
	}
	if d.end < 0 {
		return nil
	}
	out := make([]byte, d.end)
	for i := range out {
		c, ok := d.bytes[i]
		if !ok {
			return nil
		}
		out[i] = c
	}
	delete(all, id)
	return out
}
