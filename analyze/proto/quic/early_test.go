package quic

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
	"netwhy/analyze/proto/prototest"
)

// earlyPacket makes a 0-RTT packet (RFC 9000, 17.2.3) with the keys of a secret.
func earlyPacket(secret, dst, src []byte, pn byte, frames []byte) []byte {
	c, _ := suiteOf(testSuite)
	k := c.keys(version1, secret)
	b := binary.BigEndian.AppendUint32([]byte{0xd0}, version1)
	b = append(append(b, byte(len(dst))), dst...)
	b = append(append(b, byte(len(src))), src...)
	n := 1 + len(frames) + tagLen
	b = append(b, 0x40|byte(n>>8), byte(n))
	at := len(b)
	b = append(b, pn)
	nonce := slices.Clone(k.iv)
	nonce[11] ^= pn
	b = k.aead.Seal(b, nonce, frames, slices.Clone(b))
	mask := k.mask(b[at+4 : at+4+sampleLen])
	b[0] ^= mask[0] & 0x0f
	b[at] ^= mask[1]
	return b
}

// with adds extensions without data to a hello that stands in a handshake message.
func with(message []byte, sessionID int, types ...byte) []byte {
	m := slices.Clone(message)
	at := 4 + 2 + 32 + 1 + sessionID // behind the session
	if m[0] == 1 {
		at += 2 + int(m[at+1]) // ciphers
		at += 1 + int(m[at])   // compression
	} else {
		at += 3 // cipher, compression
	}
	for _, typ := range types {
		m = append(m, 0, typ, 0, 0)
	}
	binary.BigEndian.PutUint16(m[at:], uint16(len(m)-at-2))
	m[2], m[3] = byte((len(m)-4)>>8), byte(len(m)-4)
	return m
}

// Data in 0-RTT packets is counted; whether the server took it shows in its ServerHello,
// and what it was with a key log.
func TestEarlyData(t *testing.T) {
	t.Parallel()
	const psk, early = 41, 42
	secret := bytes.Repeat([]byte{'e'}, 32)
	random := hex.EncodeToString(make([]byte, 32))
	ch := with(hello("www.test"), 0, early, psk)
	first := initialPacket(version1, 0, dcid, dcid, []byte{1}, 0, pad(crypto(0, ch)))
	get := streamBytes(0, true, 0x01, 0x04, 0, 0, 0xd1, 0xc1) // GET /
	data := earlyPacket(secret, dcid, []byte{1}, 0, append(get, make([]byte, 30)...))
	for _, c := range []struct {
		what    string
		answer  []byte
		secrets map[string][]byte
		codes   string
		outcome string
		lost    int // requests without an answer
	}{
		{"refused", serverHello(), nil, "tls.early-data-refused", "refused", 0},
		{"taken, as it seems", with(serverHello(), 0, psk), nil, "", "", 0},
		{"readable", with(serverHello(), 0, psk), map[string][]byte{labelEarlyTraffic + " " + random: secret}, "http.no-response", "", 1},
		{"secrets of another connection", with(serverHello(), 0, psk), map[string][]byte{labelEarlyTraffic + " " + random: make([]byte, 32)}, "", "", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			conv := fresh()
			conv.Rec.Declare(web.Defs()...)
			conv.Rec.Secrets = c.secrets
			got := prototest.Run(t, conv, []prototest.Step{
				{Dir: up, B: slices.Concat(first, data)},
				{Dir: up, At: time.Millisecond, B: data},
				{Dir: down, At: 20 * time.Millisecond, B: initialPacket(version1, 1, dcid, []byte{1}, []byte{2, 2}, 0, pad(crypto(0, c.answer)))},
				{Dir: up, At: 40 * time.Millisecond, B: oneRTT},
				{Dir: up, At: 3 * time.Second, B: oneRTT},
			}, proto.Over)
			if codes := strings.Join(got.Rec.Codes(), " "); codes != c.codes || len(got.Rec.Bad) > 0 {
				t.Errorf("codes %q, want %q; malformed %q", codes, c.codes, got.Rec.Bad)
			}
			facts := got.Facts.Attrs()
			if facts["tls.early_data.offered"] != "yes" || facts["tls.early_data"] != c.outcome || facts["quic.early_data.packets"] != "2" {
				t.Errorf("facts %v", facts)
			}
			lost := 0
			for i := range got.Rec.Exchanges {
				if got.Rec.Exchanges[i].Label == "GET /" {
					lost++
				}
			}
			if lost != c.lost {
				t.Errorf("%d requests, want %d", lost, c.lost)
			}
		})
	}
}
