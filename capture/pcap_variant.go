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
func (p *pcapReader) chooseVariant(magic uint32, records []byte) {
	tried := variants(magic)
	p.extra = tried[0]
	usual, holds := p.chain(records)
	if holds {
		return
	}
	for _, extra := range tried[1:] {
		p.extra = extra
		if n, holds := p.chain(records); holds && n >= minChain && n > usual {
			return
		}
	}
	p.extra = tried[0]
}

// minChain is how many records must follow one another before an unusual
// layout is believed: a single one proves nothing.
const minChain = 2

// chain walks records as long as they are plausible. It holds if nothing
// implausible was met before their end; a record that is cut there is no fault.
func (p *pcapReader) chain(records []byte) (n int, holds bool) {
	head := recordLen + p.extra
	for pos := 0; len(records)-pos >= head; {
		h := records[pos:]
		captured, wire := p.lengths(h)
		if captured > p.limit || !p.plausible(h, captured, wire) {
			return n, false
		}
		pos += head + int(captured)
		if pos > len(records) {
			break
		}
		n++
	}
	return n, true
}

// plausible is asked of layouts other than the usual one, whose odd records
// are read as they are.
func (p *pcapReader) plausible(h []byte, captured, wire uint32) bool {
	if p.extra == 0 {
		return true
	}
	unit := uint32(1e6)
	if p.nano {
		unit = 1e9
	}
	return wire >= captured && captured > 0 && p.u32(h[4:]) < unit
}
