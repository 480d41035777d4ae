package analyze_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/proto"
)

// Hosts of the frames below; gates are the ends of tunnels.
const (
	client = 1 + iota
	server
	gateA
	gateB
)

func ipv4(src, dst, transport byte, payload []byte) []byte {
	b := []byte{0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, transport, 0, 0, 10, 0, 0, src, 10, 0, 0, dst}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(payload)))
	return append(b, payload...)
}

func udp(src, dst uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, src), dst)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// syn asks for a connection, always from the same port.
func syn(seq byte) []byte {
	return ipv4(client, server, 6, []byte{0x9c, 0x40, 0, 80, 0, 0, 0, seq, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0})
}

func unreachable(quote []byte) []byte {
	return ipv4(server, client, 1, append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, quote...))
}

// gtp wraps a packet; without one it is an echo request.
func gtp(packet []byte) []byte {
	kind := byte(255)
	if packet == nil {
		kind = 1
	}
	h := []byte{0x30, kind, 0, byte(len(packet)), 0, 0, 0, 9}
	return ipv4(gateA, gateB, 17, udp(2152, 2152, append(h, packet...)))
}

// rawCapture writes packets without a link header, a second apart.
func rawCapture(t *testing.T, packets [][]byte) string {
	t.Helper()
	return paced(t, 1000, packets)
}

// paced does so, some milliseconds apart.
func paced(t *testing.T, ms uint32, packets [][]byte) string {
	t.Helper()
	var b bytes.Buffer
	for _, v := range []uint32{0xa1b2c3d4, 4<<16 | 2, 0, 0, 65535, 101} {
		b.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	for i, p := range packets {
		at := uint32(i) * ms
		for _, v := range []uint32{1_700_000_000 + at/1000, at % 1000 * 1000, uint32(len(p)), uint32(len(p))} {
			b.Write(binary.LittleEndian.AppendUint32(nil, v))
		}
		b.Write(p)
	}
	name := filepath.Join(t.TempDir(), "made.pcap")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestAsides counts conversations that packets belong to beside their own. The
// figures are what tshark 4.0.17 gives.
func TestAsides(t *testing.T) {
	t.Parallel()
	question := ipv4(client, server, 17, udp(5000, 6000, []byte("hello")))
	others := make([][]byte, 500) // some batches
	for i := range others {
		others[i] = ipv4(client, gateA, 17, udp(7000, 8000, make([]byte, 1400)))
	}
	echo6 := append([]byte{0x60, 0, 0, 0, 0, 8, 58, 64}, make([]byte, 32)...)
	echo6 = append(echo6, 128, 0, 0, 0, 0, 0, 0, 0)
	long := append(ipv4(server, client, 1, nil), 8, 0, 0, 0, 0)
	long[3] += 5
	for name, x := range map[string]struct {
		packets      [][]byte
		udp          uint64
		tcp, reused  uint64
		icmp, icmpv6 map[string]uint64
	}{
		"quoted only":              {packets: [][]byte{unreachable(question)}, icmp: map[string]uint64{"3/3": 1}},
		"quoted, then seen":        {packets: [][]byte{unreachable(question), question}, udp: 1, icmp: map[string]uint64{"3/3": 1}},
		"quoted, much later seen":  {packets: append(append([][]byte{unreachable(question)}, others...), question), udp: 2, icmp: map[string]uint64{"3/3": 1}},
		"tunnel, then echo":        {packets: [][]byte{gtp(question), gtp(nil)}, udp: 2},
		"echo, then tunnel":        {packets: [][]byte{gtp(nil), gtp(question), gtp(question)}, udp: 2},
		"quoted in a tunnel":       {packets: [][]byte{gtp(unreachable(question))}, udp: 2, icmp: map[string]uint64{"3/3": 1}},
		"and seen in it":           {packets: [][]byte{gtp(unreachable(question)), gtp(question)}, udp: 2, icmp: map[string]uint64{"3/3": 1}},
		"seen in it before":        {packets: [][]byte{gtp(question), gtp(unreachable(question))}, udp: 2, icmp: map[string]uint64{"3/3": 1}},
		"6in4 to a closed door":    {packets: [][]byte{unreachable(ipv4(client, server, 41, echo6))}, icmp: map[string]uint64{"3/3": 1}, icmpv6: map[string]uint64{"128/0": 1}},
		"too short to have a type": {packets: [][]byte{long}},
		"answers to a probe":       {packets: [][]byte{syn(1), syn(2), unreachable(syn(1)), unreachable(syn(2))}, tcp: 2, reused: 2, icmp: map[string]uint64{"3/3": 2}},
		"sent again after":         {packets: [][]byte{syn(1), unreachable(syn(2)), syn(2)}, tcp: 2, reused: 1, icmp: map[string]uint64{"3/3": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := rawCapture(t, x.packets)
			for _, workers := range []int{1, 2, 8} {
				r := run(t, path, analyze.Options{Workers: workers})
				if r.UDPConversations != x.udp {
					t.Errorf("%d workers: %d conversations, want %d", workers, r.UDPConversations, x.udp)
				}
				if reused := tcpCounters(r)["reused_ports"]; r.TCPConversations != x.tcp || reused != x.reused {
					t.Errorf("%d workers: %d connections, %d on used ports, want %d, %d", workers, r.TCPConversations, reused, x.tcp, x.reused)
				}
				if got := r.Keyed[proto.ICMPTypeCode]; !maps.Equal(got, x.icmp) {
					t.Errorf("%d workers: ICMP %v, want %v", workers, got, x.icmp)
				}
				if got := r.Keyed[proto.ICMPv6TypeCode]; !maps.Equal(got, x.icmpv6) {
					t.Errorf("%d workers: ICMPv6 %v, want %v", workers, got, x.icmpv6)
				}
			}
		})
	}
}
