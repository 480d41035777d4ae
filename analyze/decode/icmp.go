package decode

import "encoding/binary"

const icmpHeaderLen = 8

// ICMP types whose message quotes the packet that caused it (RFC 792).
const (
	icmpUnreachable  = 3
	icmpSourceQuench = 4
	icmpRedirect     = 5
	icmpTimeExceeded = 11
	icmpParameter    = 12
)

// ICMPv6 types (RFC 4443). All types below 128 are errors.
const (
	icmp6Unreachable = 1
	icmp6TooBig      = 2
	icmp6Time        = 3
	icmp6Parameter   = 4
)

const codeFragNeeded = 4

// Messages whose rest is the sender's own (RFC 792, RFC 4443, 4).
const (
	icmpEchoReply  = 0
	icmpEcho       = 8
	icmp6Echo      = 128
	icmp6EchoReply = 129
)

// data notes that what is captured from off on is nobody's.
func (d *decoder) data(off int) {
	if off < len(d.b) && !d.p.NoLength6 {
		d.p.Protos.Add(Data)
	}
}

// icmp reads ICMP or ICMPv6.
func (d *decoder) icmp(off int, kind Kind) {
	p := d.p
	if kind == KindICMP {
		p.Protos.Add(ICMP)
	} else {
		p.Protos.Add(ICMPv6)
	}
	if !d.need(off, 2) {
		return
	}
	p.Kind = kind
	p.ICMPType, p.ICMPCode = d.b[off], d.b[off+1]
	p.L4 = pos(off)
	at := off + icmpHeaderLen
	p.Payload = min(pos(at), p.End)
	p.PayloadLen = pos(max(d.wire-at, 0))
	if !d.need(off, icmpHeaderLen) {
		return
	}
	if kind == KindICMP {
		switch p.ICMPType {
		case icmpEchoReply, icmpEcho:
			d.data(at)
		case icmpUnreachable, icmpSourceQuench, icmpRedirect, icmpTimeExceeded, icmpParameter:
			var mtu uint32
			if p.ICMPType == icmpUnreachable && p.ICMPCode == codeFragNeeded {
				mtu = uint32(d.u16(off + 6)) // RFC 1191, 4
			}
			d.quote(at, mtu)
		}
		return
	}
	switch p.ICMPType {
	case icmp6Echo, icmp6EchoReply:
		if nonce := 4; !p.Protos.Has(Teredo) || len(d.b) != at+nonce { // RFC 4380, 5.2.4
			d.data(at)
		}
	case icmp6Unreachable, icmp6TooBig, icmp6Time, icmp6Parameter:
		var mtu uint32
		if p.ICMPType == icmp6TooBig {
			mtu = d.u32(off + 4)
		}
		d.quote(at, mtu)
	}
}

// quote reads as much as there is of the packet that an error quotes.
func (d *decoder) quote(off int, mtu uint32) {
	if off >= len(d.b) {
		return
	}
	q := &d.p.more().quote
	*q = Quote{At: pos(off), MTU: mtu}
	switch d.b[off] >> 4 {
	case 4:
		if d.p.Kind == KindICMP { // RFC 4443, 2.4: ICMPv6 quotes IPv6
			d.quote4(q, off)
		}
	case 6:
		d.quote6(q, off)
	}
}

func (d *decoder) quote4(q *Quote, off int) {
	if off+ipv4HeaderLen > len(d.b) {
		return
	}
	h := d.b[off : off+ipv4HeaderLen]
	hl := int(h[0]&15) * 4
	if hl < ipv4HeaderLen {
		return
	}
	d.p.Quotes = true
	q.Proto, q.TTL = h[9], h[8]
	q.IPID = binary.BigEndian.Uint16(h[4:])
	q.Len = uint32(binary.BigEndian.Uint16(h[2:]))
	key4(&q.Key, &q.SrcIsA, h[12:20], h[9])
	if binary.BigEndian.Uint16(h[6:])&0x1fff == 0 {
		d.quotePorts(q, off+hl)
	}
}

func (d *decoder) quote6(q *Quote, off int) {
	if off+ipv6HeaderLen > len(d.b) {
		return
	}
	h := d.b[off : off+ipv6HeaderLen]
	d.p.Quotes = true
	q.Proto, q.TTL = h[6], h[7]
	q.Len = uint32(binary.BigEndian.Uint16(h[4:])) + ipv6HeaderLen
	key6(&q.Key, &q.SrcIsA, h[8:40], h[6])
	at := off + ipv6HeaderLen
	for range maxLayers {
		var n int
		switch q.Proto {
		case protoHopOpts, protoRouting, protoDstOpts, protoMobility, protoHIP, protoShim6:
			if at+8 > len(d.b) {
				return
			}
			n = int(d.b[at+1])*8 + 8
		case protoFragment:
			if at+8 > len(d.b) {
				return
			}
			n = 8
			if d.u16(at+2)&^7 != 0 {
				q.Proto = d.b[at]
				q.Key.Proto = q.Proto
				return
			}
		default:
			d.quotePorts(q, at)
			return
		}
		q.Proto = d.b[at]
		q.Key.Proto = q.Proto
		at += n
	}
}

