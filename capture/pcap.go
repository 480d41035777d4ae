package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"netwhy/capture/packet"
)

// Magic numbers of pcap files in the byte order of the writer
// (draft-ietf-opsawg-pcap, section 4; the others are what libpcap and its
// patched relatives write).
const (
	magicMicro    = 0xa1b2c3d4 // times in microseconds
	magicNano     = 0xa1b23c4d // times in nanoseconds
	magicModified = 0xa1b2cd34 // Kuznetsov's patch: longer record headers
	magicIXIAHW   = 0x1c0001ac // IXIA lcap, hardware times in nanoseconds
	magicIXIASW   = 0x1c0001ab // IXIA lcap, software times
)

const (
	pcapHeaderLen = 24
	recordLen     = 16

	// maxCaptured is the longest frame that a record may hold: libpcap's
	// MAXIMUM_SNAPLEN. Longer claims are damage: no link carries such frames,
	// and believing them would cost memory and the alignment of all that follows.
	maxCaptured = 262144
	// maxCapturedBus is the bound for buses whose messages are larger (USB,
	// D-Bus: 128 MiB, as in libpcap).
	maxCapturedBus = 128 << 20

	linkReservedBits = 0x03ff0000 // must be zero, draft-ietf-opsawg-pcap section 4
)

// pcapReader walks the records of a pcap file.
type pcapReader struct {
	swap  bool // the file's byte order is not little-endian
	nano  bool
	extra int // bytes of a record header after the usual 16
	lens  lenOrder
	link  packet.LinkType
	limit uint32
}

// lenOrder is how the two lengths of a record stand: until version 2.3 some
// writers put the length on the wire first.
type lenOrder uint8

const (
	lensUsual   lenOrder = iota // captured, wire
	lensMaybe                   // 2.3: swapped where captured is above wire, and wire would be a possible length
	lensSwapped                 // before 2.3, and 543.0 of Digital UNIX
)

// newPcapReader reads the file header; head has at least pcapHeaderLen bytes,
// and as much more of the file as there is, to tell the variants apart.
func newPcapReader(head []byte) (*pcapReader, *Interface, string) {
	p := &pcapReader{}
	magic := binary.LittleEndian.Uint32(head)
	if rev := bits.ReverseBytes32(magic); isPcapMagic(rev) {
		p.swap, magic = true, rev
	}
	major, minor := p.u16(head[4:]), p.u16(head[6:])
	switch {
	case major == 2 && minor < 3, major == 543 && minor == 0:
		p.lens = lensSwapped
	case major == 2 && minor == 3:
		p.lens = lensMaybe
	case major != 2:
		return nil, nil, fmt.Sprintf("a pcap file of version %d.%d; only 2.x is known", major, minor)
	}
	word := p.u32(head[20:])
	if word&linkReservedBits != 0 {
		return nil, nil, fmt.Sprintf("a damaged pcap header: reserved bits of the link type word 0x%08x are set", word)
	}
	p.link = packet.LinkType(word & 0xffff)
	if !p.link.Assigned() {
		return nil, nil, fmt.Sprintf("a pcap file of link type %d, which is not assigned to anything", p.link)
	}
	p.nano = magic == magicNano || magic == magicIXIAHW
	p.limit = captureLimit(p.link)
	p.chooseVariant(magic, head[pcapHeaderLen:])
	return p, &Interface{Link: p.link, SnapLen: p.u32(head[16:])}, ""
}

func isPcapMagic(m uint32) bool {
	switch m {
	case magicMicro, magicNano, magicModified, magicIXIAHW, magicIXIASW:
		return true
	}
	return false
}

func captureLimit(l packet.LinkType) uint32 {
	switch l {
	case packet.LinkUSBLinux, packet.LinkUSBLinuxMmapped, packet.LinkDBus, packet.LinkUSBPcap, packet.LinkUSBDarwin, packet.LinkEBHSCR:
		return maxCapturedBus
	default:
		return maxCaptured
	}
}

func (p *pcapReader) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if p.swap {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (p *pcapReader) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if p.swap {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// lengths returns captured and wire length of the record header h.
func (p *pcapReader) lengths(h []byte) (captured, wire uint32) {
	captured, wire = p.u32(h[8:]), p.u32(h[12:])
	if p.lens == lensSwapped || p.lens == lensMaybe && captured > wire && captured <= p.limit {
		captured, wire = wire, captured
	}
	return captured, wire
}

// parse implements parser.
func (p *pcapReader) parse(b *packet.Batch, buf []byte, pos int, st *walk) (next, need int, fault string) {
	head := recordLen + p.extra
	// What does not change stands in variables: behind a pointer it would be read again for
	// each frame.
	swap, plain, limit, link, iface := p.swap, p.lens == lensUsual, p.limit, p.link, st.firstInterface
	unit := int64(1000)
	if p.nano {
		unit = 1
	}
	number, odd := st.frames, st.lensOdd
	for {
		if len(buf)-pos < head {
			next, need = pos, head
			break
		}
		h := buf[pos : pos+recordLen : pos+recordLen]
		le := binary.LittleEndian
		sec, fraction, captured, wire := le.Uint32(h), le.Uint32(h[4:]), le.Uint32(h[8:]), le.Uint32(h[12:])
		if swap {
			sec, fraction = bits.ReverseBytes32(sec), bits.ReverseBytes32(fraction)
			captured, wire = bits.ReverseBytes32(captured), bits.ReverseBytes32(wire)
		}
		if !plain {
			captured, wire = p.lengths(h)
		}
		if captured > limit {
			next, fault = pos, fmt.Sprintf("its record claims %d captured bytes; at most %d are possible", captured, limit)
			break
		}
		at := pos + head
		end := at + int(captured)
		if end > len(buf) {
			next, need = pos, end-pos
			break
		}
		if captured > wire {
			odd, wire = true, captured
		}
		number++
		f := b.Next()
		f.Number = number
		f.Time = int64(sec)*1e9 + int64(fraction)*unit
		f.Offset = uint32(at) //nolint:gosec // a batch is far below 4 GiB
		f.CapLen, f.WireLen = captured, wire
		f.Interface, f.Link = iface, link
		pos = end
	}
	st.frames, st.lensOdd = number, odd
	return next, need, fault
}

// rest implements parser.
func (p *pcapReader) rest(left []byte) string {
	head := recordLen + p.extra
	switch {
	case len(left) == 0:
		return ""
	case len(left) < head:
		return fmt.Sprintf("the file ends inside its record header (%d of %d bytes)", len(left), head)
	}
	captured, _ := p.lengths(left)
	return fmt.Sprintf("the file ends inside it (%d of %d bytes)", len(left)-head, captured)
}
