package decode

import "netwhy/analyze/flow"

// EtherTypes.
const (
	typeIPv4      = 0x0800
	typeARP       = 0x0806
	typeWOL       = 0x0842
	typeRARP      = 0x8035
	typeVLAN      = 0x8100
	typeIPX       = 0x8137
	typeIPv6      = 0x86dd
	typePPP       = 0x880b
	typeSlow      = 0x8809
	typeMPLS      = 0x8847
	typeMPLSMulti = 0x8848
	typePPPoED    = 0x8863
	typePPPoES    = 0x8864
	typeEAPOL     = 0x888e
	typeProfinet  = 0x8892
	typeHomePlug  = 0x88e1
	typeQinQ      = 0x88a8
	typeLLDP      = 0x88cc
	typeMACsec    = 0x88e5
	typePBB       = 0x88e7
	typePTP       = 0x88f7
	typeCFM       = 0x8902
	typeFCoE      = 0x8906
	typeNSH       = 0x894f
	typeCFP       = 0x8903 // Cisco FabricPath
	typeETag      = 0x893f // IEEE 802.1BR
	typeVNTag     = 0x8926
	typeHSR       = 0x892f
	typeCMD       = 0x8909
	typeTRILL     = 0x22f3
	typeBATMAN    = 0x4305
	typeRTag      = 0xf1c1 // IEEE 802.1CB
	typeJumboLLC  = 0x8870
	typeERSPAN    = 0x88be
	typeERSPAN3   = 0x22eb
	typeTEB       = 0x6558 // transparent Ethernet bridging
	typeLoop      = 0x9000
	typeOldQinQ   = 0x9100
)

// maxLength8023 is the largest value of the type field that is a length
// (IEEE 802.3, 3.2.6).
const maxLength8023 = 1500

const ethHeaderLen = 14

// ethernet reads an Ethernet header. The common case goes straight to IPv4.
func (d *decoder) ethernet(off int) {
	p := d.p
	p.Protos.Add(Eth)
	if !d.need(off, ethHeaderLen) {
		return
	}
	p.L2, p.L2Kind = pos(off), L2Ethernet
	et := d.u16(off + 12)
	if et == typeIPv4 {
		p.EtherType = et
		d.ipv4(off + ethHeaderLen)
		return
	}
	if !d.deeper() {
		return
	}
	if isISL(d.b[off:]) {
		d.isl(off)
		return
	}
	if et != 0 && et <= maxLength8023 {
		d.cut(off + ethHeaderLen + int(et))
		d.llc(off + ethHeaderLen)
		return
	}
	d.etherType(et, off+ethHeaderLen)
}

// etherType goes on with what an EtherType announces at off.
func (d *decoder) etherType(et uint16, off int) {
	p := d.p
	for isVLAN(et) {
		if et == typeQinQ {
			p.Protos.Add(ServiceVLAN)
		} else {
			p.Protos.Add(VLAN)
		}
		if !d.need(off, 4) || !d.deeper() {
			return
		}
		id := d.u16(off) & 0xfff
		if p.VLANs == 0 {
			p.OuterVLAN = id
		}
		p.VLAN = id
		p.VLANs++
		et = d.u16(off + 2)
		off += 4
		if et <= maxLength8023 {
			d.cut(off + int(et))
			d.llc(off)
			return
		}
	}
	p.EtherType = et
	switch et {
	case typeIPv4:
		d.ipv4(off)
	case typeIPv6:
		d.ipv6(off)
	case typeARP, typeRARP:
		d.arp(off)
	default:
		d.otherType(et, off)
	}
}

func isVLAN(et uint16) bool {
	return et == typeVLAN || et == typeQinQ || et == typeOldQinQ
}

// leaf ends the decoding at a protocol that carries no IP.
func (d *decoder) leaf(pr Proto, off int) {
	d.p.Protos.Add(pr)
	d.endLink(off)
}

// endLink makes the layer at hand the innermost one. The conversation of a
// tunnel around it stays among its conversations.
func (d *decoder) endLink(off int) {
	p := d.p
	p.keep()
	p.Kind = KindLink
	p.Key, p.SrcIsA, p.L3, p.IPVersion, p.Proto, p.TTL = flow.Key{}, false, None, 0, 0, 0
	at := min(pos(max(off, 0)), p.End)
	p.L4, p.Payload = at, at
	p.PayloadLen = pos(max(d.wire-off, 0))
}

// dead ends the decoding at something that cannot be read. What is around it, if
// that is IP, stays the innermost thing known.
func (d *decoder) dead(r Reason, off int) {
	d.fail(r)
	if d.p.IPVersion == 0 {
		d.endLink(off)
	}
}

