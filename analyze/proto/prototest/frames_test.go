package prototest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze"
	"netwhy/capture"
	"netwhy/capture/packet"
)

// unhex reads hexadecimal bytes with blanks between.
func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// ether makes an Ethernet frame to a group; from tells senders apart.
func ether(to string, from byte, typ uint16, payload []byte) []byte {
	b := append(unhex(to), 2, 0, 0, 0, 0, from)
	return append(binary.BigEndian.AppendUint16(b, typ), payload...)
}

// llc makes a frame whose type is a length.
func llc(to string, from byte, header, payload string) []byte {
	body := unhex(header + payload)
	return ether(to, from, uint16(len(body)), body)
}

// ipv4 makes a packet of 192.0.2.from to a group.
func ipv4(from, proto byte, group string, payload []byte) []byte {
	b := []byte{0x45, 0xc0, 0, 0, 0, 0, 0, 0, 255, proto, 0, 0, 192, 0, 2, from}
	b = append(append(b, unhex(group)...), payload...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	return ether("01005e000012", from, 0x0800, b)
}

// linkCases are protocols whose messages need the packet around them.
func linkCases() map[string]struct {
	frames [][]byte
	codes  []string
} {
	const lldpBody = "0207 04 020000000001 0406 05 4769312f30 0602 0078 0a04 73772d31 fe06 0080c201 0064 0000"
	cdp := func(from byte, name, duplex string) []byte {
		body := "02b40000 0001 0006" + name + "0003 0008 46613030" + "000b 0005" + duplex
		return llc("01000ccccccc", from, "aaaa03 00000c 2000", body)
	}
	lacpdu := func(state string) []byte {
		return ether("0180c2000002", 1, 0x8809, append(unhex("01 01 01 14 8000 020000000001 0001 8000 0007"+state+"000000 02 14 0000 000000000000 0000 0000 0000 00 000000"), make([]byte, 70)...))
	}
	vrrp := func(from, priority byte) []byte {
		return ipv4(from, 112, "e0000012", []byte{0x21, 7, priority, 1, 0, 1, 0, 0, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0})
	}
	bpdu := func(from byte, root string) []byte {
		return llc("0180c2000000", from, "424203", "0000 00 00 00"+root+"00000000"+root+"8001 0000 1400 0200 0f00")
	}
	hello := func(from byte, id, auth string) []byte {
		return ipv4(from, 89, "e0000005", unhex("0201002c"+id+"00000000 0000"+auth+"ffffff00 000a 02 01 00000028 00000000 00000000"))
	}
	eigrp := func(op, route string) []byte {
		return ipv4(1, 88, "e000000a", unhex("02"+op+"0000 00000000 00000001 00000000 00000001"+route))
	}
	greet := func(from byte, as string) []byte {
		return ipv4(from, 88, "e000000a", unhex("02050000 00000000 00000000 00000000 0000"+as+"0001000c 010001000000000f"))
	}
	const lost = "0102001c 00000000 ffffffff 00000a00 0005dc 00 ff 01 0000 18 c0a804"
	ping := func(to byte) []byte { return ipv4(9, 1, fmt.Sprintf("0a0101%02x", to), unhex("0800 0000 0007 0001")) }
	var sweep [][]byte
	for i := range byte(30) {
		sweep = append(sweep, ping(i))
	}
	padi := ether("ffffffffffff", 1, 0x8863, unhex("1109 0000 0004 0101 0000"))
	pado := append(unhex("020000000001 020000000002 8863"), unhex("1107 0000 000c 0101 0000 0102 0004 62726173")...)
	lcp := func(from byte, code, option string) []byte {
		return ether("020000000009", from, 0x8864, unhex("1100 0007 000a c021"+code+"01 0008"+option))
	}
	query := func(from byte) []byte { return ipv4(from, 2, "e0000001", unhex("11 64 0000 00000000")) }
	return map[string]struct {
		frames [][]byte
		codes  []string
	}{
		"LLDP tells where it is plugged in": {[][]byte{ether("0180c200000e", 1, 0x88cc, unhex(lldpBody)), ether("0180c200000e", 1, 0x88cc, unhex(lldpBody))}, []string{"lldp.neighbor"}},
		"CDP with another duplex":           {[][]byte{cdp(1, "5231", "00"), cdp(2, "5332", "01")}, []string{"cdp.duplex-mismatch", "cdp.neighbor"}},
		"LACP without a partner":            {[][]byte{lacpdu("45"), lacpdu("45"), lacpdu("45")}, []string{"lacp.not-aggregating"}},
		"LACP that settles":                 {[][]byte{lacpdu("45"), lacpdu("3d"), lacpdu("3d")}, nil},
		"VRRP takeover":                     {[][]byte{vrrp(1, 100), vrrp(1, 0), vrrp(2, 90), vrrp(2, 90)}, []string{"vrrp.master-change"}},
		"VRRP with two masters":             {[][]byte{vrrp(1, 100), vrrp(2, 90), vrrp(1, 100), vrrp(2, 90), vrrp(1, 100), vrrp(2, 90), vrrp(1, 100)}, []string{"vrrp.master-change", "vrrp.two-masters"}},
		"STP with a new root":               {[][]byte{bpdu(1, "8000 020000000002"), bpdu(3, "1000 020000000001"), bpdu(1, "1000 020000000001")}, []string{"stp.root-change"}},
		"OSPF with one router id":           {[][]byte{hello(1, "01010101", "0000"+strings.Repeat("00", 8)), hello(2, "01010101", "0000"+strings.Repeat("00", 8))}, []string{"ospf.hello-mismatch"}},
		"OSPF with two passwords":           {[][]byte{hello(1, "01010101", "0001 6c656d6f6e000000"), hello(2, "02020202", "0001 6f72616e67650000")}, []string{"ospf.hello-mismatch"}},
		"OSPF with one password":            {[][]byte{hello(1, "01010101", "0001 6c656d6f6e000000"), hello(2, "02020202", "0001 6c656d6f6e000000")}, nil},
		"EIGRP without a way":               {[][]byte{eigrp("03", lost), eigrp("01", lost)}, []string{"eigrp.route-lost"}},
		"EIGRP with poisoned reverse":       {[][]byte{eigrp("01", lost), eigrp("01", lost)}, nil},
		"EIGRP in two systems": {
			[][]byte{greet(1, "0064"), greet(2, "00c8"), greet(1, "0064"), greet(2, "00c8"), greet(1, "0064"), greet(2, "00c8")},
			[]string{"eigrp.as-mismatch"},
		},
		"EIGRP in two systems, one of them common": {
			[][]byte{greet(1, "0064"), greet(1, "00c8"), greet(2, "00c8"), greet(1, "0064"), greet(1, "00c8"), greet(2, "00c8"), greet(1, "0064"), greet(1, "00c8"), greet(2, "00c8")},
			nil,
		},
		"pings of a whole network":      {sweep, []string{"icmp.sweep"}},
		"PPPoE without an offer":        {[][]byte{padi, padi, padi}, []string{"pppoe.no-offer"}},
		"PPPoE with a late offer":       {[][]byte{padi, padi, padi, pado}, nil},
		"PPP that is refused each time": {[][]byte{lcp(1, "04", "0304c023"), lcp(1, "04", "0304c023"), lcp(1, "04", "0304c023")}, []string{"ppp.lcp-failed"}},
		"IGMP querier that takes over":  {[][]byte{query(1), query(1), query(1), query(2), query(2), query(2)}, nil},
		"IGMP with two queriers":        {[][]byte{query(1), query(2), query(1), query(2), query(1), query(2), query(1)}, []string{"igmp.several-queriers"}},
	}
}

func TestLinkProtocols(t *testing.T) {
	t.Parallel()
	for what, c := range linkCases() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, err := analyze.Run(t.Context(), &frames{pool: packet.NewPool(2, 1<<16), step: int64(time.Second), left: c.frames}, analyze.Options{Workers: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, f := range r.Findings {
				codes = append(codes, string(f.Code))
			}
			slices.Sort(codes)
			if codes = slices.Compact(codes); !slices.Equal(codes, c.codes) || len(r.Malformed) > 0 {
				t.Errorf("codes %q, want %q; malformed %v", codes, c.codes, r.Malformed)
			}
		})
	}
}

