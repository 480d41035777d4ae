// Package bittorrent recognises the peer protocol of BitTorrent (BEP 3) on any port,
// so that a report says who fills the line. Its messages are counted, not read.
package bittorrent

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

const (
	name      = "bittorrent"
	magic     = "\x13BitTorrent protocol"
	handshake = 68 // magic, reserved bytes, hash and name
	prefix    = 4  // length of a message
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "BitTorrent peer protocol, BEP 3",
		Carrier: proto.TCP, Anywhere: true, Counts: true, Again: again,
		First: func(_ flow.Dir, c byte) bool { return c == magic[0] },
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

// Midway declares the same for connections whose handshake was not captured: on the
// ports of BitTorrent, bytes that are no text are its messages, or what is in them.
func Midway() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "BitTorrent peer protocol, from the middle on",
		Carrier: proto.TCP, Ports: []uint16{6881, 6882, 6883, 6884, 6885, 6886, 6887, 6888, 6889},
		Weak: true, Counts: true, Again: again,
		Probe: probeMidway,
		New:   newAnalyzer,
	}
}

// probeMidway leaves texts, the handshake and records of TLS to others.
func probeMidway(_ flow.Dir, b []byte) proto.Verdict {
	const firstRecord, lastRecord, look, beyond = 20, 24, 64, 0x7f
	if len(b) > 1 && b[0] >= firstRecord && b[0] <= lastRecord && b[1] == 3 {
		return proto.No
	}
	if n := min(len(b), len(magic)); string(b[:n]) == magic[:n] {
		return proto.No
	}
	for _, c := range b[:min(len(b), look)] {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' || c >= beyond {
			return proto.Likely
		}
	}
	return proto.No
}

// half is one direction.
type half struct {
	left  int  // bytes of the message at hand that are still to come
	muted bool // tshark does not see all of it
	early bool // it began behind a hole
}

type analyzer struct{ half [2]half }

func newAnalyzer() proto.Analyzer { return &analyzer{} }

// Data implements proto.Analyzer. A frame counts that completes a message, or has what
// cannot be one, unless it came late: as in tshark.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	h := &a.half[dir]
	if h.left == 0 {
		if s.Late() {
			return len(b), nil
		}
		n := length(b)
		if n == 0 {
			return 0, nil
		}
		h.left, h.muted, h.early = n, false, s.Waited()
	}
	h.muted = h.muted || s.Resent()
	n := min(h.left, len(b))
	if h.left -= n; h.left == 0 && !h.muted && (h.early || !s.Belated() && !s.Waited()) {
		s.Carries(name)
	}
	return n, nil
}

// again counts a segment that was sent again fast.
func again(s *proto.Scope, _ flow.Dir, b []byte) {
	if n := length(b); n > 0 && n <= len(b) {
		s.Carries(name)
	}
}

// Gap implements proto.Analyzer.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	h := &a.half[dir]
	h.left, h.muted = max(h.left-n, 0), true
	return nil
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}

// length is that of the message that b begins with; 0: it takes more bytes to tell.
// What is no message is all of b, as nothing tells where the next one begins; and so
// is a length alone, to tshark.
func length(b []byte) int {
	if len(b) < prefix {
		return 0
	}
	n := binary.BigEndian.Uint32(b)
	if n == 0 || len(b) == prefix {
		return prefix
	}
	if least, most := lengths(b[prefix]); n >= least && n <= most {
		return prefix + int(n)
	}
	if n := min(len(b), len(magic)); string(b[:n]) == magic[:n] {
		return handshake
	}
	return len(b)
}

// Types of messages (BEP 3, 6, 10).
const (
	choke = iota
	unchoke
	interested
	uninterested
	have
	bitfield
	request
	piece
	cancel
	port
	suggest  = 13
	haveAll  = 14
	haveNone = 15
	reject   = 16
	fast     = 17
	extended = 20
)

// lengths are those that tshark takes a message of a type for one with: most have one,
// blocks 16 KiB. It checks that of a choke no better than that of a bitfield. Types that
// are unknown have none.
func lengths(kind byte) (least, most uint32) {
	const block, bits = 16<<10 + 9, 128 << 10
	switch kind {
	case choke, bitfield:
		return 1, bits
	case piece, extended:
		return 2, block
	case unchoke, interested, uninterested, haveAll, haveNone:
		return 1, 1
	case have, suggest, fast:
		return 5, 5
	case request, cancel, reject:
		return 13, 13
	case port:
		return 3, 3
	}
	return 1, 0
}
