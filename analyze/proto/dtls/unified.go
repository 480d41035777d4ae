package dtls

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
)

// The first byte of a protected record of DTLS 1.3 (RFC 9147, 4): 001CSLEE.
const (
	unifiedMask  = 0xe0
	unifiedStart = 0x20
	withCID      = 0x10
	longNumber   = 0x08 // of 16 bits instead of 8
	withLength   = 0x04
	epochMask    = 0x03
)

// Epochs (RFC 9147, 6.1), as far as the header tells them.
const (
	epochEarly     = 1 // 0-RTT
	epochHandshake = 2
)

func isUnified(first byte) bool { return first&unifiedMask == unifiedStart }

// protected is such a record. Its number is encrypted, like its type.
type protected struct {
	epoch byte
	cid   bool
	body  int // bytes
	size  int // with its header
}

// leastBody is what encrypting the number needs (RFC 9147, 4.2.3).
const leastBody = 16

// parseUnified reads the first record of b; cid is the length of the connection ids
// in this direction.
func parseUnified(b []byte, cid int) (p protected, ok bool) {
	head := 1 + 1
	p.epoch = b[0] & epochMask
	if p.cid = b[0]&withCID != 0; p.cid {
		head += cid
	}
	if b[0]&longNumber != 0 {
		head++
	}
	if b[0]&withLength == 0 { // up to the end of the datagram
		p.size, p.body = len(b), len(b)-head
		return p, p.body >= leastBody
	}
	if len(b) < head+2 {
		return p, false
	}
	p.body = int(binary.BigEndian.Uint16(b[head:]))
	p.size = min(head+2+p.body, len(b)) // cut by the snaplen
	return p, p.body >= leastBody && p.body <= maxRecord
}

// unified takes a protected record: what it is shows in its epoch and length only.
func (a *analyzer) unified(s *proto.Scope, dir flow.Dir, p *protected) {
	if p.cid {
		s.Attr("dtls.cid", "yes")
	}
	switch {
	case p.epoch == epochEarly && !a.session.Done():
		a.early++
	case p.epoch == epochHandshake && dir == flow.ToServer && isACK(p.body):
	default:
		a.session.Sealed(s, dir, handshake.RecordData, p.body)
	}
}

// isACK reports whether a protected record may be an ACK (RFC 9147, 7): numbers of 16
// bytes each behind their length, then the type and a tag. A Finished has 61 or 77
// bytes, an alert 19.
func isACK(n int) bool {
	const around, each = 2 + 1 + 16, 16
	return n > around && (n-around)%each == 0
}
