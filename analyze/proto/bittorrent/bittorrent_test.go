package bittorrent_test

import (
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/bittorrent"
	"netwhy/analyze/proto/prototest"
)

// The handshake is recognised, and messages are cut by their length until one is
// impossible.
func TestMessages(t *testing.T) {
	t.Parallel()
	hello := "\x13BitTorrent protocol" + string(make([]byte, 48))
	spec := bittorrent.Spec()
	if spec.Probe(flow.ToServer, []byte(hello[:10])) != proto.NeedMore || spec.Probe(flow.ToServer, []byte(hello)) != proto.Certain ||
		spec.Probe(flow.ToServer, []byte("\x13Bits")) != proto.No {
		t.Error("the handshake is not recognised")
	}
	c := prototest.New(spec, proto.TCP, 40001)
	c.Send(flow.ToServer, 0, []byte(hello+"\x00\x00\x00\x01"))
	c.Send(flow.ToServer, time.Millisecond, []byte("\x02\x00\x00\x00\x00"))
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	c.Send(flow.ToServer, 2*time.Millisecond, []byte("HTTP/1.1 200 OK"))
	if c.Err == nil {
		t.Error("a length of 1.2 GB was taken")
	}
}
