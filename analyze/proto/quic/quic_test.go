package quic

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/prototest"
)

const (
	up   = flow.ToServer
	down = flow.ToClient
)

var dcid = []byte{0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08} // RFC 9001, A

// The keys of the RFCs' examples.
func TestKeysOfTheRFCs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		version uint32
		iv      [2]string
	}{
		{"RFC 9001, A.1", version1, [2]string{"fa044b2f42a3fd3b46fb255c", "0ac1493ca1905853b0bba03e"}},
		{"RFC 9369, A.1", version2, [2]string{"91f73e2351d8fa91660e909f", "dd13c276499c0249d3310652"}},
	} {
		for i := range c.iv {
			if got := hex.EncodeToString(initialKeys(c.version, dcid, i).iv); got != c.iv[i] {
				t.Errorf("%s: iv of %d: got %s, want %s", c.what, i, got, c.iv[i])
			}
		}
	}
	// The client's key, by the mask of the example's sample (RFC 9001, A.2).
	k := initialKeys(version1, dcid, 0)
	sample, _ := hex.DecodeString("d1b1c98dd7689fb8ec11d242b123dc9b")
	var mask [aes.BlockSize]byte
	k.block.Encrypt(mask[:], sample)
	if got := hex.EncodeToString(mask[:5]); got != "437b9aec36" {
		t.Errorf("mask: got %s, want 437b9aec36", got)
	}
}

// The server answers in version 2 to a client that began with version 1 and speaks
// both (RFC 9369, 4.1): the first connection id gives the keys of either.
func TestCompatibleVersion(t *testing.T) {
	t.Parallel()
	c := prototest.Run(t, fresh(), []prototest.Step{
		{Dir: up, B: initialPacket(version1, 0, dcid, dcid, []byte{1}, 0, pad(crypto(0, hello("www.test"))))},
		{Dir: down, At: 10 * time.Millisecond, B: initialPacket(version2, 1, dcid, []byte{1}, []byte{2, 2}, 0, pad(crypto(0, serverHello())))},
		{Dir: up, At: 20 * time.Millisecond, B: initialPacket(version2, 0, dcid, []byte{2, 2}, []byte{1}, 1, pad([]byte{2, 0, 0, 0, 0}))},
		{Dir: up, At: 30 * time.Millisecond, B: oneRTT},
	}, proto.Over)
	facts := c.Facts.Attrs()
	if facts["quic.version"] != "1" || facts["quic.version.negotiated"] != "2" || facts["tls.version"] != "TLS 1.3" ||
		len(c.Rec.Reports)+len(c.Rec.Bad) > 0 || len(c.Rec.Exchanges) != 1 || c.Rec.Exchanges[0].Code != "done" {
		t.Errorf("facts %v, codes %v, malformed %v, exchanges %v", facts, c.Rec.Codes(), c.Rec.Bad, c.Rec.Exchanges)
	}
}

// initialPacket makes an Initial packet with frames; from is 0 for the client.
func initialPacket(version uint32, from int, keyID, dst, src []byte, pn byte, frames []byte) []byte {
	k := initialKeys(version, keyID, from)
	typ := byte(0xc0)
	if version == version2 {
		typ = 0xd0
	}
	b := []byte{typ}
	b = binary.BigEndian.AppendUint32(b, version)
	b = append(append(b, byte(len(dst))), dst...)
	b = append(append(b, byte(len(src))), src...)
	b = append(b, 0) // token
	n := 1 + len(frames) + tagLen
	b = append(b, 0x40|byte(n>>8), byte(n))
	at := len(b)
	b = append(b, pn)
	nonce := slices.Clone(k.iv)
	nonce[11] ^= pn
	b = k.aead.Seal(b, nonce, frames, slices.Clone(b))
	var mask [aes.BlockSize]byte
	k.block.Encrypt(mask[:], b[at+4:at+4+sampleLen])
	b[0] ^= mask[0] & 0x0f
	b[at] ^= mask[1]
	return b
}

func crypto(off int, data []byte) []byte {
	b := []byte{6, 0x40 | byte(off>>8), byte(off), 0x40 | byte(len(data)>>8), byte(len(data))}
	return append(b, data...)
}

