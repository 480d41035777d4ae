package dtls

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
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

func rec(typ byte, epoch uint16, body []byte) []byte {
	b := []byte{typ, 0xfe, 0xfd, byte(epoch >> 8), byte(epoch), 0, 0, 0, 0, 0, 0}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(body))), body...)
}

// part is bytes from..to of a message as a fragment.
func part(typ byte, seq, from, to int, body []byte) []byte {
	u24 := func(n int) []byte { return []byte{byte(n >> 16), byte(n >> 8), byte(n)} }
	return slices.Concat([]byte{typ}, u24(len(body)), []byte{byte(seq >> 8), byte(seq)}, u24(from), u24(to-from), body[from:to])
}

func whole(typ byte, seq int, body []byte) []byte { return part(typ, seq, 0, len(body), body) }

func clientHello(name string, cookie byte) []byte {
	sni := append([]byte{0, byte(len(name) + 3), 0, 0, byte(len(name))}, name...)
	exts := append([]byte{0, 0, 0, byte(len(sni))}, sni...)
	return slices.Concat([]byte{0xfe, 0xfd}, make([]byte, 32), []byte{0, 1, cookie, 0, 2, 0xc0, 0x2b, 1, 0, 0, byte(len(exts))}, exts)
}

func serverHello() []byte {
	return slices.Concat([]byte{0xfe, 0xfd}, make([]byte, 32), []byte{0, 0xc0, 0x2b, 0})
}

func fresh() *prototest.Conversation {
	c := prototest.New(Spec(), proto.UDP, 4433)
	c.Rec.Declare(handshake.Defs()...)
	return c
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	first := rec(22, 0, whole(1, 0, clientHello("d.test", 0)))
	verify := rec(22, 0, whole(3, 0, []byte{0xfe, 0xff, 1, 9}))
	second := rec(22, 0, whole(1, 1, clientHello("d.test", 9)))
	server := slices.Concat(rec(22, 0, whole(2, 1, serverHello())), rec(22, 0, whole(14, 2, nil)))
	finish := slices.Concat(rec(20, 0, []byte{1}), rec(22, 1, make([]byte, 40)))
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		codes string
		code  string
	}{
		{"complete", []prototest.Step{
			{Dir: up, B: first},
			{Dir: down, At: at(10), B: verify},
			{Dir: up, At: at(20), B: second},
			{Dir: down, At: at(30), B: server},
			{Dir: up, At: at(40), B: finish},
			{Dir: down, At: at(50), B: finish},
		}, "", "done"},
		{"no answer", []prototest.Step{{Dir: up, B: first}, {Dir: up, At: at(1000), B: first}, {Dir: up, At: at(3000), B: first}}, "tls.handshake-stalled", "stalled"},
		{"alert", []prototest.Step{{Dir: up, B: first}, {Dir: down, At: at(10), B: rec(21, 0, []byte{2, 40})}}, "tls.fatal-alert", "handshake_failure"},
	} {
		got := prototest.Run(t, fresh(), c.steps, proto.Over)
		if codes := strings.Join(got.Rec.Codes(), " "); codes != c.codes {
			t.Errorf("%s: codes %q, want %q", c.what, codes, c.codes)
		}
		if len(got.Rec.Exchanges) != 1 || got.Rec.Exchanges[0].Code != c.code || got.Facts.Name != "d.test" || !strings.HasPrefix(got.Facts.Attrs()["tls.ja4"], "dd2d") {
			t.Errorf("%s: exchanges %+v, facts %+v", c.what, got.Rec.Exchanges, got.Facts)
		}
		prototest.EveryPrefix(t, fresh, c.steps)
	}
}

// Fragments in any order, overlapping and repeated, make the message once.
func TestFragments(t *testing.T) {
	t.Parallel()
	body := clientHello("fragments.test", 0)
	n := len(body)
	c := fresh()
	for _, p := range [][2]int{{n - 10, n}, {0, 20}, {15, 40}, {15, 40}, {30, n - 5}, {0, 20}} {
		c.Send(up, 0, rec(22, 0, part(1, 0, p[0], p[1], body)))
	}
	if c.Facts.Name != "fragments.test" || len(c.Rec.Bad) > 0 {
		t.Errorf("facts %+v, malformed %v", c.Facts, c.Rec.Bad)
	}
}

// hello13 is a ClientHello of DTLS 1.3 (RFC 9147, 5.3), with a connection id of one
// byte wanted, and further extensions without data.
func hello13(name string, types ...byte) []byte {
	sni := append([]byte{0, byte(len(name) + 3), 0, 0, byte(len(name))}, name...)
	exts := append([]byte{0, 0, 0, byte(len(sni))}, sni...)
	exts = append(exts, 0, 43, 0, 5, 4, 0xfe, 0xfc, 0xfe, 0xfd, 0, 54, 0, 2, 1, 7)
	for _, typ := range types {
		exts = append(exts, 0, typ, 0, 0)
	}
	return slices.Concat([]byte{0xfe, 0xfd}, make([]byte, 32), []byte{0, 0, 0, 2, 0x13, 1, 1, 0, 0, byte(len(exts))}, exts)
}

