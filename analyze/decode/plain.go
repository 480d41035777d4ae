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

// plainHeader reports whether a frame of at least plainTCP bytes is IPv4 without options
// over Ethernet, all captured and in one piece, and reads where it ends.
func plainHeader(data []byte) (end int, ok bool) {
	be := binary.BigEndian
	ip, frag := be.Uint64(data[plainIP-2:]), be.Uint16(data[plainIP+6:]) // ip: EtherType, version and length, TOS, total length, identification
	const (
		startMask = uint64(0xffffff) << 40
		start     = uint64(typeIPv4)<<48 | 0x45<<40
	)
	end = plainIP + int(ip>>16&math.MaxUint16)
	return end, ip&startMask == start && frag&^0x4000 == 0 && end <= len(data)
}

// Glance tells of a frame of Ethernet no more than who analyses it: the hash of its
// conversation and the transport, if it is what most are, TCP, or UDP between two hosts
// that is no tunnel, over IPv4. 0: Decode has to look at it.
func Glance(data []byte) (hash uint32, proto uint8) {
	if len(data) < plainTCP+udpHeaderLen {
		return 0, 0
	}
	end, ok := plainHeader(data)
	if !ok {
		return 0, 0
	}
	pair, _ := plainEnds(data)
	switch proto = data[plainIP+9]; proto {
	case protoTCP:
		if end < plainEnd || !plainLength(data, end) {
			return 0, 0
		}
	case protoUDP:
		n := int(binary.BigEndian.Uint16(data[plainTCP+4:]))
		if n < udpHeaderLen || plainTCP+n > end || data[plainIP+16] >= firstGroup || udpTunnel(pair.PortA()) || udpTunnel(pair.PortB()) {
			return 0, 0
		}
	default:
		return 0, 0
	}
	return pair.Hash32(proto), proto
}

// plainEnds reads who speaks to whom.
func plainEnds(data []byte) (pair flow.Pair4, srcIsA bool) {
	be := binary.BigEndian
	h := data[plainIP+12 : plainTCP+4]
	return flow.NewPair4(be.Uint32(h), be.Uint32(h[4:]), be.Uint16(h[8:]), be.Uint16(h[10:]))
}

const firstGroup = 224 // first byte of addresses that are no host's (RFC 5771)

// plainLength reports whether the length of a TCP header lies within its packet.
func plainLength(data []byte, end int) bool {
	header := int(data[plainTCP+12]>>4) * 4
	return header >= tcpMinHeader && plainTCP+header <= end
}

// plain reads TCP over IPv4 without options over Ethernet, all captured and in one piece,
// in one go; it reports whether this was one. If not, nothing has changed. It says what
// the long way says: that asks a question a layer, a bound a field, and what it finds out
// it writes down for the next one.
func (p *Packet) plain(data []byte) bool {
	hash, _ := Glance(data)
	if hash == 0 {
		return false
	}
	p.Glimpsed(data, hash)
	return true
}

// Glimpsed reads a frame of which Glance told the hash.
func (p *Packet) Glimpsed(data []byte, hash uint32) {
	be := binary.BigEndian
	h := (*[plainTCP + udpHeaderLen]byte)(data)
	ip := be.Uint64(h[plainIP-2:])
	pair, srcIsA := plainEnds(h[:])
	proto := h[plainIP+9]
	p.fields = fields{}
	p.NConvs, p.own, p.SrcIsA, p.Hash = 1, true, srcIsA, hash
	p.IPVersion, p.Proto, p.TTL, p.TOS = 4, proto, h[plainIP+8], uint8(ip>>32&math.MaxUint8)
	p.L3, p.L4 = plainIP, plainTCP
	p.L2Kind, p.EtherType = L2Ethernet, typeIPv4
	p.IPID, p.FragID, p.DF = uint16(ip&math.MaxUint16), uint32(ip&math.MaxUint16), h[plainIP+6] != 0
	pair.Fill(proto, &p.Key)
	if proto == protoUDP {
		n := uint32(be.Uint16(h[plainTCP+4:]))
		p.Protos, p.Kind = Set{1<<Eth | 1<<IP | 1<<UDP}, KindUDP
		p.Payload, p.End, p.PayloadLen = plainTCP+udpHeaderLen, plainTCP+n, n-udpHeaderLen
		return
	}
	t := (*[tcpMinHeader]byte)(data[plainTCP:])
	header := t[12] >> 4 * 4
	at, end := plainTCP+uint32(header), plainIP+uint32(ip>>16&math.MaxUint16)
	p.Protos, p.Kind = Set{1<<Eth | 1<<IP | 1<<TCP}, KindTCP
	p.Payload, p.End, p.PayloadLen = at, end, end-at
	p.Seq, p.Ack = be.Uint32(t[4:]), be.Uint32(t[8:])
	p.Flags, p.Window, p.HdrLen = be.Uint16(t[12:])&0x1ff, be.Uint16(t[14:]), header
	p.options(data[:end:end], plainTCP)
}