// hello is a ClientHello with a name and ALPN h3, as a handshake message.
func hello(name string) []byte {
	ext := func(typ byte, data []byte) []byte {
		return append([]byte{0, typ, byte(len(data) >> 8), byte(len(data))}, data...)
	}
	sni := append([]byte{0, byte(len(name) + 3), 0, 0, byte(len(name))}, name...)
	exts := slices.Concat(ext(0, sni), ext(16, []byte{0, 3, 2, 'h', '3'}), ext(43, []byte{2, 3, 4}))
	body := slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0, 0, 2, 0x13, 1, 1, 0, byte(len(exts) >> 8), byte(len(exts))}, exts)
	return slices.Concat([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body)
}

func serverHello() []byte {
	exts := []byte{0, 43, 0, 2, 3, 4}
	body := slices.Concat([]byte{3, 3}, bytes.Repeat([]byte{7}, 32), []byte{0, 0x13, 1, 0, 0, byte(len(exts))}, exts)
	return slices.Concat([]byte{2, 0, byte(len(body) >> 8), byte(len(body))}, body)
}

func pad(frames []byte) []byte { return append(frames, make([]byte, max(0, 1100-len(frames)))...) }

func fresh() *prototest.Conversation {
	c := prototest.New(Spec(), proto.UDP, 443)
	c.Rec.Declare(handshake.Defs()...)
	return c
}

var oneRTT = append([]byte{0x41}, make([]byte, 40)...)

func TestConversations(t *testing.T) {
	t.Parallel()
	ch, sh := hello("www.test"), serverHello()
	first := initialPacket(version1, 0, dcid, dcid, []byte{1}, 0, pad(crypto(0, ch)))
	answer := initialPacket(version1, 1, dcid, []byte{1}, []byte{2, 2}, 0, pad(crypto(0, sh)))
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		codes string
		code  string // of the exchange
	}{
		{"complete", []prototest.Step{{Dir: up, B: first}, {Dir: down, At: 20 * time.Millisecond, B: answer}, {Dir: up, At: 40 * time.Millisecond, B: oneRTT}}, "", "done"},
		{"slow", []prototest.Step{{Dir: up, B: first}, {Dir: down, At: 1500 * time.Millisecond, B: answer}, {Dir: up, At: 1600 * time.Millisecond, B: oneRTT}}, "quic.handshake-slow", "done"},
		{"no answer", []prototest.Step{{Dir: up, B: first}, {Dir: up, At: time.Second, B: first}, {Dir: up, At: 3 * time.Second, B: first}}, "quic.no-answer", "no answer"},
		{"stalled", []prototest.Step{{Dir: up, B: first}, {Dir: down, At: 10 * time.Millisecond, B: answer}, {Dir: down, At: 3 * time.Second, B: answer}}, "quic.handshake-stalled", "stalled"},
		{
			"closed with an alert",
			[]prototest.Step{
				{Dir: up, B: first},
				{Dir: down, At: 10 * time.Millisecond, B: initialPacket(version1, 1, dcid, []byte{1}, []byte{2}, 0, pad([]byte{0x1c, 0x41, 0x78, 6, 3, 'b', 'y', 'e'}))},
			},
			"quic.connection-close", "",
		},
		{"capture ends", []prototest.Step{{Dir: up, B: first}}, "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got := prototest.Run(t, fresh(), c.steps, proto.Over)
			if codes := strings.Join(got.Rec.Codes(), " "); codes != c.codes {
				t.Errorf("codes: got %q, want %q", codes, c.codes)
			}
			code := ""
			if len(got.Rec.Exchanges) > 0 {
				code = got.Rec.Exchanges[0].Code
			}
			if c.code != "" && code != c.code || got.Facts.Name != "www.test" || got.Facts.App != "quic" || len(got.Rec.Bad) > 0 {
				t.Errorf("exchange %q, want %q; facts %+v, malformed %v", code, c.code, got.Facts, got.Rec.Bad)
			}
			if r := got.Rec.Find(Close); r != nil && (r.Text("name") != "no_application_protocol" || r.Text("reason") != "bye" || r.Num("from_server") != 1) {
				t.Errorf("close: %s", r)
			}
			prototest.EveryPrefix(t, fresh, c.steps)
		})
	}
}

