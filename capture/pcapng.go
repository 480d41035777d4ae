package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"netwhy/capture/packet"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng, section 11.1).
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockNames     = 4
	blockStats     = 5
	blockEnhanced  = 6
	blockSecrets   = 10

	byteOrderMagic = 0x1a2b3c4d
)

// Fixed parts of blocks, with their 8 bytes of type and length in front.
const (
	blockMin        = 12 // type, length, length again
	sectionOrderLen = 16
	sectionFixed    = 24
	interfaceFixed  = 16
	enhancedFixed   = 28
	packetFixed     = 28
	simpleFixed     = 12
	statsFixed      = 20
	namesFixed      = 8
	secretsFixed    = 16
	blockTrailer    = 4
	maxBlock        = 16 << 20 // bytes of a block that is kept; longer ones hold nothing that is analysed
	maxBlockPacket  = maxCapturedBus + 64<<10
	unknownDrops16  = 0xffff // obsolete packet block: number of drops is not known
	maxSecretsBytes = 1 << 20
)

// pcapngReader walks the blocks of a pcapng file.
type pcapngReader struct {
	file   int  // index of the file in the run
	swap   bool // the section's byte order is not little-endian
	skip   int64
	ifaces []ngInterface // of the current section
	last   int64         // time of the last frame, lent to frames without one
}

// ngInterface is what reading a packet of an interface needs.
type ngInterface struct {
	link    packet.LinkType
	index   uint16 // in the run
	snapLen uint32
	limit   uint32
	unit    timeUnit
}

// checkPcapng looks at the first section header without reading it.
func checkPcapng(head []byte) string {
	if len(head) < pcapHeaderLen { // the least that is read to tell what a file is
		return fmt.Sprintf("a pcapng file that ends inside its section header (%d bytes)", len(head))
	}
	if _, wrong := sectionOrder(head); wrong != "" {
		return wrong
	}
	return ""
}

// sectionOrder tells the byte order of a section header of at least 16 bytes,
// and whether its version is known.
func sectionOrder(b []byte) (swap bool, wrong string) {
	magic := binary.LittleEndian.Uint32(b[8:])
	major, minor := binary.LittleEndian.Uint16(b[12:]), binary.LittleEndian.Uint16(b[14:])
	switch magic {
	case byteOrderMagic:
	case bits.ReverseBytes32(byteOrderMagic):
		swap = true
		major, minor = bits.ReverseBytes16(major), bits.ReverseBytes16(minor)
	default:
		return false, fmt.Sprintf("a pcapng section with the byte-order magic 0x%08x, which is neither order", magic)
	}
	if major != 1 || minor != 0 && minor != 2 { // 1.2 was written by mistake and means 1.0
		return swap, fmt.Sprintf("a pcapng section of version %d.%d; only 1.0 is known", major, minor)
	}
	return swap, ""
}

func (p *pcapngReader) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if p.swap {
		v = bits.ReverseBytes64(v)
	}
	return v
}

