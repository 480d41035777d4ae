package decode

// ipTunnel reads what an IP header wraps.
func (d *decoder) ipTunnel(proto uint8, off int) {
	p := d.p
	p.PayloadLen = pos(max(d.wire-off, 0))
	switch proto {
	case protoIPv4:
		d.enter(pick(p.IPVersion == 4, TunnelIPIP, Tunnel4in6))
		d.ip(off)
	case protoIPv6:
		d.enter(pick(p.IPVersion == 4, Tunnel6in4, Tunnel6in6))
		d.ipv6(off)
	case protoGRE:
		d.gre(off)
	case protoEtherIP: // RFC 3378, 3
		p.Protos.Add(EtherIP)
		if d.need(off, 2) && d.b[off]>>4 == 3 {
			d.enter(TunnelEtherIP)
			d.innerEthernet(off + 2)
		}
	case protoEthernet: // RFC 8986, 9.1
		d.innerEthernet(off)
	case protoMPLS: // RFC 4023
		d.mpls(off)
	case protoL2TP: // RFC 3931, 4.1.1; session 0 is control
		p.Protos.Add(L2TP)
		if d.need(off, 4) && d.u32(off) != 0 {
			p.TunnelID = d.u32(off)
			d.l2tpPayload(off + 4)
		}
	case protoPIM: // RFC 7761, 4.9.3: a register message carries the packet
		p.Protos.Add(PIM)
		if d.has(off, 9) && d.b[off] == 0x21 {
			d.enter(TunnelPIM)
			d.ip(off + 8)
		}
	case protoAH: // RFC 4302, 2
		p.Protos.Add(AH)
		if !d.need(off, 12) || !d.deeper() {
			return
		}
		d.enter(TunnelAH)
		at := off + (int(d.b[off+1])+2)*4
		if at > len(d.b) {
			d.missing(at)
			return
		}
		p.Proto, p.Key.Proto = d.b[off], d.b[off]
		p.noTransport(at)
		d.payload(d.b[off], at)
	}
}

func pick(first bool, a, b TunnelKind) TunnelKind {
	if first {
		return a
	}
	return b
}

// gre reads GRE: RFC 2784 and 2890, the routing entries of RFC 1701, and the
// version 1 of PPTP (RFC 2637, 4.1).
func (d *decoder) gre(off int) {
	const checksum, routing, key, seq, ack = 0x8000, 0x4000, 0x2000, 0x1000, 0x0080
	p := d.p
	p.Protos.Add(GRE)
	if !d.need(off, 4) || !d.deeper() {
		return
	}
	f, et := d.u16(off), d.u16(off+2)
	at := off + 4
	if f&(checksum|routing) != 0 {
		at += 4
	}
	if f&key != 0 {
		if !d.need(at, 4) {
			return
		}
		p.TunnelID = d.u32(at)
		if f&7 == 1 {
			p.TunnelID &= 0xffff // the call id; the rest is the payload's length
		}
		at += 4
	}
	if f&seq != 0 {
		at += 4
	}
	if f&7 == 1 {
		if f&ack != 0 {
			at += 4
		}
		if f&seq == 0 {
			return // an acknowledgement only
		}
	}
	if f&routing != 0 {
		for range maxLayers { // source route entries end with one of zeros
			if !d.need(at, 4) {
				return
			}
			af, n := d.u16(at), int(d.b[at+3])
			at += 4 + n
			if af == 0 && n == 0 {
				break
			}
		}
	}
	if at > len(d.b) {
		d.missing(at)
		return
	}
	d.enter(pick(et == typePPP, TunnelPPTP, pick(et == typeERSPAN || et == typeERSPAN3, TunnelERSPAN, TunnelGRE)))
	d.grePayload(et, at, f&seq != 0)
}

func (d *decoder) grePayload(et uint16, at int, seq bool) {
	const (
		wccp, cdp, osi, oldEthernet, frameRelay, nhrp = 0x883e, 0x2000, 0x00fe, 0x6400, 0x6559, 0x2001
		bonding, oldBonding                           = 0xb7ea, 0x0101
	)
	p := d.p
	switch et {
	case 0, bonding, oldBonding: // keepalive; RFC 8157, 4: control messages
	case typePPP:
		d.ppp(at)
	case oldEthernet:
		d.innerEthernet(at)
	case frameRelay:
		d.frameRelay(at)
	case typeERSPAN: // draft-foschiano-erspan: type I has no header, type II 8 bytes
		p.Protos.Add(ERSPAN)
		if seq {
			if !d.need(at, 8) {
				return
			}
			p.TunnelID = uint32(d.u16(at+2) & 0x3ff)
			at += 8
		}
		d.innerEthernet(at)
	case typeERSPAN3: // type III: 12 bytes, 8 more if the O bit is set
		p.Protos.Add(ERSPAN)
		if !d.need(at, 12) {
			return
		}
		p.TunnelID = uint32(d.u16(at+2) & 0x3ff)
		n := 12
		if d.b[at+11]&1 != 0 {
			n += 8
		}
		d.innerEthernet(at + n)
	case wccp: // draft-forster-wrec-wccp: version 2 has a redirect header
		if d.has(at, 1) && d.b[at]>>4 != 4 {
			at += 4
		}
		d.ipv4(at)
	case cdp:
		p.Protos.Add(CDP)
	case nhrp:
		p.Protos.Add(NHRP)
	case osi:
		d.osi(at)
	default:
		if et >= arubaFirst && et <= arubaLast && et&0xf == 0 {
			d.wlan(at)
			return
		}
		d.tunnelType(et, at)
	}
}

// Aruba's access points tunnel 802.11 frames under GRE protocol numbers of their
// own, one for each station and direction.
const (
	arubaFirst = 0x8200
	arubaLast  = 0x83f0
)
