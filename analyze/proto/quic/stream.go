package quic

import "slices"

// Bounds of the CRYPTO stream of Initial packets: a ClientHello with
// post-quantum keys has 2 KiB.
const (
	maxCrypto = 32 << 10
	maxPieces = 64
)

// stream puts CRYPTO frames in order (RFC 9000, 19.6). Clients shuffle them.
type stream struct {
	pieces []piece
	ready  []byte // contiguous from 0, messages not yet taken
	next   uint64 // offset behind ready
}

type piece struct {
	off  uint64
	data []byte
}

// add takes one frame; data is copied.
func (s *stream) add(off uint64, data []byte) {
	if off+uint64(len(data)) > maxCrypto || len(s.pieces) >= maxPieces {
		return
	}
	s.pieces = append(s.pieces, piece{off, slices.Clone(data)})
	for again := true; again; {
		again = false
		for i, p := range s.pieces {
			if p.off > s.next {
				continue
			}
			if end := p.off + uint64(len(p.data)); end > s.next {
				s.ready = append(s.ready, p.data[s.next-p.off:]...)
				s.next = end
			}
			s.pieces = slices.Delete(s.pieces, i, i+1)
			again = true
			break
		}
	}
}

// message takes the next whole handshake message.
func (s *stream) message() (typ uint8, body []byte, ok bool) {
	if len(s.ready) < 4 {
		return 0, nil, false
	}
	n := 4 + int(s.ready[1])<<16 + int(s.ready[2])<<8 + int(s.ready[3])
	if len(s.ready) < n {
		return 0, nil, false
	}
	m := s.ready[:n]
	s.ready = s.ready[n:]
	return m[0], m[4:], true
}
