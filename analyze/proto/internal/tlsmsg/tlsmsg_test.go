package tlsmsg

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"
)

// The examples of the authors of JA3 and JA4; JA3S by md5sum.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	old := ClientHello{
		Version: TLS10, Ciphers: []uint16{0x0a0a, 47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4},
		Extensions: []uint16{0, 10, 11, 0xfafa}, Groups: []uint16{0x1a1a, 23, 24, 25}, PointFormats: []byte{0},
	}
	if got := old.JA3(); got != "ada70206e40642a3e4461f35503241d5" {
		t.Errorf("JA3: got %s", got)
	}
	server := ServerHello{Version: TLS10, Cipher: 47, Extensions: []uint16{65281, 0, 11, 35, 5, 16}}
	if got := server.JA3S(); got != "836ce314215654b5b1f85f97c73e506f" {
		t.Errorf("JA3S: got %s", got)
	}
	chrome := ClientHello{
		Version:    TLS12,
		Versions:   []uint16{0x3a3a, TLS13, TLS12},
		Ciphers:    []uint16{0x2a2a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x9c, 0x9d, 0x2f, 0x35},
		Extensions: []uint16{0x4a4a, 0x1b, 0, 0x33, 0x10, 0x4469, 0x17, 0x2d, 0x0d, 5, 0x23, 0x12, 0x2b, 0xff01, 0x0b, 0x0a, 0x15},
		SigAlgs:    []uint16{0x403, 0x804, 0x401, 0x503, 0x805, 0x501, 0x806, 0x601},
		ALPN:       []string{"h2", "http/1.1"},
	}
	if got := chrome.JA4(OverTCP); got != "t13d1516h2_8daaf6152771_e5627efa2ab1" {
		t.Errorf("JA4: got %s", got)
	}
	bare := ClientHello{Version: SSL30}
	if got := bare.JA4(OverTCP); got != "ts3i000000_000000000000_000000000000" {
		t.Errorf("JA4 of nothing: got %s", got)
	}
}

func TestALPNOfJA4(t *testing.T) {
	t.Parallel()
	for alpn, want := range map[string]string{"h2": "h2", "http/1.1": "h1", "x": "xx", "": "00", "\xab": "ab", "0\xab": "3b"} {
		h := ClientHello{ALPN: []string{alpn}}
		if got := h.ja4ALPN(); got != want {
			t.Errorf("%q: got %s, want %s", alpn, got, want)
		}
	}
}

// RFC 9001, A.1: client_initial_secret to quic key.
func TestExpandLabel(t *testing.T) {
	t.Parallel()
	secret, err := hex.DecodeString("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(ExpandLabel(sha256.New, secret, "quic key", 16)); got != "1f369613dd76d5467730efcbe3b1a22d" {
		t.Errorf("got %s", got)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		h        ClientHello
		max, min uint16
	}{
		{ClientHello{Version: TLS12}, TLS12, 0},
		{ClientHello{Version: TLS12, Versions: []uint16{0x5a5a, TLS13, TLS12, TLS10}}, TLS13, TLS10},
		{ClientHello{Version: DTLS12, Versions: []uint16{DTLS12, DTLS13}}, DTLS13, DTLS12},
	} {
		if c.h.MaxVersion() != c.max || c.h.MinVersion() != c.min {
			t.Errorf("%v: got %x and %x", c.h.Versions, c.h.MaxVersion(), c.h.MinVersion())
		}
	}
}

// Every alert with a name has a meaning for whom it concerns, but for those that
// end nothing.
func TestAlertsHaveMeaning(t *testing.T) {
	t.Parallel()
	quiet := map[uint8]bool{0: true, 22: true, 30: true, 41: true, 60: true, 90: true, 111: true, 113: true, 114: true, 121: true}
	for i := range 256 {
		d := uint8(i)
		if AlertName(d) != "" && !quiet[d] && (Meaning(d, true) == "" || Meaning(d, false) == "") {
			t.Errorf("%s has no meaning", AlertName(d))
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte{3, 3, 0})
	f.Add(helloOf("a.test", 1, 0x1a1a, 0x1301))
	f.Fuzz(func(t *testing.T, b []byte) {
		var hellos Hellos
		var chains Chains
		for _, dtls := range []bool{false, true} {
			var h ClientHello
			transport := byte(OverTCP)
			if dtls {
				transport = OverDTLS
			}
			ok := h.Parse(b, dtls)
			for range 2 { // worked out, and remembered
				c, sni, same := hellos.Client(b, transport)
				if same != ok || c.JA3 != h.JA3() || c.JA4 != h.JA4(transport) || string(sni) != string(h.SNI) || c.Random != h.Random {
					t.Errorf("remembered as %+v, %v: %+v, %v", c, same, h, ok)
				}
			}
		}
		if h, ja3s, ok := hellos.Server(b); ok && ja3s != h.JA3S() {
			t.Errorf("remembered as %s: %s", ja3s, h.JA3S())
		}
		_, _ = ParseEncryptedExtensions(b)
		for _, v13 := range []bool{false, true} {
			r, _ := chains.Read(b, v13)
			_ = r.Judge("x.test", time.Unix(0, 0))
		}
	})
}

func BenchmarkJA4(b *testing.B) {
	h := ClientHello{
		Version: TLS12, Versions: []uint16{TLS13, TLS12}, Ciphers: []uint16{0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030},
		Extensions: []uint16{0x1b, 0, 0x33, 0x10, 0x17, 0x2d, 0x0d, 5, 0x23, 0x12, 0x2b}, SigAlgs: []uint16{0x403, 0x804, 0x401}, ALPN: []string{"h2"},
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = h.JA4(OverTCP)
	}
}
