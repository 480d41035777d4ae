package decode

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"netwhy/analyze/flow"
)

// The frames of the tests are put together from the innermost layer outwards.

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func cat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func be16(v int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
func be32(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
func le16(v int) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
func le32(v int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

var (
	macDst = unhex("02 00 00 00 00 02")
	macSrc = unhex("02 00 00 00 00 01")
)

func eth(et int, payload []byte) []byte { return cat(macDst, macSrc, be16(et), payload) }

func vlan(id, et int, payload []byte) []byte { return cat(be16(id), be16(et), payload) }

func addr(s string) []byte { return netip.MustParseAddr(s).AsSlice() }

type ip4opt struct{ total, id, frag, ttl int }

func ip4(src, dst string, proto int, payload []byte) []byte {
	return ip4with(src, dst, proto, payload, ip4opt{total: -1, id: 1, ttl: 64})
}

func ip4with(src, dst string, proto int, payload []byte, o ip4opt) []byte {
	if o.total < 0 {
		o.total = 20 + len(payload)
	}
	h := cat([]byte{0x45, 0}, be16(o.total), be16(o.id), be16(o.frag), []byte{byte(o.ttl), byte(proto), 0, 0}, addr(src), addr(dst))
	binary.BigEndian.PutUint16(h[10:], ^folded(sum(h, 0)))
	return append(h, payload...)
}

func ip6(src, dst string, next int, payload []byte) []byte {
	return cat(unhex("60000000"), be16(len(payload)), []byte{byte(next), 64}, addr(src), addr(dst), payload)
}

func tcp(sport, dport int, payload string) []byte {
	return cat(be16(sport), be16(dport), be32(0x01020304), be32(0x0a0b0c0d), unhex("5018 2000 0000 0000"), []byte(payload))
}

func udp(sport, dport int, payload []byte) []byte {
	return cat(be16(sport), be16(dport), be16(8+len(payload)), be16(0), payload)
}

func icmp(typ, code, rest int, payload []byte) []byte {
	return cat([]byte{byte(typ), byte(code), 0, 0}, be32(rest), payload)
}

// inner is what the tests look for under all wrappings.
func inner() []byte { return ip4("10.0.0.1", "10.0.0.2", 6, tcp(40000, 80, "hello")) }

func inner6() []byte {
	return ip6("2001:db8::1", "2001:db8::2", 6, tcp(40000, 80, "hello"))
}

func key(tb testing.TB, proto uint8, src, dst string) (flow.Key, bool) {
	tb.Helper()
	s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	return flow.NewKey(proto, s.Addr().As16(), d.Addr().As16(), s.Port(), d.Port(), 0)
}

// stack names the protocols of a packet in a fixed order.
func stack(p *Packet) string {
	var names []string
	for pr := range p.Protos.All() {
		names = append(names, pr.String())
	}
	return strings.Join(names, " ")
}
