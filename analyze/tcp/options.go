package tcp

import "encoding/binary"

// Kinds of TCP options that the analysis reads (IANA).
const (
	optEnd   = 0
	optNop   = 1
	optMSS   = 2
	optScale = 3
	optSACK  = 5
)

const maxScale = 14 // RFC 7323, 2.3

// handshake reads a SYN's options.
func (f *half) handshake(_ *connection, s *Segment) {
	f.flags |= sentSYN
	f.scale = 0
	for o := s.Options; len(o) > 0; {
		switch o[0] {
		case optEnd:
			return
		case optNop:
			o = o[1:]
			continue
		}
		if len(o) < 2 || o[1] < 2 || int(o[1]) > len(o) {
			return
		}
		switch {
		case o[0] == optScale && o[1] == 3:
			f.scale = int8(min(o[2], maxScale))
		case o[0] == optMSS && o[1] == 4:
			f.mss = binary.BigEndian.Uint16(o[2:])
		}
		o = o[o[1]:]
	}
}
