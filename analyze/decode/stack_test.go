package decode

import (
	"testing"

	"netwhy/capture/packet"
)

// TestInnermost looks for one TCP segment under every wrapping.
func TestInnermost(t *testing.T) {
	t.Parallel()
	in4, in6 := inner(), inner6()
	snap := unhex("aaaa03 000000 0800")
	wlanHead := unhex("0801 0000 020000000003 020000000001 020000000002 0000")
	outer := func(proto int, b []byte) []byte { return eth(0x800, ip4("192.0.2.1", "192.0.2.2", proto, b)) }
	outer6 := func(proto int, b []byte) []byte { return eth(0x86dd, ip6("2001:db8:1::1", "2001:db8:1::2", proto, b)) }
	inUDP := func(port int, b []byte) []byte { return outer(17, udp(50000, port, b)) }
	vx := func(vni int, b []byte) []byte { return cat(unhex("08000000"), be32(vni<<8), b) }
	ppp := func(b []byte) []byte { return cat(be16(0x0021), b) }
	tests := []struct {
		name   string
		link   packet.LinkType
		frame  []byte
		tunnel TunnelKind
		convs  int
		stack  string
		v6     bool
	}{
		{"ethernet", 1, eth(0x800, in4), NoTunnel, 1, "eth ip tcp", false},
		{"ethernet ipv6", 1, eth(0x86dd, in6), NoTunnel, 1, "eth ipv6 tcp", true},
		{"ipv6 under the type of ipv4", 1, eth(0x800, in6), NoTunnel, 1, "eth ip ipv6 tcp", true},
		{"vlan", 1, eth(0x8100, vlan(5, 0x800, in4)), NoTunnel, 1, "eth vlan ip tcp", false},
		{"qinq", 1, eth(0x88a8, vlan(7, 0x8100, vlan(5, 0x86dd, in6))), NoTunnel, 1, "eth vlan ipv6 tcp ieee8021ad", true},
		{"802.3 snap", 1, eth(8+len(in4), cat(snap, in4)), NoTunnel, 1, "eth ip tcp llc", false},
		{"vlan snap", 1, eth(0x8100, vlan(5, 8+len(in4), cat(snap, in4))), NoTunnel, 1, "eth vlan ip tcp llc", false},
		{"isl", 1, cat(unhex("01000c0000 00"), macSrc, be16(0), snap[:3], unhex("00000c 000a 0000 0000"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp", false},
		{"mpls", 1, eth(0x8847, cat(unhex("00064040 00065140"), in4)), TunnelMPLS, 1, "eth ip tcp mpls", false},
		{"mpls ipv6 explicit null", 1, eth(0x8847, cat(unhex("00002140"), in6)), TunnelMPLS, 1, "eth ipv6 tcp mpls", true},
		{"mpls pseudowire, control word", 1, eth(0x8847, cat(unhex("00064140 00000000"), eth(0x800, in4))), TunnelMPLS, 1, "eth ip tcp mpls pwethcw", false},
		{"r-tag", 1, eth(0xf1c1, cat(unhex("00000001"), be16(0x800), in4)), NoTunnel, 1, "eth ip tcp", false},
		{"jumbo llc", 1, eth(0x8870, cat(snap, in4)), NoTunnel, 1, "eth ip tcp llc", false},
		{"batman", 1, eth(0x4305, cat(unhex("400f3200"), macDst, eth(0x800, in4))), NoTunnel, 1, "eth ip tcp", false},
		{"batman, broadcast", 1, eth(0x4305, cat(unhex("010f3200 00000001"), macSrc, eth(0x800, in4))), NoTunnel, 1, "eth ip tcp", false},
		{"batman 14", 1, eth(0x4305, cat(unhex("030e3200"), macDst, eth(0x800, in4))), NoTunnel, 1, "eth ip tcp", false},
		{"ethernet in ip", 1, outer(143, eth(0x800, in4)), NoTunnel, 1, "eth ip tcp", false},
		{"gre, frame relay", 1, outer(47, cat(unhex("0000 6559 1841 03cc"), in4)), TunnelGRE, 1, "eth ip tcp gre fr", false},
		{"sll ethernet", 113, cat(unhex("0000 0001 0006 020000000001 0000 0003"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp sll", false},
		{"sll ppp", 113, cat(unhex("0000 0001 0006 020000000001 0000 0007 ff03"), ppp(in4)), NoTunnel, 1, "ip tcp sll ppp", false},
		{"enc", 109, cat(le32(2), make([]byte, 8), in4), NoTunnel, 1, "ip tcp", false},
		{"token ring", 6, cat(unhex("1040"), macDst, macSrc, snap, in4), NoTunnel, 1, "ip tcp llc tr", false},
		{"token ring, routed", 6, cat(unhex("1040"), macDst, unhex("820000000001 0830 0012 0023 0030"), snap, in4), NoTunnel, 1, "ip tcp llc tr", false},
		{"mpls pseudowire, no control word", 1, eth(0x8847, cat(unhex("00064140"), eth(0x8100, vlan(3, 0x800, in4)))), TunnelMPLS, 1, "eth vlan ip tcp mpls pwethcw", false},
		{"pppoe", 1, eth(0x8864, cat(unhex("1100 0042"), be16(2+len(in4)), ppp(in4))), TunnelPPPoE, 1, "eth ip tcp pppoes ppp", false},
		{"pbb", 1, eth(0x88e7, cat(unhex("00001234"), eth(0x800, in4))), TunnelPBB, 1, "eth ip tcp ieee8021ah", false},
		{"macsec, integrity only", 1, eth(0x88e5, cat(unhex("00 00 00000001"), be16(0x800), in4, make([]byte, 16))), NoTunnel, 1, "eth ip tcp macsec", false},
		{"e-tag", 1, eth(0x893f, cat(unhex("1000 00d3 0000"), be16(0x800), in4)), NoTunnel, 1, "eth ip tcp etag", false},
		{"vn-tag", 1, eth(0x8926, cat(unhex("00010002"), be16(0x800), in4)), NoTunnel, 1, "eth ip tcp vntag", false},
		{"hsr", 1, eth(0x892f, cat(unhex("00010002"), be16(0x800), in4)), NoTunnel, 1, "eth ip tcp hsr", false},
		{"cisco metadata", 1, eth(0x8909, cat(unhex("0101 0001 0009"), be16(0x800), in4)), NoTunnel, 1, "eth ip tcp cmd", false},
		{"fabricpath", 1, eth(0x8903, cat(unhex("0060"), eth(0x800, in4))), NoTunnel, 1, "eth ip tcp cfp", false},
		{"trill", 1, eth(0x22f3, cat(unhex("0020 0001 0002"), eth(0x800, in4))), NoTunnel, 1, "eth ip tcp", false},
		{"nsh", 1, eth(0x894f, cat(unhex("0fc2 0201 00000100"), in4)), TunnelNSH, 1, "eth ip tcp nsh", false},

		{"ipip", 1, outer(4, in4), TunnelIPIP, 1, "eth ip tcp", false},
		{"6in4", 1, outer(41, in6), Tunnel6in4, 1, "eth ip ipv6 tcp", true},
		{"4in6", 1, outer6(4, in4), Tunnel4in6, 1, "eth ip ipv6 tcp", false},
		{"6in6", 1, outer6(41, in6), Tunnel6in6, 1, "eth ipv6 tcp", true},
		{"gre", 1, outer(47, cat(unhex("0000 0800"), in4)), TunnelGRE, 1, "eth ip tcp gre", false},
		{"gre, checksum, key, sequence", 1, outer(47, cat(unhex("b000 86dd 00000000 00000007 00000001"), in6)), TunnelGRE, 1, "eth ip ipv6 tcp gre", true},
		{"gre, routing", 1, outer(47, cat(unhex("4000 0800 00000000 0800 0004 c0000201 0000 0000"), in4)), TunnelGRE, 1, "eth ip tcp gre", false},
		{"gre, bridged", 1, outer(47, cat(unhex("2000 6558 00001400"), eth(0x800, in4))), TunnelGRE, 1, "eth ip tcp gre", false},
		{"gre, mpls", 1, outer(47, cat(unhex("0000 8847 00064140"), in4)), TunnelGRE, 1, "eth ip tcp gre mpls", false},
		{"pptp", 1, outer(47, cat(unhex("3001 880b"), be16(4+len(in4)), unhex("0001 00000001 ff03"), ppp(in4))), TunnelPPTP, 1, "eth ip tcp gre ppp", false},
		{"wccp", 1, outer(47, cat(unhex("0000 883e 00000000"), in4)), TunnelGRE, 1, "eth ip tcp gre", false},
		{"erspan I", 1, outer(47, cat(unhex("0000 88be"), eth(0x800, in4))), TunnelERSPAN, 1, "eth ip tcp gre erspan", false},
		{"erspan II", 1, outer(47, cat(unhex("1000 88be 00000001 1000 0001 00000000"), eth(0x800, in4))), TunnelERSPAN, 1, "eth ip tcp gre erspan", false},
		{"erspan III", 1, outer(47, cat(unhex("1000 22eb 00000001 2000 0001 00000000 0000 0000"), eth(0x800, in4))), TunnelERSPAN, 1, "eth ip tcp gre erspan", false},
		{"erspan III, subheader", 1, outer(47, cat(unhex("1000 22eb 00000001 2000 0001 00000000 0000 0001 0000000000000000"), eth(0x800, in4))), TunnelERSPAN, 1, "eth ip tcp gre erspan", false},
		{"etherip", 1, outer(97, cat(unhex("3000"), eth(0x800, in4))), TunnelEtherIP, 1, "eth ip tcp etherip", false},
		{"mpls in ip", 1, outer(137, cat(unhex("00064140"), in4)), TunnelMPLS, 1, "eth ip tcp mpls", false},
		{"ah", 1, outer(51, cat(unhex("06 04 0000 00000001 00000001 000000000000000000000000"), tcp(40000, 80, "hello"))), TunnelAH, 1, "", false},
		{"ah, tunnel mode", 1, outer(51, cat(unhex("04 04 0000 00000001 00000001 000000000000000000000000"), in4)), TunnelAH, 1, "eth ip tcp ah", false},
		{"l2tpv3", 1, outer(115, cat(unhex("00000009 00000000"), eth(0x800, in4))), TunnelL2TP, 1, "eth ip tcp l2tp", false},
		{"pim register", 1, outer(103, cat(unhex("2100 0000 00000000"), in4)), TunnelPIM, 1, "eth ip tcp pim", false},
		{"ipv6 extension headers", 1, eth(0x86dd, ip6("2001:db8::1", "2001:db8::2", 0, cat(unhex("3c00 0104 00000000 0600 0104 00000000"), tcp(40000, 80, "hello")))), NoTunnel, 1, "eth ipv6 tcp ipv6.hopopts ipv6.dstopts", true},
		{"ipv6 atomic fragment", 1, eth(0x86dd, ip6("2001:db8::1", "2001:db8::2", 44, cat(unhex("0600 0000 00000001"), tcp(40000, 80, "hello")))), NoTunnel, 1, "eth ipv6 tcp ipv6.fraghdr", true},

		{"vxlan", 1, inUDP(4789, vx(9, eth(0x800, in4))), TunnelVXLAN, 2, "eth ip tcp udp vxlan", false},
		{"vxlan-gpe", 1, inUDP(4790, cat(unhex("0c000001 00000900"), in4)), TunnelVXLAN, 2, "eth ip tcp udp vxlan", false},
		{"geneve", 1, inUDP(6081, cat(unhex("0100 6558 00000900 01028001"), unhex(""), eth(0x800, in4))), TunnelGeneve, 2, "eth ip tcp udp geneve", false},
		{"geneve, ip", 1, inUDP(6081, cat(unhex("0000 0800 00000900"), in4)), TunnelGeneve, 2, "eth ip tcp udp geneve", false},
		{"gtp", 1, inUDP(2152, cat(unhex("30ff"), be16(len(in4)), be32(77), in4)), TunnelGTP, 2, "eth ip tcp udp gtp", false},
		{"gtp, extension", 1, inUDP(2152, cat(unhex("34ff"), be16(8+len(in4)), be32(77), unhex("0000 00 85 01 1009 00"), in4)), TunnelGTP, 2, "eth ip tcp udp gtp", false},
		{"teredo", 1, inUDP(3544, cat(unhex("0000 0f0f 3fff fdfe"), in6)), TunnelTeredo, 2, "eth ip ipv6 tcp udp teredo", true},
		{"l2tpv2", 1, inUDP(1701, cat(unhex("4002"), be16(12+len(in4)), unhex("0001 0002 ff03"), ppp(in4))), TunnelL2TP, 2, "eth ip tcp udp ppp l2tp", false},
		{"lisp", 1, inUDP(4341, cat(unhex("80000001 00000001"), in4)), TunnelLISP, 2, "eth ip tcp udp lisp-data", false},
		{"mpls in udp", 1, inUDP(6635, cat(unhex("00064140"), in4)), TunnelMPLS, 2, "eth ip tcp udp mpls", false},
		{"gre in udp", 1, inUDP(4754, cat(unhex("0000 0800"), in4)), TunnelGRE, 2, "eth ip tcp udp gre", false},
		{"ayiya", 1, inUDP(5072, cat(unhex("4152 1129 00000000"), make([]byte, 16+20), in6)), Tunnel6in4, 2, "eth ip ipv6 tcp udp", true},
		{"tzsp", 1, inUDP(37008, cat(unhex("0100 0001 0a0100 01"), eth(0x800, in4))), NoTunnel, 2, "eth ip tcp udp", false},
		{"vxlan in vxlan", 1, inUDP(4789, vx(9, outer(17, udp(50001, 4789, vx(10, eth(0x800, in4)))))), TunnelVXLAN, 3, "eth ip tcp udp vxlan", false},
		{"vxlan in gre in vlan", 1, eth(0x8100, vlan(2, 0x800, ip4("192.0.2.1", "192.0.2.2", 47, cat(unhex("0000 0800"), ip4("192.0.2.3", "192.0.2.4", 17, udp(50000, 4789, vx(9, eth(0x800, in4)))))))), TunnelGRE, 2, "eth vlan ip tcp udp gre vxlan", false},

		{"null, little endian", 0, cat(le32(2), in4), NoTunnel, 1, "ip tcp null", false},
		{"null, big endian", 0, cat(be32(2), in4), NoTunnel, 1, "ip tcp null", false},
		{"null, ipv6 of macOS", 0, cat(le32(30), in6), NoTunnel, 1, "ipv6 tcp null", true},
		{"null, ipv6 of FreeBSD", 0, cat(be32(28), in6), NoTunnel, 1, "ipv6 tcp null", true},
		{"null, an EtherType", 0, cat(unhex("0f00 0800"), in4), NoTunnel, 1, "ip tcp null", false},
		{"loop", 108, cat(be32(24), in6), NoTunnel, 1, "ipv6 tcp null", true},
		{"raw", 101, in4, NoTunnel, 1, "ip tcp raw", false},
		{"raw ipv6", 101, in6, NoTunnel, 1, "ipv6 tcp raw", true},
		{"raw of BSD", 12, in4, NoTunnel, 1, "ip tcp raw", false},
		{"raw of OpenBSD", 14, in4, NoTunnel, 1, "ip tcp raw", false},
		{"ipv4 only", 228, in4, NoTunnel, 1, "ip tcp", false},
		{"ipv6 only", 229, in6, NoTunnel, 1, "ipv6 tcp", true},
		{"ppp", 9, cat(unhex("ff03"), ppp(in4)), NoTunnel, 1, "ip tcp ppp", false},
		{"ppp, compressed", 9, cat(unhex("21"), in4), NoTunnel, 1, "ip tcp ppp", false},
		{"ppp, cisco", 50, cat(unhex("0f00 0800"), in4), NoTunnel, 1, "ip tcp chdlc", false},
		{"ppp, multilink", 9, cat(unhex("ff03 003d c0000001 0021"), in4), NoTunnel, 1, "ip tcp ppp mp", false},
		{"ppp, bridged", 9, cat(unhex("0031 0001"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp ppp", false},
		{"pppoe link", 51, cat(unhex("1100 0042"), be16(2+len(in4)), ppp(in4)), TunnelPPPoE, 1, "ip tcp pppoes ppp", false},
		{"pppd", 166, cat(unhex("00 ff03"), ppp(in4)), NoTunnel, 1, "ip tcp ppp", false},
		{"sll", 113, cat(unhex("0000 0001 0006 020000000001 0000 0800"), in4), NoTunnel, 1, "ip tcp sll", false},
		{"sll vlan", 113, cat(unhex("0000 0001 0006 020000000001 0000 8100"), vlan(5, 0x800, in4)), NoTunnel, 1, "vlan ip tcp sll", false},
		{"sll2", 276, cat(unhex("86dd 0000 00000002 0001 00 06 020000000001 0000"), in6), NoTunnel, 1, "ipv6 tcp sll", true},
		{"sll gre device", 113, cat(unhex("0000 030a 0004 c0000201 00000000 0800"), in4), NoTunnel, 1, "ip tcp sll", false},
		{"802.11", 105, cat(wlanHead, snap, in4), NoTunnel, 1, "ip tcp llc wlan", false},
		{"802.11 qos", 105, cat(unhex("8801"), wlanHead[2:], unhex("0000"), snap, in4), NoTunnel, 1, "ip tcp llc wlan", false},
		{"802.11 wds", 105, cat(unhex("0803"), wlanHead[2:], macSrc, snap, in4), NoTunnel, 1, "ip tcp llc wlan", false},
		{"802.11 amsdu", 105, cat(unhex("8801"), wlanHead[2:], unhex("8000"), macDst, macSrc, be16(8+len(in4)), snap, in4), NoTunnel, 1, "ip tcp llc wlan", false},
		{"radiotap", 127, cat(unhex("0000"), le16(8), le32(0), wlanHead, snap, in4), NoTunnel, 1, "ip tcp llc wlan radiotap wlan_radio", false},
		{"radiotap, fcs, padding", 127, cat(unhex("0000"), le16(17), le32(3), make([]byte, 8), unhex("30"), unhex("8801"), wlanHead[2:], unhex("0000 0000"), snap, in4, make([]byte, 4)), NoTunnel, 1, "ip tcp llc wlan radiotap wlan_radio", false},
		{"prism", 119, cat(be32(0x44), le32(144), make([]byte, 136), wlanHead, snap, in4), NoTunnel, 1, "ip tcp llc wlan prism wlan_radio", false},
		{"avs", 163, cat(be32(0x80211001), be32(64), make([]byte, 56), wlanHead, snap, in4), NoTunnel, 1, "ip tcp llc wlan prism wlan_radio", false},
		{"ppi", 192, cat(unhex("0000"), le16(8), le32(105), wlanHead, snap, in4), NoTunnel, 1, "ip tcp llc wlan ppi wlan_radio", false},
		{"ppi ethernet", 192, cat(unhex("0000"), le16(8), le32(1), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp ppi", false},
		{"cisco hdlc", 104, cat(unhex("0f00 86dd"), in6), NoTunnel, 1, "ipv6 tcp chdlc", true},
		{"frame relay, nlpid", 107, cat(unhex("1841 03cc"), in4), NoTunnel, 1, "ip tcp fr", false},
		{"frame relay, cisco", 107, cat(unhex("1841 0800"), in4), NoTunnel, 1, "ip tcp fr", false},
		{"frame relay, snap", 107, cat(unhex("1841 0300 80 000000 0800"), in4), NoTunnel, 1, "ip tcp fr", false},
		{"nflog", 239, cat(unhex("0200 0000"), le16(8), le16(10), make([]byte, 4), le16(4+len(in4)), le16(9), in4), NoTunnel, 1, "ip tcp nflog", false},
		{"pflog", 117, cat(unhex("3d02"), make([]byte, 62), in4), NoTunnel, 1, "ip tcp pflog", false},
		{"pktap", 258, cat(le32(108), le32(1), le32(1), make([]byte, 96), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp pktap", false},
		{"pktap, no link header", 149, cat(le32(108), le32(1), le32(12), make([]byte, 96), in4), NoTunnel, 1, "ip tcp pktap", false},
		{"juniper", 178, cat(unhex("4d4743 80 0004 01020304"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp juniper", false},
		{"erf", 197, cat(make([]byte, 8), unhex("02 00 0000 0000 0000 0000"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp", false},
		{"arcnet", 129, cat(unhex("be00 0000 d4 00 0001"), in4), NoTunnel, 1, "ip tcp arcnet", false},
		{"arcnet, rfc 1051", 129, cat(unhex("be00 0000 f0"), in4), NoTunnel, 1, "ip tcp arcnet", false},
		{"slip", 8, cat(make([]byte, 16), in4), NoTunnel, 1, "ip tcp", false},
		{"fddi", 10, cat(unhex("50"), macDst, macSrc, snap, in4), NoTunnel, 1, "ip tcp llc fddi", false},
		{"atm rfc 1483", 100, cat(snap, in4), NoTunnel, 1, "ip tcp llc", false},
		{"sunatm", 123, cat(unhex("02 00 0020"), snap, in4), NoTunnel, 1, "ip tcp llc", false},
		{"ipnet", 226, cat(unhex("0102"), make([]byte, 22), in4), NoTunnel, 1, "ip tcp ipnet", false},
		{"mpacket", 274, cat(unhex("55555555555555d5"), eth(0x800, in4)), NoTunnel, 1, "eth ip tcp", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Packet
			Decode(tt.link, tt.frame, uint32(len(tt.frame)), &p)
			if p.Kind != KindTCP || p.Err != NoError {
				t.Fatalf("got kind %v, error %q, stack %s", p.Kind, p.Err, stack(&p))
			}
			src, dst := "10.0.0.1:40000", "10.0.0.2:80"
			if tt.v6 {
				src, dst = "[2001:db8::1]:40000", "[2001:db8::2]:80"
			}
			if tt.name == "ah" {
				src, dst = "192.0.2.1:40000", "192.0.2.2:80"
			}
			k, isA := key(t, 6, src, dst)
			if p.Key != k || p.SrcIsA != isA {
				t.Errorf("got key %v %v, want %v %v", p.Key.AddrA(), p.Key.AddrB(), k.AddrA(), k.AddrB())
			}
			if got := string(p.Data(tt.frame)); got != "hello" || p.PayloadLen != 5 {
				t.Errorf("got payload %q of %d bytes", got, p.PayloadLen)
			}
			if p.Tunnel != tt.tunnel {
				t.Errorf("got tunnel %q, want %q", p.Tunnel, tt.tunnel)
			}
			if int(p.NConvs) != tt.convs || p.Conv(tt.convs-1).Key != p.Key {
				t.Errorf("got %d conversations, want %d", p.NConvs, tt.convs)
			}
			if got := stack(&p); tt.stack != "" && got != tt.stack {
				t.Errorf("got stack %q, want %q", got, tt.stack)
			}
		})
	}
}

// TestWithoutIP are frames that carry none, and say what they are.
func TestWithoutIP(t *testing.T) {
	t.Parallel()
	wlanHead := unhex("0000 020000000003 020000000001 020000000002 0000")
	tests := []struct {
		name  string
		link  packet.LinkType
		frame []byte
		kind  Kind
		err   Reason
		stack string
	}{
		{"stp", 1, eth(3, unhex("424203 0000000000")), KindLink, NoError, "eth llc stp"},
		{"pvst", 1, eth(12, unhex("aaaa03 00000c 010b 00000000")), KindLink, NoError, "eth llc stp"},
		{"cdp", 1, eth(12, unhex("aaaa03 00000c 2000 02b40000")), KindLink, NoError, "eth llc cdp"},
		{"udld", 1, eth(12, unhex("aaaa03 00000c 0111 00000000")), KindLink, NoError, "eth llc udld"},
		{"is-is", 1, eth(4, unhex("fefe03 83")), KindLink, NoError, "eth llc isis osi"},
		{"novell", 1, eth(4, unhex("ffff 0004")), KindLink, NoError, "eth ipx"},
		{"lldp", 1, eth(0x88cc, unhex("0000")), KindLink, NoError, "eth lldp"},
		{"lacp", 1, eth(0x8809, unhex("0101")), KindLink, NoError, "eth slow"},
		{"eapol", 1, eth(0x888e, unhex("01030000")), KindLink, NoError, "eth eapol"},
		{"pppoe discovery", 1, eth(0x8863, unhex("1109 0000 0000")), KindLink, NoError, "eth pppoed"},
		{"unknown type", 1, eth(0x1234, unhex("00")), KindLink, UnknownType, "eth data"},
		{"macsec, encrypted", 1, eth(0x88e5, unhex("2c 00 00000001 0000000000000000 00")), KindLink, Encrypted, "eth macsec"},
		{"arp", 1, eth(0x806, unhex("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002")), KindARP, NoError, "eth arp"},
		{"lcp", 9, unhex("ff03 c021 01010004"), KindLink, NoError, "ppp"},
		{"van jacobson", 9, unhex("ff03 002d 01010004"), KindLink, Compressed, "ppp"},
		{"multilink fragment", 9, unhex("ff03 003d 80000001 0021 45"), KindLink, LinkFragment, "ppp mp"},
		{"slarp", 104, unhex("8f00 8035 00000002"), KindLink, NoError, "chdlc slarp"},
		{"beacon", 105, cat(unhex("8000"), wlanHead), KindLink, NoError, "wlan"},
		{"802.11 null", 105, cat(unhex("4801"), wlanHead), KindLink, NoError, "wlan"},
		{"wep", 105, cat(unhex("0841"), wlanHead, unhex("00112233")), KindLink, Encrypted, "wlan data"},
		{"802.11 fragment", 105, cat(unhex("0805"), wlanHead, unhex("aaaa03000000080045")), KindLink, LinkFragment, "wlan data"},
		{"usb", 249, unhex("1b00"), KindLink, NotIP, "usb"},
		{"netlink", 253, unhex("0004"), KindLink, NotIP, ""},
		{"can in sll", 113, unhex("0000 0118 0000 0000000000000000 000c 0000"), KindLink, NotIP, "sll"},
		{"unknown link", 65001, unhex("0004"), KindUndecoded, UnknownLink, ""},
		{"ospf", 1, eth(0x800, ip4("10.0.0.1", "224.0.0.5", 89, unhex("0201"))), KindIPOther, NoError, "eth ip ospf"},
		{"esp", 1, eth(0x800, ip4("10.0.0.1", "10.0.0.2", 50, unhex("0000000100000001"))), KindIPOther, NoError, "eth ip esp"},
		{"esp in udp", 1, eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(4500, 4500, unhex("0000000100000001")))), KindUDP, NoError, "eth ip udp esp udpencap"},
		{"vrrp", 1, eth(0x800, ip4("10.0.0.1", "224.0.0.18", 112, unhex("2101"))), KindIPOther, NoError, "eth ip vrrp"},
		{"igmp", 1, eth(0x800, ip4("10.0.0.1", "224.0.0.1", 2, unhex("1100"))), KindIPOther, NoError, "eth ip igmp"},
		{"arp in vxlan", 1, eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(1, 4789, cat(unhex("0800000000000900"), eth(0x806, unhex("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002")))))), KindARP, NoError, "eth ip udp arp vxlan"},
		{"sctp", 1, eth(0x800, ip4("10.0.0.1", "10.0.0.2", 132, unhex("0b59 0b59 00000000 00000000 00000000"))), KindSCTP, NoError, "eth ip sctp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Packet
			Decode(tt.link, tt.frame, uint32(len(tt.frame)), &p)
			if p.Kind != tt.kind || p.Err != tt.err || stack(&p) != tt.stack {
				t.Errorf("got %v %q stack %q, want %v %q stack %q", p.Kind, p.Err, stack(&p), tt.kind, tt.err, tt.stack)
			}
		})
	}
}

// TestNoTunnel are datagrams on a tunnel's port that are none.
func TestNoTunnel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		sport, dport int
		payload      string
	}{
		{"dns answer to port 4789", 53, 4789, "0800 8180 0001 0001 0000 0000 0377777700 0001 0001"},
		{"text on 4789", 50000, 4789, "47455420 2f204854 54502f31 2e310d0a 47455420 2f204854 54502f31"},
		{"text on 6081", 50000, 6081, "47455420 2f204854 54502f31"},
		{"text on 2152", 50000, 2152, "47455420 2f204854 54502f31"},
		{"text on 3544", 50000, 3544, "47455420 2f204854 54502f31"},
		{"text on 1701", 50000, 1701, "47455420 2f204854 54502f31"},
		{"text on 4341", 50000, 4341, "47455420 2f204854 54502f31 2f204854 2f204854 2f204854 2f204854"},
		{"text on 5247", 50000, 5247, "47455420 2f204854 54502f31"},
		{"text on 37008", 50000, 37008, "47455420 2f204854 54502f31"},
		{"empty", 50000, 4789, ""},
		{"gtp echo", 2152, 2152, "3201 0004 00000000 00010000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(tt.sport, tt.dport, unhex(tt.payload))))
			var p Packet
			Decode(packet.LinkEthernet, b, uint32(len(b)), &p)
			if p.Kind != KindUDP || p.Tunnel != NoTunnel || p.NConvs != 1 || p.Err != NoError {
				t.Errorf("got %v, tunnel %q, error %q", p.Kind, p.Tunnel, p.Err)
			}
			if int(p.PayloadLen) != len(unhex(tt.payload)) {
				t.Errorf("got %d bytes of payload", p.PayloadLen)
			}
		})
	}
}

// TestOuterStays: what cannot be read inside a tunnel leaves the tunnel's own
// conversation; what can be read, but is no conversation, leaves it among the conversations.
func TestOuterStays(t *testing.T) {
	t.Parallel()
	vx := func(b []byte) []byte {
		return eth(0x800, ip4("10.0.0.1", "10.0.0.2", 17, udp(50000, 4789, cat(unhex("0800000000000900"), b))))
	}
	for _, tt := range []struct {
		name  string
		frame []byte
		kind  Kind
		convs uint8
		outer bool // the key is that of the tunnel
	}{
		{"unknown type in vxlan", vx(eth(0x1234, unhex("00"))), KindUDP, 1, true},
		{"lldp in vxlan", vx(eth(0x88cc, unhex("00"))), KindLink, 1, false},
		{"cut ip in vxlan", vx(eth(0x800, unhex("4500"))), KindUDP, 1, true},
		{"wrong version in vxlan", vx(eth(0x800, unhex("55000000 00000000 00000000 00000000 00000000"))), KindUDP, 1, true},
		{"unknown type in gre", eth(0x800, ip4("10.0.0.1", "10.0.0.2", 47, unhex("0000 1234 00"))), KindIPOther, 0, true},
		{"gre keepalive", eth(0x800, ip4("10.0.0.1", "10.0.0.2", 47, unhex("0000 0000"))), KindIPOther, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Packet
			Decode(packet.LinkEthernet, tt.frame, uint32(len(tt.frame)), &p)
			if p.Kind != tt.kind || p.NConvs != tt.convs {
				t.Errorf("got %v with %d conversations", p.Kind, p.NConvs)
			}
			if outer := p.Src()[15] == 1 && p.Dst()[15] == 2 && p.IPVersion == 4; outer != tt.outer {
				t.Errorf("got key %v %v, version %d", p.Key.AddrA(), p.Key.AddrB(), p.IPVersion)
			}
		})
	}
}
