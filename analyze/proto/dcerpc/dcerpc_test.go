package dcerpc

import (
	"encoding/binary"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

// fragment makes one with a body and, if there is a token, a trailer of the given
// level.
func fragment(kind byte, body, token string, level byte) []byte {
	trailer := ""
	if token != "" {
		trailer = string([]byte{9, level, 0, 0, 0, 0, 0, 0}) + token
	}
	b := []byte{5, 0, kind, 3, littleEndian, 0, 0, 0}
	b = binary.LittleEndian.AppendUint16(b, uint16(headLen+len(body)+len(trailer)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(token)))
	b = append(b, 1, 0, 0, 0)
	return append(append(b, body...), trailer...)
}

// A call is named by the interface that its context was bound to, a login by its
// token; what is encrypted is DCE/RPC and no more.
func TestNames(t *testing.T) {
	t.Parallel()
	const (
		drsuapi = "\x35\x42\x51\xe3\x06\x4b\xd1\x11\xab\x04\x00\xc0\x4f\xc2\xdc\xd2\x04\x00\x00\x00"
		ndr     = "\x04\x5d\x88\x8a\xeb\x1c\xc9\x11\x9f\xe8\x08\x00\x2b\x10\x48\x60\x02\x00\x00\x00"
		bound   = "\xd0\x16\xd0\x16\x00\x00\x00\x00" + "\x01\x00\x00\x00" + "\x07\x00\x01\x00" + drsuapi + ndr
		token   = "\xa1\x0a\x30\x08\xa2\x06\x04\x04\x6f\x02\x30\x00" // an answer of Kerberos inside SPNEGO
		call    = "\x00\x00\x00\x00" + "\x07\x00" + "\x01\x00" + "stub"
	)
	for _, tt := range []struct {
		what  string
		level byte
		want  map[string]int
	}{
		{"signed", 5, map[string]int{"drsuapi": 1, "spnego": 1, "spnego-krb5": 1}},
		{"encrypted", 6, map[string]int{"drsuapi": 0, "spnego": 1, "spnego-krb5": 1}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			c := prototest.New(Spec(), proto.TCP, 49668)
			c.Send(flow.ToServer, 0, fragment(bind, bound, token, tt.level))
			c.Send(flow.ToServer, time.Millisecond, fragment(request, call, "signature", tt.level))
			c.End(time.Second, proto.Closed)
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			for name, n := range tt.want {
				if c.Rec.Carried[name] != n {
					t.Errorf("%s counted %d times, want %d", name, c.Rec.Carried[name], n)
				}
			}
		})
	}
}

// What only looks like it at the first byte is left to others.
func TestProbe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what string
		b    []byte
		want proto.Verdict
	}{
		{"bind", fragment(bind, "12345678", "", 0), proto.Certain},
		{"request", fragment(request, "12345678", "", 0), proto.Likely},
		{"cut", fragment(bind, "", "", 0)[:6], proto.NeedMore},
		{"SOCKS", []byte{5, 1, 0}, proto.No},
		{"SOCKS 5 with many methods", []byte{5, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8}, proto.No},
		{"text", []byte("5 GET / HTTP/1.1\r\n"), proto.No},
	} {
		if got := Spec().Probe(flow.ToServer, tt.b); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
