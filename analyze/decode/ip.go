package decode

import (
	"bytes"
	"encoding/binary"
	"math"

	"netwhy/analyze/flow"
)

// IANA protocol numbers.
const (
	protoHopOpts  = 0
	protoICMP     = 1
	protoIGMP     = 2
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoDCCP     = 33
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoRSVP     = 46
	protoGRE      = 47
	protoESP      = 50
	protoAH       = 51
	protoICMPv6   = 58
	protoNoNext   = 59
	protoDstOpts  = 60
	protoEIGRP    = 88
	protoOSPF     = 89
	protoEtherIP  = 97
	protoPIM      = 103
	protoIPComp   = 108
	protoVRRP     = 112
	protoL2TP     = 115
	protoSCTP     = 132
	protoMobility = 135
	protoUDPLite  = 136
	protoMPLS     = 137
	protoHIP      = 139
	protoEthernet = 143
	protoShim6    = 140
)

const (
	ipv4HeaderLen = 20
	ipv6HeaderLen = 40
)

// ip reads IPv4 or IPv6, whichever the first nibble tells.
func (d *decoder) ip(off int) {
	if !d.need(off, 1) {
		return
	}
	switch d.b[off] >> 4 {
	case 4:
		d.ipv4(off)
	case 6:
		d.ipv6(off)
	default:
		d.fail(BadVersion)
	}
}

// ipv4 reads an IPv4 header (RFC 791, 3.1) and goes on with its payload.
func (d *decoder) ipv4(off int) {
	d.p.Protos.Add(IP)
	if !d.need(off, ipv4HeaderLen) || !d.deeper() {
		return
	}
	h := d.b[off : off+ipv4HeaderLen]
	if h[0]>>4 != 4 {
		if h[0]>>4 == 6 { // Wireshark reads IPv6 under IPv4's EtherType
			d.ipv6(off)
			return
		}
		d.fail(BadVersion)
		return
	}
	hl := int(h[0]&15) * 4
	total := int(binary.BigEndian.Uint16(h[2:]))
	if hl < ipv4HeaderLen || total != 0 && total < hl {
		d.fail(BadLength)
		return
	}
	p := d.p
	whole := off+max(total, hl) <= len(d.b)
	if total != 0 { // 0: segmentation offload, the length on the wire is right
		if off+total > d.wire {
			d.fail(Truncated)
		}
		d.cut(off + total)
	}
	p.keep()
	p.L3, p.IPVersion, p.Kind = pos(off), 4, KindIPOther
	p.TOS = h[1]
	p.IPID = binary.BigEndian.Uint16(h[4:])
	p.FragID = uint32(p.IPID)
	frag := binary.BigEndian.Uint16(h[6:])
	p.DF, p.MF, p.FragOff = frag&0x4000 != 0, frag&0x2000 != 0, frag&0x1fff<<3
	p.TTL, p.Proto = h[8], h[9]
	key4(&p.Key, &p.SrcIsA, h[12:20], h[9])
	p.noTransport(off + hl)
	if off+hl > len(d.b) {
		d.missing(off + hl)
		return
	}
	if p.MF || p.FragOff != 0 {
		if d.fragment(off+hl, whole) {
			return
		}
	}
	d.payload(h[9], off+hl)
}

// key4 fills a key from the two addresses of an IPv4 header, lower one first.
func key4(k *flow.Key, srcIsA *bool, addrs []byte, proto uint8) {
	pair, isA := flow.NewPair4(binary.BigEndian.Uint32(addrs), binary.BigEndian.Uint32(addrs[4:]), 0, 0)
	*k, *srcIsA = flow.Key{}, isA
	pair.Fill(proto, k)
}

// key6 does so for IPv6.
func key6(k *flow.Key, srcIsA *bool, addrs []byte, proto uint8) {
	s, t := addrs[0:16], addrs[16:32]
	*srcIsA = bytes.Compare(s, t) <= 0
	if !*srcIsA {
		s, t = t, s
	}
	*k = flow.Key{A: [16]byte(s), B: [16]byte(t), Proto: proto}
}

// noTransport forgets the transport header of an outer layer.
func (p *Packet) noTransport(off int) {
	at := min(pos(off), p.End)
	p.L4, p.Payload = at, at
	p.PayloadLen = 0
}