// answer13 is a ServerHello; the server wants connection ids of two bytes.
func answer13(random []byte, exts ...byte) []byte {
	exts = append([]byte{0, 43, 0, 2, 0xfe, 0xfc, 0, 54, 0, 3, 2, 8, 8}, exts...)
	return slices.Concat([]byte{0xfe, 0xfd}, random, []byte{0, 0x13, 1, 0, 0, byte(len(exts))}, exts)
}

// unified is a protected record of DTLS 1.3 (RFC 9147, 4) with a number of 16 bits
// and a length.
func unified(epoch byte, cid []byte, n int) []byte {
	b := []byte{0x2c | epoch}
	if len(cid) > 0 {
		b[0] |= 0x10
	}
	b = append(append(b, cid...), 0xaa, 0xbb)
	return append(binary.BigEndian.AppendUint16(b, uint16(n)), make([]byte, n)...)
}

func TestVersion13(t *testing.T) {
	t.Parallel()
	const psk, early = 41, 42
	retry := []byte("\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c")
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	first := rec(22, 0, whole(1, 0, hello13("d.test")))
	resuming := slices.Concat(rec(22, 0, whole(1, 0, hello13("d.test", early, psk))), unified(1, nil, 100))
	second := rec(22, 0, whole(1, 1, hello13("d.test")))
	cookie := rec(22, 0, whole(2, 0, answer13(retry, 0, 44, 0, 3, 0, 1, 9)))
	group := rec(22, 0, whole(2, 0, answer13(retry, 0, 51, 0, 2, 0, 29)))
	flight := slices.Concat(rec(22, 0, whole(2, 1, answer13(make([]byte, 32)))), unified(2, []byte{7}, 40), unified(2, []byte{7}, 700))
	resumed := slices.Concat(rec(22, 0, whole(2, 0, answer13(make([]byte, 32), 0, psk, 0, 2, 0, 0))), unified(2, []byte{7}, 60))
	ack, finished, alert := unified(2, []byte{8, 8}, 35), unified(2, []byte{8, 8}, 61), unified(2, []byte{8, 8}, 19)
	unlong := append([]byte{0x32, 8, 8, 0xaa}, make([]byte, 61)...) // short number, no length
	for _, c := range []struct {
		what  string
		steps []prototest.Step
		codes string
		code  string
		facts string // name=value, ...
	}{
		{"complete after a proof of the address", []prototest.Step{
			{Dir: up, B: first},
			{Dir: down, At: at(10), B: cookie},
			{Dir: up, At: at(20), B: second},
			{Dir: down, At: at(30), B: flight},
			{Dir: up, At: at(40), B: ack},
			{Dir: up, At: at(50), B: finished},
			{Dir: down, At: at(60), B: unified(3, []byte{7}, 35)},
		}, "", "done", "tls.version=DTLS 1.3, tls.hello_retry=cookie, dtls.cid=yes"},
		{"another group", []prototest.Step{
			{Dir: up, B: first},
			{Dir: down, At: at(10), B: group},
			{Dir: up, At: at(20), B: second},
			{Dir: down, At: at(30), B: flight},
			{Dir: up, At: at(40), B: unlong},
		}, "tls.hello-retry", "done", "tls.hello_retry=yes"},
		{"the client says no more", []prototest.Step{
			{Dir: up, B: first},
			{Dir: down, At: at(10), B: flight},
			{Dir: up, At: at(20), B: ack},
			{Dir: down, At: at(3000), B: unified(2, []byte{7}, 700)},
			{Dir: down, At: at(9000), B: []byte{0x2c}},
		}, "tls.handshake-stalled", "stalled", "tls.version=DTLS 1.3"},
		{"refused in secret", []prototest.Step{
			{Dir: up, B: first},
			{Dir: down, At: at(10), B: flight},
			{Dir: up, At: at(20), B: alert},
		}, "tls.encrypted-alert", "encrypted alert", "tls.version=DTLS 1.3"},
		{"early data", []prototest.Step{
			{Dir: up, B: resuming},
			{Dir: up, At: at(5), B: unified(1, nil, 50)},
			{Dir: down, At: at(10), B: resumed},
			{Dir: up, At: at(20), B: finished},
		}, "", "done", "tls.early_data.offered=yes, dtls.early_data.records=2, tls.resumed=psk"},
		{"early data refused", []prototest.Step{
			{Dir: up, B: resuming},
			{Dir: down, At: at(10), B: flight},
			{Dir: up, At: at(20), B: finished},
		}, "tls.early-data-refused", "done", "tls.early_data=refused"},
	} {
		got := prototest.Run(t, fresh(), c.steps, proto.Over)
		if codes := strings.Join(got.Rec.Codes(), " "); codes != c.codes || len(got.Rec.Bad) > 0 {
			t.Errorf("%s: codes %q, want %q; malformed %q", c.what, codes, c.codes, got.Rec.Bad)
		}
		if code := exchanged(got.Rec); code != c.code {
			t.Errorf("%s: exchange %q, want %q", c.what, code, c.code)
		}
		facts := got.Facts.Attrs()
		for fact := range strings.SplitSeq(c.facts, ", ") {
			name, value, _ := strings.Cut(fact, "=")
			if facts[name] != value {
				t.Errorf("%s: %s is %q, want %q", c.what, name, facts[name], value)
			}
		}
		if !strings.HasPrefix(facts["tls.ja4"], "dd3d") {
			t.Errorf("%s: JA4 %s", c.what, facts["tls.ja4"])
		}
		prototest.EveryPrefix(t, fresh, c.steps)
	}
}