func (d *decoder) quotePorts(q *Quote, at int) {
	switch q.Proto {
	case protoTCP, protoUDP, protoSCTP, protoDCCP, protoUDPLite:
	default:
		return
	}
	if at+4 > len(d.b) {
		return
	}
	q.HasPorts = true
	switch q.Proto { // as Wireshark counts them
	case protoTCP:
		d.p.Protos.Add(TCP)
	case protoUDP:
		d.p.Protos.Add(UDP)
	}
	setPorts(&q.Key, &q.SrcIsA, d.u16(at), d.u16(at+2))
	if q.Proto == protoTCP && at+tcpStreamHeader <= len(d.b) || q.Proto == protoUDP && at+udpHeaderLen <= len(d.b) {
		d.quoted(q)
	}
	if q.Proto == protoTCP && at+8 <= len(d.b) {
		q.Seq, q.HasSeq = d.u32(at+4), true
	}
	if q.Proto == protoTCP && at+tcpStreamHeader <= len(d.b) {
		w := d.u16(at + 12)
		q.Flags, q.Whole = w&0x1ff, w>>12 >= tcpMinHeader/4 && at+int(w>>12)*4 <= len(d.b)
	}
}

// quoted lists the conversation where Wireshark gives it a stream: most errors
// quote too little of a TCP header for that.
func (d *decoder) quoted(q *Quote) {
	p := d.p
	if p.NConvs < MaxConvs && !p.NoLength6 {
		p.keep()
		p.more().convs[p.NConvs] = Conv{Key: q.Key, SrcIsA: q.SrcIsA, Quoted: true, Within: p.within(q.Key.Proto)}
		p.NConvs++
	}
}

// within reports whether a conversation of the transport is around the quote.
func (p *Packet) within(transport uint8) bool {
	for i := range int(p.NConvs) {
		if p.Conv(i).Key.Proto == transport {
			return true
		}
	}
	return false
}

// Counted returns type and code of the ICMP message of the other IP version that
// an error quotes, as where 6in4 meets a closed door: Wireshark shows both.
func (q *Quote) Counted(data []byte, outer Kind) (kind Kind, typ, code uint8, ok bool) {
	const v4Message, v6Message = 6, 2 // bytes that Wireshark wants to be there
	at := int(q.At)
	for range maxLayers {
		if at >= len(data) {
			break
		}
		var next byte
		switch v := data[at] >> 4; {
		case v == 4 && at+ipv4HeaderLen <= len(data):
			next = data[at+9]
			at += int(data[at]&15) * 4
		case v == 6 && at+ipv6HeaderLen <= len(data):
			next = data[at+6]
			at += ipv6HeaderLen
		default:
			return 0, 0, 0, false
		}
		switch {
		case next == protoIPv4 || next == protoIPv6:
			continue
		case next == protoICMP && outer == KindICMPv6 && at+v4Message <= len(data):
			return KindICMP, data[at], data[at+1], true
		case next == protoICMPv6 && outer == KindICMP && at+v6Message <= len(data):
			return KindICMPv6, data[at], data[at+1], true
		}
		break
	}
	return 0, 0, 0, false
}

// QuotePayload returns what a quote has beyond the headers that are read of it: of TCP
// and UDP that of the transport, of an echo what it carries, of a fragment and an
// unknown protocol that of IP. Wireshark reads no further than the ports in a
// redirect. fragment tells that the transport's header is among it.
func (p *Packet) QuotePayload(data []byte) (payload []byte, fragment bool) {
	q := p.Quote()
	if end := int(q.At) + int(q.Len); end < len(data) { // what is behind it are extensions (RFC 4884)
		data = data[:end]
	}
	at, next, fragment, ok := q.transport(data)
	if !ok || p.Kind == KindICMP && p.ICMPType == icmpRedirect {
		return nil, false
	}
	n := 0
	switch {
	case fragment:
	case next == protoTCP:
		if at+tcpMinHeader > len(data) {
			return nil, false
		}
		n = int(data[at+12]>>4) * 4
	case next == protoUDP:
		n = udpHeaderLen
	case next == protoICMP || next == protoICMPv6:
		if at >= len(data) || data[at] != icmpEcho && data[at] != icmpEchoReply && data[at] != icmp6Echo && data[at] != icmp6EchoReply {
			return nil, false
		}
		n = icmpHeaderLen
	case known(next):
		return nil, false
	}
	if at+n > len(data) {
		return nil, false
	}
	return data[at+n:], fragment
}

