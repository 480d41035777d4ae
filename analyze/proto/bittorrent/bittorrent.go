// Package bittorrent recognises the peer protocol of BitTorrent (BEP 3) on any port,
// so that a report says who fills the line. Its messages are counted, not read.
package bittorrent

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/frames"
)

const (
	magic     = "\x13BitTorrent protocol"
	handshake = 68 // magic, reserved bytes, hash and name
	longest   = 1 << 20
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "bittorrent", Doc: "BitTorrent peer protocol, BEP 3",
		Carrier: proto.TCP, Anywhere: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			n := min(len(b), len(magic))
			switch {
			case string(b[:n]) != magic[:n]:
				return proto.No
			case n < len(magic):
				return proto.NeedMore
			}
			return proto.Certain
		},
		New: newAnalyzer,
	}
}

type analyzer struct{ frames.Reader }

func newAnalyzer() proto.Analyzer {
	a := &analyzer{}
	a.Length, a.Message = length, func(*proto.Scope, flow.Dir, []byte, int) {}
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "length of a BitTorrent message is impossible"

func length(_ flow.Dir, b []byte) (int, error) {
	if b[0] == magic[0] {
		if n := min(len(b), len(magic)); string(b[:n]) == magic[:n] {
			return handshake, nil
		}
	}
	if len(b) < 4 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > longest {
		return 0, errLength
	}
	return 4 + int(n), nil
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
