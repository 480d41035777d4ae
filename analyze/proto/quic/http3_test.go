package quic

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
	"netwhy/analyze/proto/internal/web"
	"netwhy/analyze/proto/prototest"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The examples of RFC 9204, B.1 to B.4.
func TestQPACKExamples(t *testing.T) {
	t.Parallel()
	var d table
	for _, c := range []struct {
		encoder, section string
		path, authority  string
	}{
		{"", "0000 510b 2f696e6465782e68746d6c", "/index.html", ""},
		{"3fbd01 c00f 7777772e6578616d706c652e636f6d c10c 2f73616d706c652f70617468", "0381 10 11", "/sample/path", "www.example.com"},
		{"4a 637573746f6d2d6b6579 0c 637573746f6d2d76616c7565 02", "0500 80 c1 81", "/", "www.example.com"},
	} {
		p := pieces{ready: unhex(t, c.encoder)}
		if !d.instructions(&p) || len(p.ready) > 0 {
			t.Fatalf("%s: %d bytes left", c.encoder, len(p.ready))
		}
		fs, ok := d.section(unhex(t, c.section))
		if !ok || fs.Path != c.path || fs.Authority != c.authority {
			t.Errorf("%s: got %+v", c.section, fs)
		}
	}
	if d.at(2).value != "custom-value" || d.inserted != 4 {
		t.Errorf("table %+v", d.entries)
	}
}

// ChaCha20's header protection (RFC 9001, A.5).
func TestChaCha20(t *testing.T) {
	t.Parallel()
	c, _ := suiteOf(0x1303)
	secret := unhex(t, "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b")
	k := c.keys(version1, secret)
	whole := unhex(t, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb")
	var s proto.Scope
	o, head, ok := k.peek(&s, whole, 1, 654_360_563)
	if !ok || !k.open(&s, &o, whole, head) || o.number != 654_360_564 || len(o.frames) != 1 || o.frames[0] != 1 {
		t.Errorf("got %+v %v", o, ok)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cut     uint64
		n       int
		largest uint64
		want    uint64
	}{
		{0x9b32, 2, 0xa82f30ea, 0xa82f9b32}, // RFC 9000, A.3
		{0, 1, 255, 256},
		{255, 1, 256, 255},
		{7, 1, 0, 7},
	} {
		if got := restore(c.cut, c.n, c.largest); got != c.want {
			t.Errorf("%x after %x: got %x, want %x", c.cut, c.largest, got, c.want)
		}
	}
}

const testSuite = 0x1301

// sealed makes a packet with a short header; id is the receiver's. The protection
// of the header stays that of the first secret, which tells by its letter whose it is.
func sealed(secret []byte, phase byte, id []byte, pn byte, frames []byte) []byte {
	c, _ := suiteOf(testSuite)
	whose := "s"
	if secret[0] == 'c' {
		whose = "c"
	}
	k, header := c.update(version1, secret), c.keys(version1, []byte(strings.Repeat(whose, 32)))
	head := append([]byte{0x40 | phase}, id...)
	head = append(head, pn)
	nonce := slices.Clone(k.iv)
	nonce[len(nonce)-1] ^= pn
	out := k.aead.Seal(slices.Clone(head), nonce, append(frames, make([]byte, sampleLen)...), head)
	at := len(head) - 1
	mask := header.mask(out[at+4 : at+4+sampleLen])
	out[0] ^= mask[0] & 0x1f
	out[at] ^= mask[1]
	return out
}

func streamBytes(id byte, fin bool, b ...byte) []byte {
	typ := byte(0x0a)
	if fin {
		typ = 0x0b
	}
	return append([]byte{typ, id, byte(len(b))}, b...)
}

// opened conversation: a handshake whose messages were read, and secrets.
func talking() (*prototest.Conversation, *analyzer) {
	c := fresh()
	c.Rec.Declare(web.Defs()...)
	c.Rec.Declare(handshake.Defs()...)
	a := newAnalyzer()
	spec := Spec()
	spec.New = func() proto.Analyzer { return a }
	rec := c.Rec
	c = prototest.New(spec, proto.UDP, 443)
	rec.Declare(spec.Codes...)
	c.Rec = rec
	client, server := []byte(strings.Repeat("c", 32)), []byte(strings.Repeat("s", 32))
	random := hex.EncodeToString(make([]byte, 32))
	c.Rec.Secrets = map[string][]byte{labelClientTraffic + " " + random: client, labelServerTraffic + " " + random: server}
	a.version, a.cid = version1, [2]int{4, 4}
	a.session.Client, a.session.Server = &tlsmsg.Client{Identity: &tlsmsg.Identity{ALPN: []string{"h3"}}}, &tlsmsg.Server{Cipher: testSuite}
	return c, a
}

func TestHTTP3(t *testing.T) {
	t.Parallel()
	id := []byte{1, 2, 3, 4}
	client, server := []byte(strings.Repeat("c", 32)), []byte(strings.Repeat("s", 32))
	get := streamBytes(0, true, 0x01, 0x04, 0, 0, 0xd1, 0xc1)                                           // GET /
	busy := streamBytes(0, true, 0x01, 0x03, 0, 0, 0xdc, 0x00, 0x02, 'n', 'o')                          // 503, with a body
	hint := streamBytes(0, false, 0x01, 0x03, 0, 0, 0xd8, 0x01, 0x03, 0, 0, 0xdc, 0x00, 0x02, 'n', 'o') // 103 before
	suite, _ := suiteOf(testSuite)
	next := tlsmsg.ExpandLabel(suite.hash, server, "quic ku", len(server))
	for _, c := range []struct {
		what     string
		frames   []prototest.Step
		exchange string
		codes    []string
		attempt  string
	}{
		{"answered with an error", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: 30 * time.Millisecond, B: sealed(server, 0, id, 1, busy)},
		}, "GET / 503 failed", []string{"http.server-error"}, "answered"},
		{"interim answer first, reset later", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: 30 * time.Millisecond, B: sealed(server, 0, id, 1, hint)},
			{Dir: down, At: 40 * time.Millisecond, B: sealed(server, 0, id, 2, []byte{0x04, 0, 0x41, 0x02, 15})},
		}, "GET / 503 failed cut", []string{"http.server-error"}, "answered"},
		{"rejected", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: 30 * time.Millisecond, B: sealed(server, 0, id, 1, []byte{0x04, 0, 0x41, 0x0b, 0})},
		}, "GET / H3_REQUEST_REJECTED failed cut", nil, "lost over"},
		{"after an update of the keys", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: 30 * time.Millisecond, B: sealed(next, phaseBit, id, 9, busy)},
		}, "GET / 503 failed", []string{"http.server-error"}, "answered"},
		{"no answer", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: up, At: 3 * time.Second, B: sealed(client, 0, id, 2, []byte{1})},
		}, "GET /  failed cut", []string{"http.no-response"}, "lost"},
		{"closed with an error of HTTP/3", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: time.Millisecond, B: sealed(server, 0, id, 1, []byte{0x1d, 0x41, 0x07, 0})},
		}, "GET /  failed cut", []string{"quic.connection-close", "http.no-response"}, "lost over"},
		{"request sent again behind the answer", []prototest.Step{
			{Dir: up, B: sealed(client, 0, id, 1, get)},
			{Dir: down, At: 30 * time.Millisecond, B: sealed(server, 0, id, 1, busy)},
			{Dir: up, At: 40 * time.Millisecond, B: sealed(client, 0, id, 2, get)},
			{Dir: up, At: 3 * time.Second, B: sealed(client, 0, id, 3, []byte{1})},
		}, "GET / 503 failed", []string{"http.server-error"}, "answered"},
		{"closed because all is done", []prototest.Step{
			{Dir: down, At: time.Millisecond, B: sealed(server, 0, id, 1, []byte{0x1d, 0x41, 0x00, 0})},
		}, "", nil, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			conv, a := talking()
			a.unlock(&proto.Scope{Out: conv.Rec})
			prototest.Run(t, conv, c.frames, proto.Over)
			if got := conv.Rec.Codes(); !slices.Equal(got, c.codes) {
				t.Errorf("codes %q, want %q", got, c.codes)
			}
			text := ""
			for _, x := range conv.Rec.Exchanges {
				if text = x.Label + " " + x.Code; x.Failed {
					text += " failed"
				}
				if !x.Complete {
					text += " cut"
				}
			}
			if text != c.exchange || len(conv.Rec.Bad) > 0 {
				t.Errorf("exchange %q, want %q; malformed %q", text, c.exchange, conv.Rec.Bad)
			}
			attempt := ""
			for _, e := range conv.Rec.Events {
				if x, ok := e.(*web.Attempt); ok {
					attempt = map[bool]string{false: "answered", true: "lost"}[x.Unanswered] + map[bool]string{true: " over"}[x.Over]
				}
			}
			if attempt != c.attempt {
				t.Errorf("attempt %q, want %q", attempt, c.attempt)
			}
			if conv.Facts.Attrs()["tls.decrypted"] != "yes" {
				t.Error("not decrypted")
			}
		})
	}
}

