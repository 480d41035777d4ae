package decode

// PPP protocol numbers (IANA, RFC 1661, 2).
const (
	pppIPv4      = 0x0021
	pppOSI       = 0x0023
	pppVJ        = 0x002d
	pppVJUncomp  = 0x002f
	pppBridging  = 0x0031
	pppMultilink = 0x003d
	pppIPv6      = 0x0057
	pppCDP       = 0x0207
	pppMPLS      = 0x0281
	pppMPLSMulti = 0x0283
	pppControl   = 0x4000 // from here on: LCP, IPCP and the like
)

// pppoe reads a PPPoE session packet (RFC 2516, 4).
func (d *decoder) pppoe(off int) {
	d.p.Protos.Add(PPPoES)
	if !d.need(off, 6) || !d.deeper() {
		return
	}
	d.p.TunnelID = uint32(d.u16(off + 2))
	d.enter(TunnelPPPoE)
	d.cut(off + 6 + int(d.u16(off+4)))
	d.pppProtocol(off + 6)
}

// ppp reads a PPP frame, with or without address and control fields (RFC 1662,
// 3.1 and 3.2).
func (d *decoder) ppp(off int) {
	if d.has(off, 2) && d.u16(off) == 0xff03 {
		off += 2
	} else if d.has(off, 1) && d.b[off] == 0xff { // control field compressed
		off++
	}
	d.pppProtocol(off)
}

// pppProtocol reads the protocol field, one byte when compressed (RFC 1661, 6.5).
func (d *decoder) pppProtocol(off int) {
	d.p.Protos.Add(PPP)
	if !d.need(off, 1) || !d.deeper() {
		return
	}
	pr := uint16(d.b[off])
	if pr&1 != 0 {
		off++
	} else {
		if !d.need(off, 2) {
			return
		}
		pr = d.u16(off)
		off += 2
	}
	switch pr {
	case pppIPv4, typeIPv4:
		d.ipv4(off)
	case pppIPv6, typeIPv6:
		d.ipv6(off)
	case pppMPLS, pppMPLSMulti:
		d.mpls(off)
	case pppVJ:
		d.dead(Compressed, off)
	case pppVJUncomp:
		d.vjUncompressed(off)
	case pppBridging: // RFC 3518, 4.2: flags, MAC type 1 is Ethernet
		if d.need(off, 2) && d.b[off+1] == 1 {
			d.innerEthernet(off + 2)
		}
	case pppOSI:
		d.osi(off)
	case pppCDP:
		d.leaf(CDP, off)
	case pppMultilink: // RFC 1990, 3: long sequence numbers; whole packets only
		d.p.Protos.Add(MP)
		if d.need(off, 4) && d.b[off]&0xc0 == 0xc0 {
			d.pppProtocol(off + 4)
			return
		}
		d.dead(LinkFragment, off)
	default:
		if pr < pppControl {
			d.dead(UnknownType, off)
			return
		}
		d.endLink(off)
		if d.p.EtherType == typeIPv4 || d.p.EtherType == typeIPv6 { // of a tunnel around: it is not what is here
			d.p.EtherType = typePPP
		}
	}
}

// vjUncompressed reads a packet whose IP protocol field holds a connection slot
// (RFC 1144, 3.2.3): it is TCP.
func (d *decoder) vjUncompressed(off int) {
	d.dead(Compressed, off)
}