// seedFiles are captures of what is neither TCP nor UDP; their first frames seed
// the fuzzer.
func seedFiles() []string {
	return []string{
		"EIGRP_goodbye.pcap", "IPv6_NDP.pcap", "LACP.pcap", "VRRP_preempt.pcap", "arp-storm.pcap", "greb-dsl-fail.pcap", "icmp-many-types.pcapng",
		"icmp-tunnel.pcap", "ospf-mtu-exstart.pcapng", "ppp-ipcp-conflict.pcapng", "ppp-pap-wrong-password.pcap", "ra-leaving.pcapng",
		"rstp-tc.pcap", "wepauthfail.pcapng", "wpaauth-ok.pcapng",
	}
}

// FuzzFrames gives two frames of a link type, and the first again, to a whole run:
// what analyzers of links, of IP and of ICMP read is in the packet around.
func FuzzFrames(f *testing.F) {
	for _, c := range linkCases() {
		f.Add(uint16(packet.LinkEthernet), c.frames[0], c.frames[1])
	}
	for _, name := range seedFiles() {
		src, err := capture.Open(f.Context(), []string{filepath.Join(root(), "corpus", name)}, capture.Options{})
		if err != nil {
			continue // seeds only: the ones above are there without captures
		}
		if b, err := src.Next(f.Context()); err == nil {
			for i := 0; i+1 < min(len(b.Frames), 8); i += 2 {
				one, two := &b.Frames[i], &b.Frames[i+1]
				f.Add(uint16(one.Link), bytes.Clone(b.Data(one)), bytes.Clone(b.Data(two)))
			}
			b.Release()
		}
		_ = src.Close() // only read
	}
	f.Fuzz(func(t *testing.T, link uint16, one, two []byte) {
		const longest = 4 << 10
		src := &frames{pool: packet.NewPool(2, 1<<16), link: packet.LinkType(link), left: [][]byte{one[:min(len(one), longest)], two[:min(len(two), longest)], one[:min(len(one), longest)]}}
		r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for reason := range r.Malformed {
			if strings.Contains(reason, "analyzer fault") {
				t.Error(reason)
			}
		}
	})
}

// root is the folder of the shared captures.
func root() string {
	if dir := os.Getenv("NETWHY_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "..", "shared")
}