// FuzzInside feeds frames as if secrets had opened them, and what QPACK is made of.
func FuzzInside(f *testing.F) {
	f.Add(byte(0), streamBytes(0, true, 0x01, 0x04, 0, 0, 0xd1, 0xc1))
	f.Add(byte(1), slices.Concat(streamBytes(3, false, 0, 4, 2, 1, 0x30), streamBytes(7, false, 2, 0x3f, 0xbd, 1, 0xc0, 1, 'x')))
	f.Add(byte(1), []byte{0x04, 0, 0x41, 0x02, 15, 0x1d, 0x41, 0x07, 0, 0x02, 9, 0, 1, 0, 1, 1, 0x31, 1, 7, 0x18, 0, 0, 1, 9})
	f.Add(byte(1), append([]byte{6, 0, 8, tlsmsg.TypeEncryptedExtensions, 0, 0, 4}, binary.BigEndian.AppendUint32(nil, 0)...))
	f.Fuzz(func(t *testing.T, from byte, b []byte) {
		conv, a := talking()
		s := &proto.Scope{Out: conv.Rec, Facts: &conv.Facts}
		a.unlock(s)
		for range 2 {
			a.inside(s, int(from&1), b, &a.secure.crypto[from&1])
		}
		a.End(s, proto.Over)
		var d table
		p := pieces{ready: slices.Clone(b)}
		d.instructions(&p)
		d.section(b)
		if len(conv.Rec.Faults) > 0 {
			t.Error(conv.Rec.Faults)
		}
	})
}
