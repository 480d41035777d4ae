package rtp

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// TS declares MPEG transport streams straight in UDP; their code is with RTP's.
func TS() proto.Spec {
	return proto.Spec{
		Name: "mp2t", Doc: "MPEG-2 transport stream, ISO/IEC 13818-1",
		Carrier: proto.UDP, Anywhere: true, Also: unitNames(),
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < 2*tsPacket || len(b)%tsPacket != 0 {
				return proto.No // a single one is too little to tell
			}
			for ; len(b) > 0; b = b[tsPacket:] {
				if b[0] != tsSync {
					return proto.No
				}
			}
			return proto.Certain
		},
		New: func() proto.Analyzer { return &transport{} },
	}
}

type transport struct{ streams [2]stream }

// Data takes one datagram.
func (t *transport) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if !s.Duplicate() {
		t.streams[dir].ts(s, b)
	}
	return len(b), nil
}

// Gap does nothing: there is no stream of bytes.
func (*transport) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*transport) End(*proto.Scope, proto.End) {}
