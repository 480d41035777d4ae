package decode

import (
	"encoding/hex"
	"strings"
	"testing"

	"netwhy/capture/packet"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const ethIPv4TCP = "020000000002 020000000001 0800" +
	"4502 0030 1234 4000 40 06 0000 0a000001 0a000002" +
	"9c40 0050 00000001 00000002 7018 1000 0000 0000 020405b4 01030307" + "010204 05"

func TestPlain(t *testing.T) {
	b := append(unhex(t, ethIPv4TCP), 0, 0, 0) // padding
	var p Packet
	Decode(packet.LinkEthernet, b, uint32(len(b)), &p)
	if p.Kind != KindTCP || p.Err != NoError || p.PayloadLen != 0 && p.PayloadLen != 4 {
		t.Fatalf("got %+v", p)
	}
	if n := testing.AllocsPerRun(100, func() { Decode(packet.LinkEthernet, b, uint32(len(b)), &p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := unhex(b, ethIPv4TCP)
	var p Packet
	for b.Loop() {
		Decode(packet.LinkEthernet, data, uint32(len(data)), &p)
	}
}
