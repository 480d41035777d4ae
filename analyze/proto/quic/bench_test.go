package quic

import (
	"testing"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/prototest"
)

// BenchmarkHandshake reads both hellos and the first packet behind them.
func BenchmarkHandshake(b *testing.B) {
	ch, sh := hello("www.test"), serverHello()
	first := initialPacket(version1, 0, dcid, dcid, []byte{1}, 0, pad(crypto(0, ch)))
	answer := initialPacket(version1, 1, dcid, []byte{1}, []byte{2, 2}, 0, pad(crypto(0, sh)))
	rec := &prototest.Recorder{}
	var facts proto.Facts
	s := &proto.Scope{At: 1, FrameNo: 1, Out: rec, Facts: &facts}
	b.ReportAllocs()
	for b.Loop() {
		facts = proto.Facts{}
		rec.Exchanges = rec.Exchanges[:0]
		a := newAnalyzer()
		_, _ = a.Data(s, up, first)
		_, _ = a.Data(s, down, answer)
		_, _ = a.Data(s, up, oneRTT)
		a.End(s, proto.Over)
	}
}
