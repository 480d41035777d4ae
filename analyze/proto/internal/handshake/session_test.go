package handshake_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
	"netwhy/analyze/proto/prototest"
)

// block is a list of extensions without data, but for the versions.
func block(types ...byte) []byte {
	var b []byte
	for _, typ := range types {
		if typ == 43 {
			b = append(b, 0, typ, 0, 2, 3, 4)
			continue
		}
		b = append(b, 0, typ, 0, 0)
	}
	return append([]byte{0, byte(len(b))}, b...)
}

func clientHello(types ...byte) []byte {
	return slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0, 0, 2, 0x13, 1, 1, 0}, block(types...))
}

func serverHello(random []byte, types ...byte) []byte {
	return slices.Concat([]byte{3, 3}, random, []byte{0, 0x13, 1, 0}, block(types...))
}

// What becomes of early data is told once, as soon as it is known (RFC 8446, 4.2.10).
func TestEarlyData(t *testing.T) {
	t.Parallel()
	const psk, early, versions = 41, 42, 43
	retry := []byte("\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c")
	random := bytes.Repeat([]byte{7}, 32)
	type message struct {
		typ  uint8
		body []byte
	}
	for _, c := range []struct {
		what    string
		hello   []byte
		answers []message
		outcome string
		codes   string
	}{
		{"not offered", clientHello(), []message{{tlsmsg.TypeServerHello, serverHello(random, versions)}}, "", ""},
		{"not known yet", clientHello(early, psk), []message{{tlsmsg.TypeServerHello, serverHello(random, versions, psk)}}, "", ""},
		{"accepted", clientHello(early, psk), []message{
			{tlsmsg.TypeServerHello, serverHello(random, versions, psk)}, {tlsmsg.TypeEncryptedExtensions, block(early)},
		}, "accepted", ""},
		{"refused when resumed", clientHello(early, psk), []message{
			{tlsmsg.TypeServerHello, serverHello(random, versions, psk)}, {tlsmsg.TypeEncryptedExtensions, block()},
		}, "refused", "tls.early-data-refused"},
		{"not resumed", clientHello(early, psk), []message{
			{tlsmsg.TypeServerHello, serverHello(random, versions)}, {tlsmsg.TypeEncryptedExtensions, block()},
		}, "refused", "tls.early-data-refused"},
		{"asked to prove its address", clientHello(early, psk), []message{
			{tlsmsg.TypeServerHello, serverHello(retry, versions)}, {tlsmsg.TypeServerHello, serverHello(random, versions, psk)},
		}, "refused", "tls.early-data-refused"},
	} {
		rec, facts := &prototest.Recorder{}, &proto.Facts{}
		rec.Declare(handshake.Defs()...)
		s := &proto.Scope{At: 1, FrameNo: 1, Out: rec, Facts: facts}
		h := handshake.Session{Transport: tlsmsg.OverTCP}
		h.Message(s, flow.ToServer, tlsmsg.TypeClientHello, c.hello, handshake.When{At: 1, Frame: 1})
		for _, m := range c.answers {
			h.Message(s, flow.ToClient, m.typ, m.body, handshake.When{At: 2, Frame: 2})
		}
		if got := facts.Attrs()["tls.early_data"]; got != c.outcome || strings.Join(rec.Codes(), " ") != c.codes {
			t.Errorf("%s: got %q and %v, want %q and %q", c.what, got, rec.Codes(), c.outcome, c.codes)
		}
	}
}