func (p *pcapngReader) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if p.swap {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (p *pcapngReader) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if p.swap {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// parse implements parser.
func (p *pcapngReader) parse(b *packet.Batch, buf []byte, pos int, st *walk) (next, need int, fault string) {
	for {
		if p.skip > 0 {
			n := min(p.skip, int64(len(buf)-pos))
			p.skip -= n
			pos += int(n)
			if p.skip > 0 {
				return pos, 1, ""
			}
		}
		left := len(buf) - pos
		if left < blockMin {
			return pos, blockMin, ""
		}
		head := buf[pos:]
		kind := p.u32(head)
		if kind == blockSection { // reads the same in either order
			if left < sectionOrderLen {
				return pos, sectionOrderLen, ""
			}
			swap, wrong := sectionOrder(head)
			if wrong != "" {
				return pos, 0, wrong
			}
			p.swap = swap
		}
		length := int64(p.u32(head[4:]))
		if length < blockMin {
			return pos, 0, fmt.Sprintf("a block says it is %d bytes long; at least %d are needed", length, blockMin)
		}
		length = padded(length)
		if length > bound(kind) {
			if needed(kind) {
				return pos, 0, fmt.Sprintf("block %#x says it is %d bytes long; at most %d are possible", kind, length, bound(kind))
			}
			p.skip = length
			continue
		}
		if length > int64(left) {
			return pos, int(length), ""
		}
		block := head[:length:length]
		if again := int64(p.u32(block[length-blockTrailer:])); padded(again) != length {
			return pos, 0, fmt.Sprintf("a block says it is %d bytes long at its head and %d at its end", p.u32(head[4:]), again)
		}
		if fault := p.block(b, block, kind, pos, st); fault != "" {
			return pos, 0, fault
		}
		pos += int(length)
	}
}

// padded is a block's length with the padding that some writers do not count.
func padded(length int64) int64 { return (length + 3) &^ 3 }

// needed tells whether the block can not be passed over.
func needed(kind uint32) bool {
	switch kind {
	case blockSection, blockInterface, blockPacket, blockSimple, blockEnhanced:
		return true
	}
	return false
}

// bound is the most bytes that a block of the kind is held in memory for.
func bound(kind uint32) int64 {
	switch kind {
	case blockPacket, blockSimple, blockEnhanced:
		return maxBlockPacket
	}
	return maxBlock
}

// block reads one whole block, which begins at pos of the batch's buffer.
func (p *pcapngReader) block(b *packet.Batch, block []byte, kind uint32, pos int, st *walk) string {
	switch kind {
	case blockEnhanced:
		return p.enhanced(b, block, pos, st)
	case blockSimple:
		return p.simple(b, block, pos, st)
	case blockPacket:
		return p.obsolete(b, block, pos, st)
	case blockInterface:
		return p.iface(block, st)
	case blockSection:
		return p.section(block)
	case blockStats:
		return p.stats(block, st)
	case blockNames:
		return p.names(block)
	case blockSecrets:
		return p.secrets(block, st)
	}
	return "" // custom blocks, systemd journal and whatever comes: passed over
}

func (p *pcapngReader) section(block []byte) string {
	if len(block) < sectionFixed+blockTrailer {
		return fmt.Sprintf("a section header of %d bytes; at least %d are needed", len(block), sectionFixed+blockTrailer)
	}
	p.ifaces = p.ifaces[:0]
	return p.options(block, sectionFixed, nil)
}

func (p *pcapngReader) iface(block []byte, st *walk) string {
	if len(block) < interfaceFixed+blockTrailer {
		return fmt.Sprintf("an interface description of %d bytes; at least %d are needed", len(block), interfaceFixed+blockTrailer)
	}
	i := ngInterface{
		link:    packet.LinkType(p.u16(block[8:])),
		index:   uint16(min(len(st.interfaces.list), maxInterfaces-1)),
		snapLen: p.u32(block[12:]),
		unit:    timeUnit{power: defaultResolution},
	}
	i.limit = captureLimit(i.link)
	d := Interface{Link: i.link, SnapLen: i.snapLen, File: p.file}
	fault := p.options(block, interfaceFixed, func(code uint16, v []byte) {
		switch {
		case code == 2:
			d.Name = optionText(v)
		case code == 3:
			d.Desc = optionText(v)
		case code == 9 && len(v) >= 1:
			i.unit.power = v[0]
		case code == 14 && len(v) >= 8:
			i.unit.offset = int64(p.u64(v)) //nolint:gosec // a signed number in the file
		}
	})
	if fault != "" {
		return fault
	}
	if !st.interfaces.add(d) {
		return "more than 65536 interfaces are described"
	}
	i.unit.prepare()
	p.ifaces = append(p.ifaces, i)
	return ""
}

// enhanced reads an enhanced packet block, section 4.3.
func (p *pcapngReader) enhanced(b *packet.Batch, block []byte, pos int, st *walk) string {
	if len(block) < enhancedFixed+blockTrailer {
		return fmt.Sprintf("a packet block of %d bytes; at least %d are needed", len(block), enhancedFixed+blockTrailer)
	}
	number := p.u32(block[8:])
	if number >= uint32(len(p.ifaces)) { //nolint:gosec // bounded by maxInterfaces
		return p.noInterface(number)
	}
	i := &p.ifaces[number]
	ticks := uint64(p.u32(block[12:]))<<32 | uint64(p.u32(block[16:]))
	captured, wire := p.u32(block[20:]), p.u32(block[24:])
	end, fault := dataEnd(block, enhancedFixed, captured, i)
	if fault != "" {
		return fault
	}
	if end < len(block)-blockTrailer {
		if fault := p.drops(block, end, i, st); fault != "" {
			return fault
		}
	}
	p.last = i.unit.nanos(ticks)
	p.add(b, i, pos+enhancedFixed, captured, wire, st)
	return ""
}

// obsolete reads the packet block of old files, appendix A of the draft.
func (p *pcapngReader) obsolete(b *packet.Batch, block []byte, pos int, st *walk) string {
	if len(block) < packetFixed+blockTrailer {
		return fmt.Sprintf("a packet block of %d bytes; at least %d are needed", len(block), packetFixed+blockTrailer)
	}
	number := uint32(p.u16(block[8:]))
	if number >= uint32(len(p.ifaces)) { //nolint:gosec // bounded by maxInterfaces
		return p.noInterface(number)
	}
	i := &p.ifaces[number]
	ticks := uint64(p.u32(block[12:]))<<32 | uint64(p.u32(block[16:]))
	captured, wire := p.u32(block[20:]), p.u32(block[24:])
	end, fault := dataEnd(block, packetFixed, captured, i)
	if fault == "" {
		fault = p.options(block, end, nil)
	}
	if fault != "" {
		return fault
	}
	if n := p.u16(block[10:]); n != unknownDrops16 {
		st.interfaces.list[i.index].DroppedKernel += uint64(n)
	}
	p.last = i.unit.nanos(ticks)
	p.add(b, i, pos+packetFixed, captured, wire, st)
	return ""
}

// simple reads a simple packet block, section 4.4: first interface, no time,
// cut at the snapshot length. It is lent the time of the frame before it.
func (p *pcapngReader) simple(b *packet.Batch, block []byte, pos int, st *walk) string {
	if len(block) < simpleFixed+blockTrailer {
		return fmt.Sprintf("a packet block of %d bytes; at least %d are needed", len(block), simpleFixed+blockTrailer)
	}
	if len(p.ifaces) == 0 {
		return p.noInterface(0)
	}
	i := &p.ifaces[0]
	wire := p.u32(block[8:])
	captured := wire
	if i.snapLen != 0 {
		captured = min(captured, i.snapLen)
	}
	end, fault := dataEnd(block, simpleFixed, captured, i)
	switch {
	case fault != "":
		return fault
	case end != len(block)-blockTrailer: // it has no options: nothing else may be there
		return fmt.Sprintf("its block of %d bytes is too long for %d captured bytes", len(block), captured)
	}
	st.timeless = st.timeless || p.last == 0
	p.add(b, i, pos+simpleFixed, captured, wire, st)
	return ""
}

func (p *pcapngReader) noInterface(number uint32) string {
	return fmt.Sprintf("its block is of interface %d, but the section describes %d", number, len(p.ifaces))
}

// dataEnd checks that the captured bytes lie in the block and returns where
// the options begin.
func dataEnd(block []byte, fixed int, captured uint32, i *ngInterface) (int, string) {
	room := len(block) - fixed - blockTrailer
	switch {
	case int64(captured) > int64(room):
		return 0, fmt.Sprintf("its block claims %d captured bytes, but has room for %d", captured, room)
	case captured > i.limit:
		return 0, fmt.Sprintf("its block claims %d captured bytes; at most %d are possible", captured, i.limit)
	}
	return fixed + (int(captured)+3)&^3, ""
}

func (p *pcapngReader) add(b *packet.Batch, i *ngInterface, at int, captured, wire uint32, st *walk) {
	st.frames++
	st.lensOdd = st.lensOdd || captured > wire
	f := b.Next()
	f.Number = st.frames
	f.Time = p.last
	f.Offset = uint32(at) //nolint:gosec // a batch is far below 4 GiB
	f.CapLen = captured
	f.WireLen = max(wire, captured)
	f.Interface = i.index
	f.Link = i.link
}

// rest implements parser.
func (p *pcapngReader) rest(left []byte) string {
	switch {
	case p.skip > 0:
		return fmt.Sprintf("the file ends inside a block (%d bytes are missing)", p.skip)
	case len(left) == 0:
		return ""
	case len(left) < blockMin:
		return fmt.Sprintf("the file ends inside the header of a block (%d of %d bytes)", len(left), blockMin)
	}
	return fmt.Sprintf("the file ends inside its block (%d of %d bytes)", len(left), p.u32(left[4:]))
}
