package decode

import (
	"encoding/binary"
	"math"
)

// Where the headers of a plain frame begin.
const (
	plainIP  = ethHeaderLen
	plainTCP = plainIP + ipv4HeaderLen
	plainEnd = plainTCP + tcpMinHeader // of the shortest one
)

// plain reads the frame that most are, TCP over IPv4 without options over Ethernet, all
// captured and in one piece, in one go; it reports whether this was one. If not, nothing
// has changed. It says what the long way says: that asks a question a layer, a bound a
// field, and what it finds out it writes down for the next one.
func (p *Packet) plain(data []byte) bool {
	if len(data) < plainEnd {
		return false
	}
	h := data[:plainEnd:plainEnd]
	be := binary.BigEndian
	ip := be.Uint64(h[plainIP-2:]) // EtherType, version and length, TOS, total length, identification
	frag := be.Uint16(h[plainIP+6:])
	const (
		startMask = uint64(0xffffff) << 40
		start     = uint64(typeIPv4)<<48 | 0x45<<40
	)
	if ip&startMask != start || frag&^0x4000 != 0 || h[plainIP+9] != protoTCP {
		return false
	}
	total, header := int(ip>>16&math.MaxUint16), int(h[plainTCP+12]>>4)*4
	end, at := plainIP+total, plainTCP+header
	if header < tcpMinHeader || at > end || end > len(data) {
		return false
	}
	p.fields = fields{}
	p.Protos = Set{1<<Eth | 1<<IP | 1<<TCP}
	p.Kind, p.NConvs, p.own = KindTCP, 1, true
	p.IPVersion, p.Proto, p.TTL, p.TOS = 4, protoTCP, h[plainIP+8], uint8(ip>>32&math.MaxUint8)
	p.L3, p.L4, p.Payload, p.End, p.PayloadLen = plainIP, plainTCP, pos(at), pos(end), pos(end-at)
	p.L2Kind, p.EtherType = L2Ethernet, typeIPv4
	p.IPID, p.DF = uint16(ip&math.MaxUint16), frag != 0
	p.FragID = uint32(p.IPID)
	key4(&p.Key, &p.SrcIsA, h[plainIP+12:plainIP+20], protoTCP)
	ports := be.Uint32(h[plainTCP:])
	setPorts(&p.Key, &p.SrcIsA, uint16(ports>>16), uint16(ports&math.MaxUint16))
	p.Seq, p.Ack = be.Uint32(h[plainTCP+4:]), be.Uint32(h[plainTCP+8:])
	p.Flags, p.Window, p.HdrLen = be.Uint16(h[plainTCP+12:])&0x1ff, be.Uint16(h[plainTCP+14:]), uint8(header)
	p.options(data[:end:end], plainTCP)
	p.Hash = p.Key.Hash32()
	return true
}
