package tcp

// Kinds of TCP options that the analysis reads (IANA).
const (
	optEnd   = 0
	optNop   = 1
	optScale = 3
)

const (
	maxScale     = 14     // RFC 7323, 2.3
	scaleBits    = 15     // what is a scale: 0 in those that follow
	unknownScale = 1 << 4 // no SYN was captured
	noScale      = 2 << 4 // the SYN did not ask for it
)

// handshake reads a SYN's options. Windows are scaled only where both SYNs ask
// for it (RFC 7323, 2.2); a SYN sent again without the option, as hosts do that
// get no answer, takes nothing back.
func (f *half) handshake(b *half, s *Segment) {
	f.flags |= sentSYN
	f.offer(s)
	if s.Header != HeaderWhole {
		return // the option may be among those that were cut
	}
	if f.scale == unknownScale {
		f.scale, b.scale = noScale, noScale
	}
	if s.Flags&FlagACK != 0 && b.scale == noScale {
		f.scale = noScale
	}
}

// offer reads the options themselves.
func (f *half) offer(s *Segment) {
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
		if o[0] == optScale && o[1] == 3 {
			f.scale = min(o[2], maxScale)
		}
		o = o[o[1]:]
	}
}

// scaled is the last announced window in bytes.
func (f *half) scaled() uint32 {
	if f.flags&plainWindow != 0 {
		return uint32(f.window)
	}
	return uint32(f.window) << (f.scale & scaleBits)
}
