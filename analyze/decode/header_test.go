package decode

import (
	"testing"

	"netwhy/capture/packet"
)

// TestLengths are headers whose lengths disagree with the frame.
func TestLengths(t *testing.T) {
	t.Parallel()
	seg := tcp(1000, 80, "abcd")
	whole := eth(0x800, ip4("10.0.0.1", "10.0.0.2", 6, seg))
	total := func(n int) []byte {
		return eth(0x800, ip4with("10.0.0.1", "10.0.0.2", 6, seg, ip4opt{total: n, ttl: 64}))
	}
	plen := func(n int) []byte {
		b := ip6("2001:db8::1", "2001:db8::2", 6, seg)
		copy(b[4:], be16(n))
		return eth(0x86dd, b)
	}
	offset := func(words byte) []byte {
		s := tcp(1000, 80, "abcd")
		s[12] = words<<4 | s[12]&15
		return eth(0x800, ip4("10.0.0.1", "10.0.0.2", 6, s))
	}
	ulen := func(n int) []byte {
		u := udp(1000, 9999, []byte("abcd"))
		copy(u[4:], be16(n))
		return eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, u))
	}
	jumbo := cat(unhex("0600 c204"), be32(8+len(seg)), seg)
	jumboFrame := func(b []byte) []byte {
		f := ip6("2001:db8::1", "2001:db8::2", 0, b)
		copy(f[4:], be16(0))
		return eth(0x86dd, cat(f, make([]byte, 7)))
	}
	ack := tcp(1000, 80, "")
	tests := []struct {
		name    string
		frame   []byte
		wire    int // 0: as captured
		kind    Kind
		err     Reason
		payload int // on the wire
		data    string
		convs   uint8
	}{
		{"whole", whole, 0, KindTCP, NoError, 4, "abcd", 1},
		{"padding is no payload", cat(eth(0x800, ip4("10.0.0.1", "10.0.0.2", 6, ack)), make([]byte, 6)), 0, KindTCP, NoError, 0, "", 1},
		{"padding behind payload", cat(whole, unhex("ffffffff")), 0, KindTCP, NoError, 4, "abcd", 1},
		{"total length 0: offload", total(0), 0, KindTCP, NoError, 4, "abcd", 1},
		{"total length below the header", total(19), 0, KindUndecoded, BadLength, 0, "", 0},
		{"total length without transport", total(20), 0, KindIPOther, Truncated, 0, "", 0},
		{"total length inside the tcp header", total(39), 0, KindTCP, Truncated, 0, "", 1},
		{"total length short of the window", total(35), 0, KindIPOther, Truncated, 0, "", 0},
		{"total length beyond the frame", total(1500), 0, KindTCP, Truncated, 4, "abcd", 1},
		{"ipv6 length beyond the frame", plen(1500), 0, KindTCP, Truncated, 4, "abcd", 1},
		{"ipv6 length 0: offload, unseen by Wireshark", plen(0), 0, KindTCP, NoError, 4, "abcd", 0},
		{"ipv6 jumbogram", jumboFrame(jumbo), 0, KindTCP, NoError, 4, "abcd", 1},
		{"snaplen cuts the payload", whole[:len(whole)-2], len(whole), KindTCP, NoError, 4, "ab", 1},
		{"snaplen cuts behind the header", whole[:54], len(whole), KindTCP, NoError, 4, "", 1},
		{"snaplen cuts behind the window", whole[:50], len(whole), KindTCP, Short, 4, "", 1},
		{"snaplen cuts before the window", whole[:49], len(whole), KindIPOther, Short, 0, "", 0},
		{"snaplen cuts behind ip", whole[:34], len(whole), KindIPOther, Short, 0, "", 0},
		{"snaplen cuts ip", whole[:33], len(whole), KindUndecoded, Short, 0, "", 0},
		{"snaplen cuts ethernet", whole[:13], len(whole), KindUndecoded, Short, 0, "", 0},
		{"empty", nil, 0, KindUndecoded, Truncated, 0, "", 0},
		{"tcp header length 4 words", offset(4), 0, KindTCP, BadLength, 8, "abcd", 1}, // as Wireshark counts
		{"tcp header longer than the segment", offset(15), 0, KindTCP, Truncated, 0, "", 1},
		{"tcp header takes all", offset(6), 0, KindTCP, NoError, 0, "", 1},
		{"udp length cuts", ulen(10), 0, KindUDP, NoError, 2, "ab", 1},
		{"udp length below the header", ulen(7), 0, KindIPOther, BadLength, 0, "", 0},
		{"udp length beyond the packet", ulen(100), 0, KindUDP, Truncated, 4, "abcd", 1},
		{"udp length of a header", ulen(8), 0, KindUDP, NoError, 0, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wire := tt.wire
			if wire == 0 {
				wire = len(tt.frame)
			}
			var p Packet
			Decode(packet.LinkEthernet, tt.frame, uint32(wire), &p)
			if p.Kind != tt.kind || p.Err != tt.err {
				t.Errorf("got %v %q, want %v %q", p.Kind, p.Err, tt.kind, tt.err)
			}
			if p.Kind == KindTCP || p.Kind == KindUDP {
				if int(p.PayloadLen) != tt.payload || string(p.Data(tt.frame)) != tt.data {
					t.Errorf("got %d bytes %q, want %d %q", p.PayloadLen, p.Data(tt.frame), tt.payload, tt.data)
				}
			}
			if p.NConvs != tt.convs {
				t.Errorf("got %d conversations, want %d", p.NConvs, tt.convs)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	seg := tcp(1000, 80, "abcd")
	seg[13] = 0x12
	h := ip4with("10.0.0.9", "10.0.0.2", 6, seg, ip4opt{total: -1, id: 0x1234, frag: 0x4000, ttl: 57})
	h[1] = 0xbb // DSCP 46, CE
	b := eth(0x88a8, vlan(0x6007, 0x8100, vlan(5, 0x800, h)))
	var p Packet
	Decode(packet.LinkEthernet, b, uint32(len(b)), &p)
	if p.SrcIsA || p.Src() != [16]byte(unhex("00000000 00000000 0000ffff 0a000009")) || p.Dst()[15] != 2 {
		t.Errorf("addresses: %v %v", p.Src(), p.Dst())
	}
	if p.SrcPort() != 1000 || p.DstPort() != 80 || p.Key.PortA != 80 || p.Key.PortB != 1000 {
		t.Errorf("ports: %d %d, key %d %d", p.SrcPort(), p.DstPort(), p.Key.PortA, p.Key.PortB)
	}
	if p.TTL != 57 || p.IPID != 0x1234 || !p.DF || p.MF || p.DSCP() != 46 || p.ECN() != 3 || p.IPVersion != 4 || p.Proto != 6 {
		t.Errorf("ip: %+v", p)
	}
	if p.Seq != 0x01020304 || p.Ack != 0x0a0b0c0d || p.Flags != 0x12 || p.Window != 0x2000 || p.HdrLen != 20 {
		t.Errorf("tcp: %x %x %x %x %d", p.Seq, p.Ack, p.Flags, p.Window, p.HdrLen)
	}
	if p.VLANs != 2 || p.VLAN != 5 || p.OuterVLAN != 7 || p.EtherType != 0x800 {
		t.Errorf("vlan: %d tags, %d in %d, type %#x", p.VLANs, p.VLAN, p.OuterVLAN, p.EtherType)
	}
	if p.L2 != 0 || p.L3 != 22 || p.L4 != 42 || p.Payload != 62 || p.End != 66 {
		t.Errorf("offsets: %d %d %d %d %d", p.L2, p.L3, p.L4, p.Payload, p.End)
	}
	src, dst, ok := p.MACs(b)
	if !ok || src != MAC(macSrc) || dst != MAC(macDst) {
		t.Errorf("mac: %x %x %v", src, dst, ok)
	}
	var back Packet
	r := eth(0x800, ip4("10.0.0.2", "10.0.0.9", 6, tcp(80, 1000, "")))
	Decode(packet.LinkEthernet, r, uint32(len(r)), &back)
	if back.Key != p.Key || back.Hash != p.Hash || back.SrcIsA == p.SrcIsA {
		t.Error("the answer is another conversation")
	}
}

// TestSelf is a host that talks to itself: the ports alone order the ends.
func TestSelf(t *testing.T) {
	t.Parallel()
	for _, ports := range [][2]int{{1000, 80}, {80, 1000}, {80, 80}} {
		b := ip4("127.0.0.1", "127.0.0.1", 6, tcp(ports[0], ports[1], ""))
		var p Packet
		Decode(packet.LinkRaw, b, uint32(len(b)), &p)
		if p.Key.PortA > p.Key.PortB || p.SrcIsA != (ports[0] <= ports[1]) {
			t.Errorf("%v: got %d %d, source is A: %v", ports, p.Key.PortA, p.Key.PortB, p.SrcIsA)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	lost := ip4with("10.0.0.1", "10.0.0.2", 6, tcp(1000, 80, "abcd"), ip4opt{total: 1500, id: 7, ttl: 3})
	lost6 := ip6("2001:db8::1", "2001:db8::2", 17, udp(1000, 53, []byte("q")))
	lostExt := ip6("2001:db8::1", "2001:db8::2", 0, cat(unhex("1100 010400000000"), udp(1000, 53, nil)))
	lostFrag := ip4with("10.0.0.1", "10.0.0.2", 17, []byte("middle of it"), ip4opt{total: -1, frag: 100, ttl: 3})
	from4 := func(typ, code, rest int, q []byte) []byte {
		return eth(0x800, ip4("192.0.2.1", "10.0.0.1", 1, icmp(typ, code, rest, q)))
	}
	from6 := func(typ, code, rest int, q []byte) []byte {
		return eth(0x86dd, ip6("2001:db8:ff::1", "2001:db8::1", 58, icmp(typ, code, rest, q)))
	}
	tests := []struct {
		name           string
		frame          []byte
		kind           Kind
		valid, ports   bool
		seq            bool
		convs          uint8
		mtu            uint32
		proto          uint8
		src, dst       string
		typ, code, ttl uint8
	}{
		{"frag needed", from4(3, 4, 1400, lost[:28]), KindICMP, true, true, true, 0, 1400, 6, "10.0.0.1:1000", "10.0.0.2:80", 3, 4, 3},
		{"whole quote", from4(11, 0, 0, lost), KindICMP, true, true, true, 1, 0, 6, "10.0.0.1:1000", "10.0.0.2:80", 11, 0, 3},
		{"addresses only", from4(3, 1, 0, lost[:20]), KindICMP, true, false, false, 0, 0, 6, "10.0.0.1:0", "10.0.0.2:0", 3, 1, 3},
		{"cut header", from4(3, 1, 0, lost[:19]), KindICMP, false, false, false, 0, 0, 0, "", "", 3, 1, 0},
		{"later fragment", from4(11, 1, 0, lostFrag), KindICMP, true, false, false, 0, 0, 17, "10.0.0.1:0", "10.0.0.2:0", 11, 1, 3},
		{"echo quotes nothing", from4(8, 0, 0, lost), KindICMP, false, false, false, 0, 0, 0, "", "", 8, 0, 0},
		{"port unreachable v6", from6(1, 4, 0, lost6), KindICMPv6, true, true, false, 1, 0, 17, "[2001:db8::1]:1000", "[2001:db8::2]:53", 1, 4, 64},
		{"too big v6", from6(2, 0, 1280, lostExt), KindICMPv6, true, true, false, 1, 1280, 17, "[2001:db8::1]:1000", "[2001:db8::2]:53", 2, 0, 64},
		{"neighbour solicitation", from6(135, 0, 0, addr("2001:db8::1")), KindICMPv6, false, false, false, 0, 0, 0, "", "", 135, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Packet
			Decode(packet.LinkEthernet, tt.frame, uint32(len(tt.frame)), &p)
			if p.Kind != tt.kind || p.ICMPType != tt.typ || p.ICMPCode != tt.code || p.Quotes != tt.valid {
				t.Fatalf("got %v %d/%d, quote %v", p.Kind, p.ICMPType, p.ICMPCode, p.Quotes)
			}
			q := &Quote{}
			if p.Quotes {
				q = p.Quote()
			}
			if q.HasPorts != tt.ports || q.HasSeq != tt.seq || q.MTU != tt.mtu || q.Proto != tt.proto || q.TTL != tt.ttl || p.NConvs != tt.convs {
				t.Errorf("got %+v, %d conversations", q, p.NConvs)
			}
			if !tt.valid {
				return
			}
			k, isA := key(t, tt.proto, tt.src, tt.dst)
			if q.Key != k || q.SrcIsA != isA {
				t.Errorf("got key %v, want %v", q.Key, k)
			}
			if p.Hash != k.Hash32() {
				t.Error("the error does not go where its connection is")
			}
			if p.NConvs == 1 && !p.Conv(0).Quoted {
				t.Error("the quoted conversation is not marked")
			}
		})
	}
}

func TestTCPOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hex  string
		want TCPOptions
	}{
		{"none", "", TCPOptions{}},
		{"syn", "020405b4 0402 080a 00000001 00000000 01 030307", TCPOptions{HasMSS: true, MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 1, HasWindowScale: true, WindowScale: 7}},
		{"timestamps", "0101 080a 00000005 00000006", TCPOptions{HasTimestamps: true, TSVal: 5, TSEcr: 6}},
		{"sack", "0101 0512 00000001 00000002 00000005 00000006", TCPOptions{NSACK: 2, SACK: [4]SACKBlock{{1, 2}, {5, 6}}}},
		{"end of list", "00 020405b4", TCPOptions{}},
		{"length 0", "0204 05b4 1e00 0402", TCPOptions{HasMSS: true, MSS: 1460, Malformed: true}},
		{"length 1", "1e01 020405b4", TCPOptions{Malformed: true}},
		{"past the end", "0204 05", TCPOptions{Malformed: true}},
		{"kind only", "01 02", TCPOptions{Malformed: true}},
		{"wrong length", "0203 05 030400 00", TCPOptions{}},
		{"unknown", "fd04 0000 1e03 00 2202", TCPOptions{MPTCP: true, FastOpen: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var o TCPOptions
			ParseOptions(unhex(tt.hex), &o)
			if o != tt.want {
				t.Errorf("got %+v, want %+v", o, tt.want)
			}
		})
	}
}

func TestChecksums(t *testing.T) {
	t.Parallel()
	fill := func(b []byte, at int, pseudo uint64) {
		v := ^folded(sum(b, pseudo))
		copy(b[at:], be16(int(v)))
	}
	pseudo := func(src, dst string, proto, n int) uint64 {
		return sum(cat(addr(src), addr(dst)), uint64(proto+n))
	}
	seg := tcp(1000, 80, "abcde")
	fill(seg, 16, pseudo("10.0.0.1", "10.0.0.2", 6, len(seg)))
	good := ip4("10.0.0.1", "10.0.0.2", 6, seg)
	dg := udp(1000, 53, []byte("abc"))
	fill(dg, 6, pseudo("2001:db8::1", "2001:db8::2", 17, len(dg)))
	ping := icmp(128, 0, 7, []byte("ping"))
	fill(ping, 2, pseudo("2001:db8::1", "2001:db8::2", 58, len(ping)))
	ping4 := icmp(8, 0, 7, []byte("ping"))
	fill(ping4, 2, 0)
	flip := func(b []byte, at int) []byte { b = cat(b); b[at] ^= 0x40; return b }
	tests := []struct {
		name      string
		packet    []byte
		cut       int
		ip, trans Verdict
	}{
		{"tcp", good, 0, Good, Good},
		{"tcp, payload changed", flip(good, 41), 0, Good, Bad},
		{"tcp, address changed", flip(good, 13), 0, Bad, Bad},
		{"tcp, cut by the snaplen", good, 2, Good, NotVerifiable},
		{"tcp, padded", cat(good, []byte{1, 2, 3}), 0, Good, Good},
		{"udp without", ip4("10.0.0.1", "10.0.0.2", 17, udp(1, 2, nil)), 0, Good, NotVerifiable},
		{"udp v6", ip6("2001:db8::1", "2001:db8::2", 17, dg), 0, NotVerifiable, Good},
		{"icmpv6", ip6("2001:db8::1", "2001:db8::2", 58, ping), 0, NotVerifiable, Good},
		{"icmpv6, changed", flip(ip6("2001:db8::1", "2001:db8::2", 58, ping), 44), 0, NotVerifiable, Bad},
		{"icmp", ip4("10.0.0.1", "10.0.0.2", 1, ping4), 0, Good, Good},
		{"igmp", ip4("10.0.0.1", "10.0.0.2", 2, ping4), 0, Good, NotVerifiable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Packet
			b := tt.packet[:len(tt.packet)-tt.cut]
			Decode(packet.LinkRaw, b, uint32(len(tt.packet)), &p)
			if got := p.IPChecksum(b); got != tt.ip {
				t.Errorf("ip: got %v, want %v", got, tt.ip)
			}
			if got := p.TransportChecksum(b); got != tt.trans {
				t.Errorf("transport: got %v, want %v", got, tt.trans)
			}
		})
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	arp := unhex("0001 0800 06 04 0002 02000000000a 0a000001 02000000000b 0a000002")
	b := eth(0x806, cat(arp, make([]byte, 18)))
	var p Packet
	Decode(packet.LinkEthernet, b, uint32(len(b)), &p)
	m, ok := ARPFields(b, &p)
	want := ARPMessage{Op: 2, SenderMAC: MAC(unhex("02000000000a")), TargetMAC: MAC(unhex("02000000000b")), SenderIP: [4]byte{10, 0, 0, 1}, TargetIP: [4]byte{10, 0, 0, 2}}
	if !ok || m != want {
		t.Errorf("arp: got %+v %v", m, ok)
	}
	if p.End != 14+28 {
		t.Errorf("arp: padding belongs to it: end %d", p.End)
	}
	b = ip4("10.0.0.1", "10.0.0.2", 1, icmp(8, 0, 0x00070002, nil))
	Decode(packet.LinkRaw, b, uint32(len(b)), &p)
	if id, seq, ok := p.Echo(b); !ok || id != 7 || seq != 2 {
		t.Errorf("echo: got %d %d %v", id, seq, ok)
	}
	if _, _, ok := p.MACs(b); ok {
		t.Error("raw IP has addresses of the link")
	}
	if _, ok := ARPFields(b, &p); ok {
		t.Error("ICMP is taken for ARP")
	}
	for _, ds := range []struct {
		flags    byte
		src, dst byte
	}{{0, 2, 1}, {1, 2, 3}, {2, 3, 1}, {3, 4, 3}} {
		f := cat([]byte{8, ds.flags, 0, 0}, unhex("020000000001 020000000002 020000000003 0000"))
		if ds.flags == 3 {
			f = append(f, unhex("020000000004")...)
		}
		f = append(f, unhex("aaaa03 000000 0800")...)
		Decode(packet.LinkIEEE80211, f, uint32(len(f)), &p)
		if src, dst, ok := p.MACs(f); !ok || src[5] != ds.src || dst[5] != ds.dst {
			t.Errorf("802.11, DS bits %d: got %x %x %v", ds.flags, src, dst, ok)
		}
	}
}

// TestAllocations: the hot path never allocates, on any link type or input.
func TestAllocations(t *testing.T) {
	b := eth(0x8100, vlan(5, 0x800, ip4("192.0.2.1", "192.0.2.2", 17, udp(1, 4789, cat(unhex("0800000000000900"), eth(0x86dd, inner6()))))))
	arp := eth(0x806, unhex("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"))
	lost := eth(0x800, ip4("192.0.2.1", "10.0.0.1", 1, icmp(3, 4, 1400, inner())))
	var p Packet
	var o TCPOptions
	n := testing.AllocsPerRun(100, func() {
		for _, f := range [][]byte{b, arp, lost} {
			for link := range packet.LinkType(300) {
				Decode(link, f, uint32(len(f)), &p)
				ParseOptions(p.Options(f), &o)
				p.TransportChecksum(f)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bb := range []struct {
		name  string
		frame []byte
	}{
		{"ipv4-tcp", eth(0x800, inner())},
		{"ipv6-tcp", eth(0x86dd, inner6())},
		{"vlan-ipv4-udp", eth(0x8100, vlan(5, 0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(1000, 53, make([]byte, 40)))))},
		{"vxlan-ipv4-tcp", eth(0x800, ip4("192.0.2.1", "192.0.2.2", 17, udp(1, 4789, cat(unhex("0800000000000900"), eth(0x800, inner())))))},
		{"icmp-error", eth(0x800, ip4("192.0.2.1", "10.0.0.1", 1, icmp(3, 4, 1400, inner())))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var p Packet
			b.ReportAllocs()
			for b.Loop() {
				Decode(packet.LinkEthernet, bb.frame, uint32(len(bb.frame)), &p)
			}
		})
	}
}

// TestReset: nothing of an earlier frame shines through, whatever it was.
func TestReset(t *testing.T) {
	t.Parallel()
	for link := range packet.LinkType(300) {
		for _, b := range [][]byte{nil, {0x45}, eth(0x88cc, []byte{0}), eth(0x800, inner())} {
			var clean Packet
			var used Packet
			scribble(&used)
			Decode(link, b, uint32(len(b)), &clean)
			Decode(link, b, uint32(len(b)), &used)
			if !same(&used, &clean) {
				t.Fatalf("link type %d, %d bytes: got %+v, want %+v", link, len(b), used, clean)
			}
		}
	}
}
