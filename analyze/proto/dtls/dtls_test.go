package dtls

import (
	"encoding/binary"
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
	f.Fuzz(func(t *testing.T, x, y []byte) {
		probe(up, x)
		c := fresh()
		c.Send(up, 0, x).Send(down, time.Second, y).Send(up, 2*time.Second, y).End(3*time.Second, proto.Over)
		if len(c.Rec.Faults) > 0 {
			t.Error(c.Rec.Faults)
		}
	})
}