// fragment notes that the packet is a fragment whose data begin at off, and
// reports whether it has to be reassembled before anything above IP can be read.
// As in Wireshark, a first fragment of IPv4 that the snaplen has cut is read as it
// is: it can never be part of a whole.
func (d *decoder) fragment(off int, whole bool) bool {
	p := d.p
	if !whole {
		if p.FragOff == 0 && p.IPVersion == 4 {
			return false
		}
		d.fail(Short)
		d.data(off)
		p.PayloadLen = pos(max(d.wire-off, 0))
		return true
	}
	d.data(off)
	p.PayloadLen = pos(max(d.wire-off, 0))
	p.Kind = KindFragment
	return true
}

// ipv6 reads an IPv6 header and its extension headers (RFC 8200, 3 and 4).
func (d *decoder) ipv6(off int) {
	d.p.Protos.Add(IPv6)
	if !d.need(off, ipv6HeaderLen) || !d.deeper() {
		return
	}
	h := d.b[off : off+ipv6HeaderLen]
	if h[0]>>4 != 6 {
		d.fail(BadVersion)
		return
	}
	p := d.p
	next := h[6]
	plen := int(binary.BigEndian.Uint16(h[4:]))
	whole := off+ipv6HeaderLen+plen <= len(d.b)
	if plen == 0 {
		plen = d.jumbo(next, off+ipv6HeaderLen)
		p.NoLength6 = p.NoLength6 || plen == 0 && next != protoNoNext
	}
	if plen != 0 {
		if off+ipv6HeaderLen+plen > d.wire {
			d.fail(Truncated)
		}
		d.cut(off + ipv6HeaderLen + plen)
	}
	p.keep()
	p.L3, p.IPVersion, p.Kind = pos(off), 6, KindIPOther
	p.TOS = h[0]<<4 | h[1]>>4
	p.TTL = h[7]
	p.IPID, p.FragID, p.FragOff, p.DF, p.MF = 0, 0, 0, false, false
	key6(&p.Key, &p.SrcIsA, h[8:40], next)
	nh, at := off+6, off+ipv6HeaderLen
	p.noTransport(at)
	for range maxLayers {
		var n int
		switch next {
		case protoHopOpts, protoRouting, protoDstOpts, protoMobility, protoHIP, protoShim6:
			switch next {
			case protoHopOpts:
				p.Protos.Add(HopOpts)
			case protoRouting:
				p.Protos.Add(Routing)
			case protoDstOpts:
				p.Protos.Add(DstOpts)
			case protoMobility:
				p.Protos.Add(Mobile6)
			case protoHIP:
				p.Protos.Add(HIP)
			case protoShim6:
				p.Protos.Add(Shim6)
			}
			if !d.need(at, 8) {
				p.Proto = next
				return
			}
			n = int(d.b[at+1])*8 + 8
		case protoFragment:
			p.Protos.Add(FragHdr)
			if !d.need(at, 8) {
				p.Proto = next
				return
			}
			v := d.u16(at + 2)
			p.FragOff, p.MF = v&^7, v&1 != 0
			p.FragID = d.u32(at + 4)
			p.fragHdr, p.fragNH = pos(at), pos(nh)
			n = 8
			if v&^6 != 0 {
				next = d.b[at]
				p.Proto, p.Key.Proto = next, next
				p.noTransport(at + n)
				if d.fragment(at+n, whole) {
					return
				}
				nh, at = at, at+n
				continue
			}
		default:
			p.Proto, p.Key.Proto = next, next
			p.noTransport(at)
			if next != protoNoNext {
				d.payload(next, at)
			} else if plen != 0 {
				d.data(at)
			}
			return
		}
		next, nh, at = d.b[at], at, at+n
		if at > len(d.b) {
			d.missing(at)
			return
		}
	}
	d.fail(TooDeep)
}

// jumbo returns the payload length of a jumbogram (RFC 2675, 2), 0 if it is none.
func (d *decoder) jumbo(next byte, off int) int {
	const jumboOption, jumboLen, pad1 = 0xc2, 4, 0
	if next != protoHopOpts || !d.has(off, 8) {
		return 0
	}
	end := min(off+int(d.b[off+1])*8+8, len(d.b))
	for at := off + 2; at+2 <= end; {
		if d.b[at] == pad1 {
			at++
			continue
		}
		if d.b[at] == jumboOption && d.b[at+1] == jumboLen && at+6 <= end {
			return int(min(d.u32(at+2), math.MaxInt32/2))
		}
		at += 2 + int(d.b[at+1])
	}
	return 0
}

// payload goes on with what an IP header of either version carries.
func (d *decoder) payload(proto uint8, off int) {
	switch proto {
	case protoTCP:
		d.tcp(off)
	case protoUDP:
		d.udp(off)
	default:
		d.other(proto, off)
	}
}