// exchanged is the code of the only exchange.
func exchanged(r *prototest.Recorder) string {
	if len(r.Exchanges) != 1 {
		return ""
	}
	return r.Exchanges[0].Code
}

// Records with connection ids in DTLS 1.2 (RFC 9146): as long as the receiver wants.
func TestConnectionIDs(t *testing.T) {
	t.Parallel()
	withID := func(id []byte, n int) []byte {
		b := append([]byte{25, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 1}, id...)
		return append(binary.BigEndian.AppendUint16(b, uint16(n)), make([]byte, n)...)
	}
	answer := slices.Concat([]byte{0xfe, 0xfd}, make([]byte, 32), []byte{0, 0xc0, 0x2b, 0, 0, 7, 0, 54, 0, 3, 2, 8, 8})
	got := prototest.Run(t, fresh(), []prototest.Step{
		{Dir: up, B: rec(22, 0, whole(1, 0, hello13("d.test")))},
		{Dir: down, At: time.Millisecond, B: slices.Concat(rec(22, 0, whole(2, 0, answer)), rec(22, 0, whole(14, 1, nil)))},
		{Dir: up, At: 2 * time.Millisecond, B: slices.Concat(rec(20, 0, []byte{1}), withID([]byte{8, 8}, 40))},
		{Dir: down, At: 3 * time.Millisecond, B: slices.Concat(rec(20, 0, []byte{1}), withID([]byte{7}, 40), withID([]byte{7}, 50))},
	}, proto.Over)
	facts := got.Facts.Attrs()
	if len(got.Rec.Bad)+len(got.Rec.Reports) > 0 || exchanged(got.Rec) != "done" || facts["dtls.cid"] != "yes" || facts["tls.version"] != "DTLS 1.2" {
		t.Errorf("exchange %q, facts %v, codes %v, malformed %v", exchanged(got.Rec), facts, got.Rec.Codes(), got.Rec.Bad)
	}
}

// A conversation of pion/dtls with itself: the client wants ids of 4 bytes, the
// server of 8.
func TestRecordedConnectionIDs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "connection-ids.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const recorded = 1065 * 24 * time.Hour // after prototest.Epoch: the certificate is valid then
	var steps []prototest.Step
	for line := range strings.Lines(string(text)) {
		from, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, prototest.Step{Dir: map[string]flow.Dir{"up": up, "down": down}[from], At: recorded + time.Duration(len(steps))*time.Millisecond, B: b})
	}
	got := prototest.Run(t, fresh(), steps, proto.Over)
	facts := got.Facts.Attrs()
	if len(got.Rec.Bad) > 0 || exchanged(got.Rec) != "done" || facts["dtls.cid"] != "yes" || facts["tls.certificate.subject"] != "cid.test" ||
		strings.Join(got.Rec.Codes(), " ") != "tls.certificate-self-signed" {
		t.Errorf("exchange %q, facts %v, codes %v, malformed %v", exchanged(got.Rec), facts, got.Rec.Codes(), got.Rec.Bad)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	data := rec(23, 1, make([]byte, 20))
	for _, c := range []struct {
		what string
		b    []byte
		want proto.Verdict
	}{
		{"ClientHello", rec(22, 0, whole(1, 0, clientHello("x", 0))), proto.Certain},
		{"one record of data", data, proto.Likely},
		{"two records", slices.Concat(data, data), proto.Certain},
		{"STUN", []byte{0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, proto.No},
		{"TLS", []byte{22, 3, 1, 0, 5, 1, 0, 0, 1, 0, 0, 0, 0, 0}, proto.No},
		{"empty", nil, proto.No},
	} {
		if got := probe(up, c.b); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
}

func FuzzDTLS(f *testing.F) {
	f.Add(rec(22, 0, whole(1, 0, clientHello("x", 0))), rec(22, 0, part(2, 1, 0, 10, serverHello())))
	f.Add(rec(22, 0, whole(1, 0, hello13("x"))), slices.Concat(rec(22, 0, whole(2, 0, answer13(make([]byte, 32)))), unified(2, []byte{7}, 40), unified(3, []byte{7}, 19)))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		probe(up, x)
		c := fresh()
		c.Send(up, 0, x).Send(down, time.Second, y).Send(up, 2*time.Second, y).End(3*time.Second, proto.Over)
		if len(c.Rec.Faults) > 0 {
			t.Error(c.Rec.Faults)
		}
	})
}
