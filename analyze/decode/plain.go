package decode

import (
	"encoding/binary"
	"math"

	"netwhy/analyze/flow"
)

// Where the headers of a plain frame begin.
const (
	plainIP  = ethHeaderLen
	plainTCP = plainIP + ipv4HeaderLen
	plainEnd = plainTCP + tcpMinHeader // of the shortest one
)

// header4 is where a plain frame says what it is.
type header4 struct {
	ip   uint64 // EtherType, version and length, TOS, total length, identification
	frag uint16
}

// plainHeader reports whether a frame of at least plainTCP bytes is IPv4 without options
// over Ethernet, all captured and in one piece, and reads where it ends.
func plainHeader(data []byte) (h header4, end int, ok bool) {
	be := binary.BigEndian
	h.ip, h.frag = be.Uint64(data[plainIP-2:]), be.Uint16(data[plainIP+6:])
	const (
		startMask = uint64(0xffffff) << 40
		start     = uint64(typeIPv4)<<48 | 0x45<<40
	)
	end = plainIP + int(h.ip>>16&math.MaxUint16)
	return h, end, h.ip&startMask == start && h.frag&^0x4000 == 0 && end <= len(data)
}

// Glimpse is what has to be known of a frame to find who analyses it.
type Glimpse struct {
	Hash   uint32
	Protos Set
}

// Glance reads of a frame of Ethernet no more than that, if it is what most are: TCP, or
// UDP between two hosts that is no tunnel, over IPv4. Decode says the same of it.
func Glance(data []byte) (g Glimpse, ok bool) {
	if len(data) < plainTCP+udpHeaderLen {
		return g, false
	}
	_, end, ok := plainHeader(data)
	if !ok {
		return g, false
	}
	be := binary.BigEndian
	proto := data[plainIP+9]
	pair, _ := flow.NewPair4(be.Uint32(data[plainIP+12:]), be.Uint32(data[plainIP+16:]), be.Uint16(data[plainTCP:]), be.Uint16(data[plainTCP+2:]))
	switch proto {
	case protoTCP:
		if end < plainEnd || !plainLength(data, end) {
			return g, false
		}
		g.Protos = Set{1<<Eth | 1<<IP | 1<<TCP}
	case protoUDP:
		n := int(be.Uint16(data[plainTCP+4:]))
		if n < udpHeaderLen || plainTCP+n > end || data[plainIP+16] >= firstGroup || udpTunnel(uint16(pair.A&math.MaxUint16)) || udpTunnel(uint16(pair.B&math.MaxUint16)) {
			return g, false
		}
		g.Protos = Set{1<<Eth | 1<<IP | 1<<UDP}
	default:
		return g, false
	}
	g.Hash = pair.Hash32(proto)
	return g, true
}

const firstGroup = 224 // first byte of addresses that are no host's (RFC 5771)

// plainLength reports whether the length of a TCP header lies within its packet.
func plainLength(data []byte, end int) bool {
	header := int(data[plainTCP+12]>>4) * 4
	return header >= tcpMinHeader && plainTCP+header <= end
}

// plain reads the frame that most are, TCP over IPv4 without options over Ethernet, all
// captured and in one piece, in one go; it reports whether this was one. If not, nothing
// has changed. It says what the long way says: that asks a question a layer, a bound a
// field, and what it finds out it writes down for the next one.
func (p *Packet) plain(data []byte) bool {
	if len(data) < plainEnd {
		return false
	}
	head, end, ok := plainHeader(data)
	h := data[:plainEnd:plainEnd]
	if !ok || h[plainIP+9] != protoTCP || !plainLength(data, end) {
		return false
	}
	be := binary.BigEndian
	ip, at := head.ip, plainTCP+int(h[plainTCP+12]>>4)*4
	pair, srcIsA := flow.NewPair4(be.Uint32(h[plainIP+12:]), be.Uint32(h[plainIP+16:]), be.Uint16(h[plainTCP:]), be.Uint16(h[plainTCP+2:]))
	p.fields = fields{}
	p.Protos = Set{1<<Eth | 1<<IP | 1<<TCP}
	p.Kind, p.NConvs, p.own = KindTCP, 1, true
	p.IPVersion, p.Proto, p.TTL, p.TOS = 4, protoTCP, h[plainIP+8], uint8(ip>>32&math.MaxUint8)
	p.L3, p.L4, p.Payload, p.End, p.PayloadLen = plainIP, plainTCP, pos(at), pos(end), pos(end-at)
	p.L2Kind, p.EtherType = L2Ethernet, typeIPv4
	p.IPID, p.DF = uint16(ip&math.MaxUint16), head.frag != 0
	p.FragID = uint32(p.IPID)
	pair.Key(protoTCP, &p.Key)
	p.SrcIsA = srcIsA
	p.Seq, p.Ack = be.Uint32(h[plainTCP+4:]), be.Uint32(h[plainTCP+8:])
	p.Flags, p.Window, p.HdrLen = be.Uint16(h[plainTCP+12:])&0x1ff, be.Uint16(h[plainTCP+14:]), uint8(at-plainTCP)
	p.options(data[:end:end], plainTCP)
	p.Hash = pair.Hash32(protoTCP)
	return true
}
