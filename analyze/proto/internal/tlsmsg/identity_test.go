package tlsmsg

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// helloOf is the body of a ClientHello that asks for a name; fresh is what clients
// draw anew for each.
func helloOf(name string, fresh byte, grease, cipher uint16) []byte {
	number := func(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
	with := func(b []byte) []byte { return append(number(uint16(len(b))), b...) }
	ext := func(typ uint16, data []byte) []byte { return append(number(typ), with(data)...) }
	random := bytes.Repeat([]byte{fresh}, 32)
	b := append(append(number(TLS12), random...), 32)
	b = append(append(b, random...), with(append(number(grease), number(cipher)...))...)
	b = append(b, 1, 0)
	return append(b, with(bytes.Join([][]byte{
		ext(grease, nil),
		ext(extServerName, with(append([]byte{0}, with([]byte(name))...))),
		ext(extGroups, with(append(number(grease), 0, 29))),
		ext(extSupportedVersions, append(append([]byte{4}, number(grease)...), 3, 4)),
		ext(extALPN, with([]byte("\x02h2"))),
		ext(extKeyShare, with(append(append(number(29), 0, 32), random...))),
	}, nil))...)
}

// Hellos of one software are known again whatever differs each time.
func TestHellosAreKnownAgain(t *testing.T) {
	t.Parallel()
	var m Hellos
	a, first, ok := m.Client(helloOf("a.test", 1, 0x1a1a, 0x1301), OverTCP)
	b, second, same := m.Client(helloOf("other.test", 2, 0xfafa, 0x1301), OverTCP)
	if !ok || !same || a.Identity != b.Identity || a.Random == b.Random || string(first) != "a.test" || string(second) != "other.test" || b.Max != TLS13 || b.Offered != "h2" {
		t.Errorf("got %+v (%+v) and %+v (%+v)", a, a.Identity, b, b.Identity)
	}
	if c, _, _ := m.Client(helloOf("a.test", 1, 0x1a1a, 0x1302), OverTCP); c.JA3 == a.JA3 || c.JA4 == a.JA4 {
		t.Errorf("another cipher, the same fingerprints: %+v", c.Identity)
	}
	if c, _, _ := m.Client(helloOf("a.test", 1, 0x1a1a, 0x1301), OverQUIC); c.JA3 != a.JA3 || c.JA4 == a.JA4 {
		t.Errorf("over QUIC: %+v", c.Identity)
	}
	broken := helloOf("a.test", 1, 0x1a1a, 0x1301)
	broken[len(broken)-33]++ // a key share that is longer than its list
	if _, _, ok := m.Client(broken, OverTCP); ok {
		t.Error("a hello that breaks its lengths was taken for a known one")
	}
}

// What is remembered is bounded, and forgotten things are worked out again.
func TestHellosAreBounded(t *testing.T) {
	t.Parallel()
	var m Hellos
	first, _, _ := m.Client(helloOf("a.test", 1, 0x1a1a, 0), OverTCP)
	for cipher := range uint16(2 * maxIdentities) {
		m.Client(helloOf("a.test", 1, 0x1a1a, cipher), OverTCP)
	}
	if len(m.clients) > maxIdentities {
		t.Errorf("%d are remembered", len(m.clients))
	}
	if again, _, _ := m.Client(helloOf("a.test", 1, 0x1a1a, 0), OverTCP); again.JA4 != first.JA4 {
		t.Errorf("got %s, was %s", again.JA4, first.JA4)
	}
}
