package analyze

import (
	"math/rand/v2"
	"strings"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// TestFirst: what a Spec says of first bytes is what its probe says of all bytes that
// begin so.
func TestFirst(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	bodies := []string{
		"ET / HTTP/1.1\r\nHost: x\r\n\r\n", "20 x FTP\r\n", "20 x ESMTP\r\n", "00 news.example NNTP\r\n", "OK POP3 <1.2@x>\r\n",
		"SER x\r\nPASS x\r\n", "HLO x.example\r\n", "ICK x\r\nUSER x 0 * x\r\n", " OK IMAP4rev1\r\n", "SH-2.0-x\r\n", "FB 003.008\n",
		"NVITE sip:a@b SIP/2.0\r\n\r\n", "1\r\n$4\r\nPING\r\n", "34>1 2026-01-01T00:00:00Z x - - - - x\n", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"BitTorrent protocol" + strings.Repeat("x", 48), "MQP\x00\x00\x09\x01", "\n\r\nGET / HTTP/1.1\r\n", "erver ready\r\nlogin:",
		"\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00", "\x0a\x00\x04MQTT\x04\x02\x00\x3c", "\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
		"\x03\x01\x00\x05\x01\x00\x00\x01\x03", "\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\xfeSMB\x00\x00\x00\x00", "\x64\x05\xc9\x01\x00\x00\x04\xe9\x21", "\xfb\x01\xff\xfb\x03\xff\xfd\x18",
	}
	for n := proto.MinFirst - 1; n < 80; n += 3 {
		bodies = append(bodies, strings.Repeat("\x00", n), strings.Repeat("\x01", n), strings.Repeat("\xff", n), strings.Repeat("1", n), strings.Repeat("a", n))
		for range 4 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32N(256) >> r.IntN(8)) // rather small
			}
			bodies = append(bodies, string(b))
		}
	}
	for _, spec := range Protocols() {
		for dir := flow.ToServer; dir <= flow.ToClient; dir++ {
			for _, body := range bodies {
				if !spec.Untold[dir] {
					break
				}
				if v := spec.Probe(dir, []byte(body)); v != proto.NeedMore {
					t.Fatalf("%s, %s: verdict %d on %q, of which it says that it tells nothing", spec.Name, dir, v, body)
				}
			}
			if spec.First == nil {
				continue
			}
			for c := range 256 {
				if spec.First(dir, byte(c)) {
					continue
				}
				for _, body := range bodies {
					b := append([]byte{byte(c)}, body...)
					if v := spec.Probe(dir, b); len(b) >= proto.MinFirst && v != proto.No {
						t.Fatalf("%s, %s: verdict %d on %q, which it says it refuses", spec.Name, dir, v, b)
					}
				}
			}
		}
	}
}

// TestPanels: everybody who can be asked has a bit.
func TestPanels(t *testing.T) {
	t.Parallel()
	s := newSpecs(Protocols())
	for i, carrier := range []proto.Transport{proto.TCP, proto.UDP} {
		n := 0
		for _, spec := range s.all {
			if spec.Carrier&carrier != 0 && spec.Probe != nil {
				n++
			}
		}
		if got := len(s.panels[i].specs); got != n {
			t.Errorf("%d of %d are in the panel of carrier %d", got, n, carrier)
		}
	}
}
