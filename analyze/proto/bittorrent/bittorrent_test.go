package bittorrent_test

import (
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/bittorrent"
	"netwhy/analyze/proto/prototest"
)

// The handshake is recognised, and messages are cut by their length; what is none is
// counted as it comes.
func TestMessages(t *testing.T) {
	t.Parallel()
	hello := "\x13BitTorrent protocol" + string(make([]byte, 48))
	spec := bittorrent.Spec()
	if spec.Probe(flow.ToServer, []byte(hello[:10])) != proto.NeedMore || spec.Probe(flow.ToServer, []byte(hello)) != proto.Certain ||
		spec.Probe(flow.ToServer, []byte("\x13Bits")) != proto.No {
		t.Error("the handshake is not recognised")
	}
	const piece = "\x00\x00\x00\x11\x07\x00\x00\x00\x01\x00\x00\x00\x00"
	for _, x := range []struct {
		what string
		say  []string
		want int
	}{
		{"three messages", []string{hello + "\x00\x00\x00\x01\x02\x00\x00\x00\x00"}, 3},
		{"a message in two segments", []string{hello + "\x00\x00\x00\x05\x04\x00", "\x00\x00\x01"}, 2},
		{"a piece in three", []string{piece, "1234", "5678"}, 1},
		{"no message", []string{"HTTP/1.1 200 OK", "x: y\r\n"}, 2},
		{"less than a length", []string{"\x00\x00"}, 0},
		{"a piece longer than any", []string{"\x00\x00\x40\x0a" + piece[4:], "1234"}, 2},
		{"a request of a wrong length", []string{"\x00\x00\x00\x20\x06", "1234"}, 2},
	} {
		c := prototest.New(spec, proto.TCP, 40001)
		for i, text := range x.say {
			c.Send(flow.ToServer, time.Duration(i)*time.Millisecond, []byte(text))
		}
		if n := c.Rec.Carried["bittorrent"]; c.Err != nil || n != x.want {
			t.Errorf("%s: counted %d times, want %d: %v", x.what, n, x.want, c.Err)
		}
	}
}

// From the middle on it is recognised where one of the ports is its own, but for texts
// and what others begin with.
func TestMidway(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]proto.Verdict{
		"\x00\x00\x40\x09\x07": proto.Likely, "\xee": proto.Likely, "text": proto.No,
		"\x16\x03\x01\x02\x00\x01": proto.No, "\x13Bit": proto.No,
	} {
		if got := bittorrent.Midway().Probe(flow.ToServer, []byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
