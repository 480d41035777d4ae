package isakmp

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// NAT declares what IPsec sends through address translators: key exchange behind a
// marker of four zeros, and ESP (RFC 3948). Codes are declared by Spec.
func NAT() proto.Spec {
	return proto.Spec{
		Name: "udpencap", Doc: "IPsec through address translators, RFC 3948",
		Also:    []string{name, esp},
		Carrier: proto.UDP, Ports: []uint16{4500}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			switch {
			case len(b) == 1 && b[0] == keepAlive:
				return proto.NeedMore
			case len(b) < markerLen || marked(b) && !isMessage(b[markerLen:]):
				return proto.No
			}
			return proto.Likely
		},
		New: func() proto.Analyzer { return &natt{analyzer{book: ask.Book{Protocol: name}}} },
	}
}

const (
	name      = "isakmp"
	esp       = "esp"
	keepAlive = 0xff // RFC 3948, 2.3
	markerLen = 4
	leastESP  = 8 // index and sequence number (RFC 4303, 2)
)

// marked reports whether a datagram of the port is one of the key exchange (RFC
// 3948, 2.2).
func marked(b []byte) bool { return len(b) >= markerLen && binary.BigEndian.Uint32(b) == 0 }

type natt struct{ analyzer }

// Data takes one datagram.
func (a *natt) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	switch {
	case marked(b):
		s.App(name)
		s.Carries(name)
		return a.analyzer.Data(s, dir, b)
	case len(b) >= leastESP:
		s.App(esp)
		s.Carries(esp)
	}
	return len(b), nil
}
