package quic

import "slices"

// Bounds of streams that are put in order: a ClientHello with post-quantum keys
// has 2 KiB, a chain of certificates 10.
const (
	maxCrypto = 32 << 10
	maxPieces = 64
)

// pieces puts the bytes of a stream in order. Clients shuffle them.
type pieces struct {
	list  []piece
	ready []byte // in order, and not yet used
	next  uint64 // offset behind ready
}

type piece struct {
	off  uint64
	data []byte
}

// add takes one piece; data is copied. What lies more than most bytes ahead, or
// would make ready longer than that, is not wanted.
func (p *pieces) add(off uint64, data []byte, most uint64) {
	end := off + uint64(len(data))
	if end <= p.next && end > 0 || end > p.next+most || len(p.list) >= maxPieces || uint64(len(p.ready)+len(data)) > most {
		return
	}
	p.list = append(p.list, piece{off, slices.Clone(data)})
	for again := true; again; {
		again = false
		for i, x := range p.list {
			if x.off > p.next {
				continue
			}
			if end := x.off + uint64(len(x.data)); end > p.next {
				p.ready = append(p.ready, x.data[p.next-x.off:]...)
				p.next = end
			}
			p.list = slices.Delete(p.list, i, i+1)
			again = true
			break
		}
	}
}

// use drops the first n bytes.
func (p *pieces) use(n int) { p.ready = p.ready[n:] }

// stream is one of CRYPTO frames (RFC 9000, 19.6).
type stream struct{ pieces }

func (s *stream) add(off uint64, data []byte) { s.pieces.add(off, data, maxCrypto) }

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
	s.use(n)
	return m[0], m[4:], true
}
