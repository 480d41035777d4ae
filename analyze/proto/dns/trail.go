package dns

import (
	"encoding/binary"

	"netwhy/analyze/proto"
)

// trail is where tshark sees messages begin in one direction of a stream, for counters.
// It does not look for the next one behind bytes that are missing: it takes what comes
// for a length, and waits for so much.
type trail struct {
	astray bool // bytes are missing
	known  int  // bytes of what is offered that were offered before
	length [2]byte
	have   int // bytes of the length
	left   int // bytes of the message
}

// follow takes what is offered.
func (t *trail) follow(s *proto.Scope, b []byte) {
	if !t.astray {
		return
	}
	for b = b[min(t.known, len(b)):]; len(b) > 0; {
		if t.have < len(t.length) {
			t.length[t.have] = b[0]
			t.have++
			b = b[1:]
			t.left = int(binary.BigEndian.Uint16(t.length[:]))
		}
		if t.have < len(t.length) {
			continue
		}
		n := min(t.left, len(b))
		t.left -= n
		b = b[n:]
		if t.left == 0 {
			t.have = 0
			s.Carries(nameDNS)
		}
	}
}

// read is told how many of the bytes offered were used.
func (t *trail) read(s *proto.Scope, offered, used int) {
	t.known = offered - used
	if !t.astray && used > 0 {
		s.Carries(nameDNS)
	}
}