func TestVersion2(t *testing.T) {
	t.Parallel()
	c := fresh()
	c.Send(up, 0, initialPacket(version2, 0, dcid, dcid, nil, 1, pad(crypto(0, hello("two.test")))))
	if c.Facts.Name != "two.test" || c.Facts.Attrs()["quic.version"] != "2" || !strings.HasPrefix(c.Facts.Attrs()["tls.ja4"], "q13d") {
		t.Errorf("facts %+v", c.Facts)
	}
}

// Clients shuffle their ClientHello over frames and packets.
func TestShuffledHello(t *testing.T) {
	t.Parallel()
	ch := hello("shuffled.test")
	c := fresh()
	c.Send(up, 0, initialPacket(version1, 0, dcid, dcid, nil, 0, pad(append(crypto(40, ch[40:60]), crypto(0, ch[:20])...))))
	c.Send(up, 0, initialPacket(version1, 0, dcid, dcid, nil, 1, pad(append(crypto(60, ch[60:]), crypto(15, ch[15:45])...))))
	if c.Facts.Name != "shuffled.test" {
		t.Errorf("facts %+v", c.Facts)
	}
}

// After Retry the keys follow from the server's connection id.
func TestRetry(t *testing.T) {
	t.Parallel()
	ch, id := hello("retry.test"), []byte{9, 9, 9, 9}
	c := fresh()
	c.Send(up, 0, initialPacket(version1, 0, dcid, dcid, nil, 0, pad(crypto(0, ch))))
	c.Send(down, 0, slices.Concat([]byte{0xf0, 0, 0, 0, 1, 0, 4}, id, make([]byte, 40)))
	c.Send(up, 0, initialPacket(version1, 0, id, id, nil, 1, pad(crypto(0, ch))))
	c.Send(down, 0, initialPacket(version1, 1, id, nil, id, 0, pad(crypto(0, serverHello()))))
	if got := strings.Join(c.Rec.Codes(), " "); got != "quic.retry" || c.Facts.Attrs()["tls.version"] != "TLS 1.3" {
		t.Errorf("codes %q, facts %v", got, c.Facts.Attrs())
	}
}

func TestVersionNegotiation(t *testing.T) {
	t.Parallel()
	c := fresh()
	grease := slices.Concat([]byte{0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 1, 1, 1, 2}, make([]byte, minInitial))
	c.Send(up, 0, grease)
	c.Send(down, 0, []byte{0x80, 0, 0, 0, 0, 1, 2, 1, 1, 0x0a, 0x0a, 0x0a, 0x0a, 0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf})
	r := c.Rec.Find(Negotiation)
	if r == nil || r.Text("supported") != "1 2" || r.Text("offered") != "0x1a2a3a4a" {
		t.Errorf("got %v", c.Rec.Reports)
	}
}

func TestSpinBit(t *testing.T) {
	t.Parallel()
	var p, random spin
	for i := range 200 {
		p.take(i/10%2 == 1, int64(i)*5*ms)
		random.take(i*i%3 == 1, int64(i)*5*ms)
	}
	if rtt, ok := p.median(); !ok || rtt != 50*ms {
		t.Errorf("got %d, %v; want 50 ms", rtt, ok)
	}
	if _, ok := random.median(); ok {
		t.Error("random bits were taken for a spin")
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		b    []byte
		want proto.Verdict
	}{
		{"Initial", initialPacket(version1, 0, dcid, dcid, nil, 0, pad(crypto(0, hello("x")))), proto.Certain},
		{"short header", oneRTT, proto.No},
		{"DNS", []byte{0x83, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1}, proto.No},
		{"RTP", []byte{0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9}, proto.No},
		{"empty", nil, proto.No},
	} {
		if got := probe(up, c.b); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}

func FuzzQUIC(f *testing.F) {
	f.Add(initialPacket(version1, 0, dcid, dcid, nil, 0, pad(crypto(0, hello("x")))), []byte{6, 0, 1, 1})
	f.Add([]byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{2, 0, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b, frames []byte) {
		probe(up, b)
		c := fresh()
		// Frames behind good keys too: protection would keep the fuzzer out.
		c.Send(up, 0, initialPacket(version1, 0, dcid, dcid, nil, 0, append(frames, make([]byte, sampleLen)...)))
		c.Send(up, 0, b).Send(down, time.Second, b).End(2*time.Second, proto.Over)
		if len(c.Rec.Faults) > 0 {
			t.Error(c.Rec.Faults)
		}
	})
}