// otherType reads what is neither IP nor ARP.
func (d *decoder) otherType(et uint16, off int) {
	switch et {
	case typeLLDP:
		d.leaf(LLDP, off)
	case typeEAPOL:
		d.leaf(EAPOL, off)
	case typeSlow:
		d.slow(off)
	case typeLoop:
		d.leaf(Loop, off)
	case typeWOL:
		d.leaf(WOL, off)
	case typePTP:
		d.leaf(PTP, off)
	case typeCFM:
		d.leaf(CFM, off)
	case typeFCoE:
		d.p.Protos.Add(FCoE)
		d.leaf(FC, off)
	case typeProfinet:
		d.leaf(ProfinetRT, off)
	case typeHomePlug:
		d.leaf(HomePlug, off)
	case typeIPX:
		d.leaf(IPX, off)
	case typePPPoED:
		d.leaf(PPPoED, off)
	case typePPPoES:
		d.pppoe(off)
	case typeMPLS, typeMPLSMulti:
		d.mpls(off)
	case typeNSH:
		d.nsh(off)
	case typeTEB:
		d.innerEthernet(off)
	case typePPP:
		d.ppp(off)
	case typePBB: // IEEE 802.1Q, 9.7: I-TAG, then the customer's frame
		d.p.Protos.Add(ITag)
		if d.need(off, 4) {
			d.p.TunnelID = d.u32(off) & 0xffffff
			d.enter(TunnelPBB)
			d.innerEthernet(off + 4)
		}
	case typeMACsec:
		d.macsec(off)
	case typeVNTag, typeHSR, typeRTag, typeCMD, typeETag:
		d.tagged(et, off)
	case typeJumboLLC:
		d.llc(off)
	case typeBATMAN:
		d.batman(off)
	case typeCFP: // tag and TTL, then the frame that is switched
		d.p.Protos.Add(FabricPath)
		d.innerEthernet(off + 2)
	case typeTRILL: // RFC 6325, 3: six bytes and options in words of four
		if d.need(off, 6) {
			d.innerEthernet(off + 6 + int(d.u16(off)>>6&0x1f)*4)
		}
	default:
		if EtherTypeName(et) == "" {
			d.data(off)
		}
		d.dead(UnknownType, off)
	}
}

// slow names the slow protocols (IEEE 802.3, 57A) by their subtype.
func (d *decoder) slow(off int) {
	const marker, oam = 2, 3
	d.leaf(LACP, off)
	if !d.has(off, 1) {
		return
	}
	switch d.b[off] {
	case marker:
		d.p.Protos.Add(Marker)
	case oam:
		d.p.Protos.Add(OAM)
	}
}

// arp reads ARP (RFC 826) or RARP (RFC 903) for IPv4. Other hardware or
// protocol lengths leave the key empty; see ARPFields.
func (d *decoder) arp(off int) {
	p := d.p
	p.Protos.Add(ARP)
	if !d.need(off, 8) {
		return
	}
	d.endLink(off)
	p.Kind = KindARP
	p.L3, p.L4, p.Payload = pos(off), pos(off), pos(off)
	n := 8 + 2*int(d.b[off+4]) + 2*int(d.b[off+5])
	d.cut(off + n)
	p.PayloadLen = pos(d.wire - off)
	if len(d.b) < off+n {
		d.missing(off + n)
	}
	if a, ok := ARPFields(d.b, p); ok {
		var pair [8]byte
		copy(pair[:4], a.SenderIP[:])
		copy(pair[4:], a.TargetIP[:])
		p.keep()
		key4(&p.Key, &p.SrcIsA, pair[:], 0)
	}
}

// tagged skips a tag of fixed length that ends in an EtherType: VN-Tag, HSR and
// the redundancy tag have six bytes, Cisco MetaData and the E-Tag eight.
func (d *decoder) tagged(et uint16, off int) {
	n := 6
	switch et {
	case typeVNTag:
		d.p.Protos.Add(VNTag)
	case typeHSR:
		d.p.Protos.Add(HSR)
	case typeCMD:
		d.p.Protos.Add(CMD)
		n = 8
	case typeETag:
		d.p.Protos.Add(ETag)
		n = 8
	}
	if d.need(off, n) && d.deeper() {
		d.etherType(d.u16(off+n-2), off+n)
	}
}

// batman reads B.A.T.M.A.N. advanced: only unicast and broadcast packets carry a
// frame. Version 14 numbers its packets otherwise than 15.
func (d *decoder) batman(off int) {
	const (
		v14                                = 14
		unicast, unicast4, broadcast       = 0x40, 0x42, 0x01
		unicast14, unicast4v14, broadcast4 = 3, 8, 4
	)
	d.endLink(off)
	if !d.need(off, 2) {
		return
	}
	n := 0
	if d.b[off+1] <= v14 {
		switch d.b[off] {
		case unicast14:
			n = 10
		case unicast4v14:
			n = 18
		case broadcast4:
			n = 14
		}
	} else {
		switch d.b[off] {
		case unicast:
			n = 10
		case unicast4:
			n = 18
		case broadcast:
			n = 14
		}
	}
	if n > 0 {
		d.innerEthernet(off + n)
	}
}

// isISL recognises Cisco's Inter-Switch Link by its multicast address.
func isISL(b []byte) bool {
	return len(b) >= 5 && (b[0] == 0x01 || b[0] == 0x0c) && b[1] == 0 && b[2] == 0x0c && b[3] == 0 && b[4] == 0
}

// isl reads an ISL header: 26 bytes before the frame, the VLAN at 20.
func (d *decoder) isl(off int) {
	const headerLen = 26
	if !d.need(off, headerLen) {
		return
	}
	p := d.p
	p.VLAN = d.u16(off+20) >> 1 & 0xfff
	if p.VLANs == 0 {
		p.OuterVLAN = p.VLAN
	}
	p.VLANs++
	if d.b[off+5]>>4 == 0 { // type: Ethernet
		d.innerEthernet(off + headerLen)
	}
}

// macsec reads a SecTAG (IEEE 802.1AE, 9.3). A frame whose integrity alone is
// protected goes on in the clear; its check value is behind the IP packet.
func (d *decoder) macsec(off int) {
	p := d.p
	p.Protos.Add(MACsec)
	if !d.need(off, 6) || !d.deeper() {
		return
	}
	const sci, encrypted, changed = 0x20, 0x08, 0x04
	at := off + 6
	if d.b[off]&sci != 0 {
		at += 8
	}
	if d.b[off]&(encrypted|changed) != 0 {
		d.dead(Encrypted, off)
		return
	}
	if d.need(at, 2) {
		d.etherType(d.u16(at), at+2)
	}
}