// transport finds what follows the quoted IP header and its extension headers.
func (q *Quote) transport(data []byte) (at int, next uint8, fragment, ok bool) {
	at = int(q.At)
	if at+ipv4HeaderLen <= len(data) && data[at]>>4 == 4 {
		frag := binary.BigEndian.Uint16(data[at+6:]) & 0x3fff
		return at + int(data[at]&15)*4, data[at+9], frag != 0, true
	}
	if at+ipv6HeaderLen > len(data) {
		return 0, 0, false, false
	}
	next = data[at+6]
	at += ipv6HeaderLen
	for range maxLayers {
		switch next {
		case protoHopOpts, protoRouting, protoDstOpts:
			if at+8 > len(data) {
				return 0, 0, false, false
			}
			next, at = data[at], at+int(data[at+1])*8+8
		case protoFragment:
			if at+8 > len(data) {
				return 0, 0, false, false
			}
			fragment = fragment || binary.BigEndian.Uint16(data[at+2:])&^6 != 0
			next, at = data[at], at+8
		default:
			return at, next, fragment, true
		}
	}
	return 0, 0, false, false
}

// known reports whether a protocol over IP has a name here.
func known(proto uint8) bool {
	switch proto {
	case protoSCTP, protoIPv4, protoIPv6, protoGRE, protoEtherIP, protoMPLS, protoAH, protoL2TP, protoPIM, protoEthernet:
		return true
	}
	var p Packet
	d := decoder{p: &p, b: []byte{0}, wire: 1}
	d.opaque(proto, 0)
	return !p.Protos.Has(Data)
}

// Src returns the source address of the quoted packet.
func (q *Quote) Src() [16]byte {
	if q.SrcIsA {
		return q.Key.A
	}
	return q.Key.B
}

// Dst returns its destination address.
func (q *Quote) Dst() [16]byte {
	if q.SrcIsA {
		return q.Key.B
	}
	return q.Key.A
}

// other reads transport protocols other than TCP and UDP.
func (d *decoder) other(proto uint8, off int) {
	switch proto {
	case protoICMP:
		d.icmp(off, KindICMP)
	case protoICMPv6:
		d.icmp(off, KindICMPv6)
	case protoSCTP:
		d.sctp(off)
	case protoIPv4, protoIPv6, protoGRE, protoEtherIP, protoMPLS, protoAH, protoL2TP, protoPIM, protoEthernet:
		d.ipTunnel(proto, off)
	default:
		d.opaque(proto, off)
	}
}

// sctp reads the common header (RFC 9260, 3.1). Its chunks are not walked here.
func (d *decoder) sctp(off int) {
	p := d.p
	p.Protos.Add(SCTP)
	if !d.need(off, 12) {
		return
	}
	p.Kind = KindSCTP
	d.ports(d.u16(off), d.u16(off+2))
	p.L4, p.Payload = pos(off), pos(off+12)
	p.PayloadLen = pos(d.wire - off - 12)
}

// opaque names protocols whose payload is nobody's concern here.
func (d *decoder) opaque(proto uint8, off int) {
	p := d.p
	p.PayloadLen = pos(max(d.wire-off, 0))
	switch proto {
	case protoIGMP:
		p.Protos.Add(IGMP)
		d.igmp(off)
	case protoOSPF:
		p.Protos.Add(OSPF)
	case protoVRRP:
		p.Protos.Add(VRRP)
	case protoESP:
		p.Protos.Add(ESP)
	case protoEIGRP:
		p.Protos.Add(EIGRP)
	case protoRSVP:
		p.Protos.Add(RSVP)
	case protoIPComp:
		p.Protos.Add(IPComp)
	case protoDCCP, protoUDPLite:
		if proto == protoDCCP {
			p.Protos.Add(DCCP)
		} else {
			p.Protos.Add(UDPLite)
		}
		if d.need(off, 4) {
			d.ports(d.u16(off), d.u16(off+2))
		}
	case protoMobility:
		p.Protos.Add(Mobile6)
	case protoHIP:
		p.Protos.Add(HIP)
	default:
		d.seldom(proto, off)
	}
}

// igmp names what is numbered among the messages of IGMP and is none.
func (d *decoder) igmp(off int) {
	const dvmrp, pim1, rgmp = 0x13, 0x14, 0xfc
	if !d.has(off, 1) {
		return
	}
	switch t := d.b[off]; {
	case t == dvmrp:
		d.p.Protos.Add(DVMRP)
	case t == pim1:
		d.p.Protos.Add(PIM)
	case t >= rgmp:
		d.p.Protos.Add(RGMP)
	}
}

// seldom names what is rarely met.
func (d *decoder) seldom(proto uint8, off int) {
	const (
		igrp, cotp, xtp, dsr, swipe, nhrp, osi, ax25, pgm, rsvpE2E = 9, 29, 36, 48, 53, 54, 80, 93, 113, 134
	)
	p := d.p
	switch proto {
	case igrp:
		p.Protos.Add(IGRP)
	case cotp:
		p.Protos.Add(COTP)
	case xtp:
		p.Protos.Add(XTP)
	case dsr:
		p.Protos.Add(DSR)
	case swipe:
		p.Protos.Add(SWIPE)
	case nhrp:
		p.Protos.Add(NHRP)
	case osi:
		p.Protos.Add(OSI)
	case ax25:
		p.Protos.Add(AX25)
	case pgm:
		p.Protos.Add(PGM)
	case rsvpE2E:
		p.Protos.Add(RSVPE2E)
	default:
		d.data(off)
	}
}
