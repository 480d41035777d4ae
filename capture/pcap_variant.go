package capture

// Patched versions of libpcap lengthened the record header and kept the
// format's version, some of them its magic too; so which one wrote a file shows
// only in whether its records chain. The usual layout is kept unless it breaks
// and another one holds.

// variants are the bytes that follow the usual 16 of a record header:
// Kuznetsov's patches and Red Hat 6.1 (interface index, protocol, packet type),
// Nokia's IPSO, and the patch ss990915 that SuSE 6.3 had.
//
//	8, 4, 12
func variants(magic uint32) []int {
	if magic == magicModified {
		return []int{8, 12, 0}
	}
	return []int{0, 8, 4, 12}
}

// chooseVariant sets the length of the record headers from the first records.
// Only a length that is out of the question speaks against the usual layout:
// odd times or a captured length above that on the wire are met in files of
// sound layout, too, and are read as they are.
func (p *pcapReader) chooseVariant(magic uint32, records []byte) {
	tried := variants(magic)
	p.extra = tried[0]
	usual, holds := p.chain(records, p.possible)
	if holds {
		return
	}
	for _, extra := range tried[1:] {
		p.extra = extra
		if n, holds := p.chain(records, p.plausible); holds && n >= minChain && n > usual {
			return
		}
	}
	p.extra = tried[0]
}

// minChain is how many records must follow one another before an unusual
// layout is believed: a single one proves nothing.
const minChain = 2

// chain counts records that pass. It holds if nothing else was met before the
// end of what is there; a record that is cut by that end is no fault.
func (p *pcapReader) chain(records []byte, passes func(h []byte) bool) (n int, holds bool) {
	head := recordLen + p.extra
	for pos := 0; len(records)-pos >= head; n++ {
		h := records[pos:]
		if !passes(h) {
			return n, false
		}
		captured, _ := p.lengths(h)
		pos += head + int(captured)
		if pos > len(records) {
			break
		}
	}
	return n, true
}

// possible tells whether a record can be read at all.
func (p *pcapReader) possible(h []byte) bool {
	captured, _ := p.lengths(h)
	return captured <= p.limit
}

// plausible is what every sound writer keeps to.
func (p *pcapReader) plausible(h []byte) bool {
	captured, wire := p.lengths(h)
	unit := uint32(1e6)
	if p.nano {
		unit = 1e9
	}
	return captured <= p.limit && captured > 0 && wire >= captured && p.u32(h[4:]) < unit
}
