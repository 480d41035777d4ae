package decode

import (
	"encoding/binary"

	"netwhy/capture/packet"
)

// chdlc reads Cisco HDLC: address, control, EtherType.
func (d *decoder) chdlc(off int) {
	const slarp, cdp, osi = 0x8035, 0x2000, 0xfefe
	d.p.Protos.Add(CHDLC)
	if !d.need(off, 4) {
		return
	}
	switch et := d.u16(off + 2); et {
	case slarp:
		d.leaf(SLARP, off+4)
	case cdp:
		d.leaf(CDP, off+4)
	case osi: // a byte of padding before the identifier
		d.osi(off + 5)
		if d.p.Kind == KindUndecoded {
			d.endLink(off + 4)
		}
	default:
		d.etherType(et, off+4)
	}
}

// frameRelay reads Q.922 addresses of 2 to 4 bytes, then RFC 2427 or Cisco's
// EtherType.
func (d *decoder) frameRelay(off int) {
	p := d.p
	p.Protos.Add(FR)
	at := off
	for range 4 {
		if !d.need(at, 1) {
			return
		}
		at++
		if d.b[at-1]&1 != 0 {
			break
		}
	}
	if !d.need(at, 2) {
		return
	}
	d.endLink(at)
	const ui, nlpidSNAP = 3, 0x80
	if d.b[at] != ui {
		d.etherType(d.u16(at), at+2)
		return
	}
	at++
	if d.b[at] == 0 { // padding
		at++
	}
	if !d.need(at, 1) {
		return
	}
	switch d.b[at] {
	case nlpidSNAP:
		d.snap(at + 1)
	case 0xcf:
		d.pppProtocol(at + 1)
	default:
		d.networkLayer(at)
	}
}

// nflog reads Linux netfilter's log: type-length-values in the byte order of the
// machine, the packet in the one of type 9.
func (d *decoder) nflog() {
	const payload = 9
	d.p.Protos.Add(NFLog)
	if !d.need(0, 4) {
		return
	}
	family := d.b[0]
	at := 4
	for range 256 {
		if !d.need(at, 4) {
			return
		}
		n, t := int(binary.LittleEndian.Uint16(d.b[at:])), binary.LittleEndian.Uint16(d.b[at+2:])
		if t&0xff == 0 && n > 0xff || n < 4 { // the other byte order
			n, t = int(d.u16(at)), d.u16(at+2)
		}
		if n < 4 {
			d.fail(BadLength)
			return
		}
		if t == payload {
			d.cut(at + n)
			switch {
			case family == familyIPv4:
				d.ipv4(at + 4)
			case familyIsIPv6(uint32(family)):
				d.ipv6(at + 4)
			case d.looksLikeIP(at + 4):
				d.ip(at + 4)
			default:
				d.fail(UnknownType)
				d.endLink(at + 4)
			}
			return
		}
		at += (n + 3) &^ 3
	}
}

// pflog reads OpenBSD's packet filter log: its length, rounded up to four, and
// the family.
func (d *decoder) pflog() {
	d.p.Protos.Add(PFLog)
	if !d.need(0, 2) {
		return
	}
	at := (int(d.b[0]) + 3) &^ 3
	switch f := uint32(d.b[1]); {
	case f == familyIPv4:
		d.ipv4(at)
	case familyIsIPv6(f):
		d.ipv6(at)
	default:
		d.fail(UnknownType)
		d.endLink(at)
	}
}

// pktap reads Apple's header: its length, and the link type of what follows.
func (d *decoder) pktap() {
	if !d.need(0, 16) {
		return
	}
	n, dlt := int(binary.LittleEndian.Uint32(d.b)), binary.LittleEndian.Uint32(d.b[8:])
	if n < 16 || n > len(d.b) || dlt > 0xffff {
		d.fail(BadLength)
		return
	}
	d.p.Protos.Add(PKTAP)
	d.nested(packet.LinkType(dlt), n)
}

// juniperEthernet reads the header of Juniper's captures: magic, flags, and an
// extension whose length is told.
func (d *decoder) juniperEthernet() {
	const magic, extended, noL2 = 0x4d4743, 0x80, 0x02
	if !d.need(0, 4) || d.u32(0)>>8 != magic {
		return
	}
	d.p.Protos.Add(JuniperEth)
	at := 4
	if d.b[3]&extended != 0 {
		if !d.need(4, 2) {
			return
		}
		at = 6 + int(d.u16(4))
	}
	if d.b[3]&noL2 != 0 {
		if d.need(at, 4) {
			d.ip(at + 4)
		}
		return
	}
	d.ethernet(at)
}

// erf reads an Endace record of Ethernet: 16 bytes, extension headers, two bytes
// of alignment.
func (d *decoder) erf() {
	const ethernet, more = 2, 0x80
	if !d.need(0, 16) {
		return
	}
	typ := d.b[8]
	at := 16
	for i := 0; typ&more != 0 && i < maxLayers; i++ {
		if !d.need(at, 8) {
			return
		}
		typ = typ&^more | d.b[at]&more
		at += 8
	}
	switch typ &^ more {
	case ethernet, 11, 16, 20, 21:
		d.ethernet(at + 2)
	case 22, 23: // raw IP
		d.ip(at)
	default:
		d.fail(UnknownType)
		d.p.Kind = KindLink
	}
}

// arcnet reads Linux's ARCNET header: source, destination, two bytes of offset,
// protocol; RFC 1201 adds split flag and sequence number, RFC 1051 nothing.
func (d *decoder) arcnet() {
	const ip, arp, oldIP, oldARP = 212, 213, 240, 241
	d.p.Protos.Add(ARCNET)
	if !d.need(0, 8) {
		return
	}
	switch d.b[4] {
	case ip:
		d.ip(8)
	case arp:
		d.arp(8)
	case oldIP:
		d.ip(5)
	case oldARP:
		d.arp(5)
	default:
		d.llc(5)
	}
}

// sunATM reads SunATM's header: direction and type, VPI, VCI.
func (d *decoder) sunATM() {
	if !d.need(0, 4) {
		return
	}
	switch d.b[0] & 0xf {
	case 1: // LANE: two bytes of header, then Ethernet
		d.ethernet(6)
	case 2:
		d.llc(4)
	default:
		d.fail(UnknownType)
		d.endLink(4)
	}
}

// tokenRing reads IEEE 802.5: access and frame control, the addresses, and a
// routing field if the source's first bit says so.
func (d *decoder) tokenRing() {
	const headerLen, routed = 14, 0x80
	d.p.Protos.Add(TokenRing)
	if !d.need(0, headerLen+2) {
		return
	}
	at := headerLen
	if d.b[8]&routed != 0 {
		at += int(d.b[headerLen] & 0x1f)
	}
	if d.b[1]>>6 == 1 { // LLC frames; the rest is the ring's own
		d.llc(at)
		return
	}
	d.endLink(at)
}
