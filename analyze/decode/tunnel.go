package decode

// UDP ports whose payload Wireshark takes for a tunnel by default. Here the
// content has to agree as well, so that a client that happens to have such a
// port is not misread.
const (
	portL2TP     = 1701
	portGTPU     = 2152
	portTeredo   = 3544
	portLISP     = 4341
	portNATT     = 4500 // RFC 3948
	portVXLAN    = 4789
	portVXLANGPE = 4790
	portCAPWAP   = 5247
	portGUE      = 6080
	portGeneve   = 6081
	portMPLS     = 6635
	portTZSP     = 37008
	portGRE      = 4754
	portAYIYA    = 5072
)

// udpTunnel tells whether a port may be a tunnel's.
func udpTunnel(port uint16) bool {
	switch port {
	case portL2TP, portGTPU, portTeredo, portLISP, portNATT, portVXLAN, portVXLANGPE, portCAPWAP, portGeneve, portMPLS, portTZSP,
		portGRE, portAYIYA:
		return true
	}
	return false
}

// udpPayload looks for a tunnel behind a UDP header. The lower port decides
// first, as in Wireshark.
func (d *decoder) udpPayload(off int) {
	lo, hi := d.p.SrcPort, d.p.DstPort
	if lo > hi {
		lo, hi = hi, lo
	}
	if lo == portDNS { // a resolver's answer to a client on a tunnel's port
		return
	}
	if !d.udpTunnelAt(lo, off) && hi != lo {
		d.udpTunnelAt(hi, off)
	}
}

const portDNS = 53

func (d *decoder) udpTunnelAt(port uint16, off int) bool {
	switch port {
	case portVXLAN:
		return d.vxlan(off)
	case portVXLANGPE:
		return d.vxlanGPE(off)
	case portGeneve:
		return d.geneve(off)
	case portGTPU:
		return d.gtpu(off)
	case portTeredo:
		return d.teredo(off)
	case portL2TP:
		return d.l2tp(off)
	case portLISP:
		return d.lisp(off)
	case portMPLS:
		return d.mplsUDP(off)
	case portNATT: // the marker of zeros is IKE, a single byte a keep-alive
		if !d.has(off, 8) || d.u32(off) == 0 {
			return false
		}
		d.p.Protos.Add(ESP)
		return true
	case portCAPWAP:
		return d.capwap(off)
	case portTZSP:
		return d.tzsp(off)
	case portGRE: // RFC 8086
		if !d.has(off, 4) || d.u16(off)&0x4fff != 0 {
			return false
		}
		d.gre(off)
		return true
	case portAYIYA:
		return d.ayiya(off)
	}
	return false
}

// has reports whether n bytes are captured at off, without noting an error:
// for content checks.
func (d *decoder) has(off, n int) bool { return off+n <= len(d.b) }

// vxlan reads RFC 7348, 5. The I flag has to be set, or else the inner frame to
// be beyond doubt.
func (d *decoder) vxlan(off int) bool {
	if !d.has(off, 8) || off+8+ethHeaderLen > d.wire {
		return false
	}
	if (d.b[off]&0x08 == 0 || d.b[off]&0x30 != 0) &&
		!(d.has(off+8, ethHeaderLen+ipv4HeaderLen) && d.looksLikeFrame(off+8)) {
		return false
	}
	d.p.Protos.Add(VXLAN)
	d.enter(TunnelVXLAN)
	d.p.TunnelID = d.u32(off+4) >> 8
	d.innerEthernet(off + 8)
	return true
}

// vxlanGPE reads draft-ietf-nvo3-vxlan-gpe: the P flag says that the fourth byte
// names what follows.
func (d *decoder) vxlanGPE(off int) bool {
	if !d.has(off, 8) || d.b[off]&0x0c != 0x0c {
		return false
	}
	next := d.b[off+3]
	if next < 1 || next > 4 {
		return false
	}
	d.p.Protos.Add(VXLAN)
	d.enter(TunnelVXLAN)
	d.p.TunnelID = d.u32(off+4) >> 8
	d.nextProto(next, off+8)
	return true
}

// nextProto goes on with what VXLAN-GPE and NSH (RFC 8300, 2.2) number alike.
func (d *decoder) nextProto(next byte, off int) {
	switch next {
	case 1:
		d.ipv4(off)
	case 2:
		d.ipv6(off)
	case 3:
		d.innerEthernet(off)
	case 4:
		d.nsh(off)
	case 5:
		d.mpls(off)
	default:
		d.fail(UnknownType)
	}
}

// nsh reads the Network Service Header (RFC 8300, 2).
func (d *decoder) nsh(off int) {
	if !d.need(off, 8) || !d.deeper() {
		return
	}
	n := int(d.b[off+1]&0x3f) * 4
	if n < 8 {
		d.fail(BadLength)
		return
	}
	d.p.Protos.Add(NSH)
	d.enter(TunnelNSH)
	next := d.b[off+3]
	if next == 4 { // NSH in NSH
		d.fail(UnknownType)
		return
	}
	d.nextProto(next, off+n)
}

// innerEthernet reads an Ethernet frame inside a tunnel. Its VLANs are its own.
func (d *decoder) innerEthernet(off int) {
	if d.deeper() {
		d.ethernet(off)
	}
}

// geneve reads RFC 8926, 3.4.
func (d *decoder) geneve(off int) bool {
	if !d.has(off, 8) || d.b[off]>>6 != 0 || d.b[off+1]&0x3f != 0 || d.b[off+7] != 0 {
		return false
	}
	et := d.u16(off + 2)
	at := off + 8 + int(d.b[off]&0x3f)*4
	if at > d.wire || et <= maxLength8023 {
		return false
	}
	d.p.Protos.Add(Geneve)
	d.enter(TunnelGeneve)
	d.p.TunnelID = d.u32(off+4) >> 8
	if d.need(off, at-off) {
		d.tunnelType(et, at)
	}
	return true
}

// tunnelType goes on with an EtherType in a tunnel header.
func (d *decoder) tunnelType(et uint16, off int) {
	if et == typeTEB {
		d.innerEthernet(off)
		return
	}
	if d.deeper() {
		d.etherType(et, off)
	}
}

// gtpu reads GTP version 1 (3GPP TS 29.281, 5): only G-PDUs (type 255) carry a
// packet.
func (d *decoder) gtpu(off int) bool {
	const gpdu = 255
	if !d.has(off, 8) || d.b[off]>>5 != 1 || d.b[off]&0x10 == 0 {
		return false
	}
	n := int(d.u16(off + 2))
	if off+8+n > d.wire {
		return false
	}
	d.p.Protos.Add(GTP)
	if d.b[off+1] != gpdu {
		return true
	}
	d.p.TunnelID = d.u32(off + 4)
	at := off + 8
	if d.b[off]&7 != 0 {
		if !d.need(at, 4) {
			return true
		}
		next := d.b[at+3]
		at += 4
		for i := 0; d.b[off]&4 != 0 && next != 0; i++ { // extension headers, 5.2.1
			if i == maxLayers || !d.need(at, 4) {
				return true
			}
			l := int(d.b[at]) * 4
			if l == 0 || !d.need(at, l) {
				return true
			}
			next = d.b[at+l-1]
			at += l
		}
	}
	d.enter(TunnelGTP)
	d.cut(off + 8 + n)
	if d.has(at, 1) && (d.b[at]>>4 == 4 || d.b[at]>>4 == 6) {
		d.ip(at)
	}
	return true
}

// teredo reads RFC 4380, 5.1.1: optional authentication and origin indication,
// then IPv6.
func (d *decoder) teredo(off int) bool {
	at := off
	if d.has(at, 4) && d.u16(at) == 1 {
		at += 4 + int(d.b[at+2]) + int(d.b[at+3]) + 9
	}
	if d.has(at, 2) && d.u16(at) == 0 {
		at += 8
	}
	if !d.has(at, ipv6HeaderLen) || d.b[at]>>4 != 6 || at+ipv6HeaderLen+int(d.u16(at+4)) > d.wire {
		return false
	}
	d.p.Protos.Add(Teredo)
	d.enter(TunnelTeredo)
	d.ipv6(at)
	return true
}

// lisp reads a LISP data packet (RFC 9300, 5).
func (d *decoder) lisp(off int) bool {
	if !d.looksLikeIP(off + 8) {
		return false
	}
	d.p.Protos.Add(LISP)
	d.enter(TunnelLISP)
	d.ip(off + 8)
	return true
}

// looksLikeIP checks version and lengths of an IP header.
func (d *decoder) looksLikeIP(off int) bool {
	if !d.has(off, ipv4HeaderLen) {
		return false
	}
	switch d.b[off] >> 4 {
	case 4:
		n := int(d.u16(off + 2))
		return d.b[off]&15 >= 5 && n >= ipv4HeaderLen && off+n <= d.wire
	case 6:
		return d.has(off, ipv6HeaderLen) && off+ipv6HeaderLen+int(d.u16(off+4)) <= d.wire
	}
	return false
}

// mplsUDP reads MPLS in UDP (RFC 7510).
func (d *decoder) mplsUDP(off int) bool {
	if !d.has(off, 4) {
		return false
	}
	d.mpls(off)
	return true
}

// ayiya reads Anything In Anything (draft-massar-v6ops-ayiya): identity and
// signature have lengths of their own, then IPv6.
func (d *decoder) ayiya(off int) bool {
	if !d.has(off, 8) || d.b[off+3] != protoIPv6 {
		return false
	}
	at := off + 8 + 1<<(d.b[off]>>4) + int(d.b[off+1]>>4)*4
	if !d.looksLikeIP(at) || d.b[at]>>4 != 6 {
		return false
	}
	d.enter(Tunnel6in4)
	d.ipv6(at)
	return true
}

// l2tp reads L2TP over UDP: version 2 (RFC 2661, 3.1) or 3 (RFC 3931, 4.1.2).
func (d *decoder) l2tp(off int) bool {
	const control, hasLength, hasSeq, hasOffset = 0x8000, 0x4000, 0x0800, 0x0200
	if !d.has(off, 6) {
		return false
	}
	f := d.u16(off)
	switch f & 0xf {
	case 2:
	case 3:
		d.p.Protos.Add(L2TP)
		if f&control == 0 && d.has(off, 8) {
			d.p.TunnelID = d.u32(off + 4)
			d.l2tpPayload(off + 8)
		}
		return true
	default:
		return false
	}
	d.p.Protos.Add(L2TP)
	if f&control != 0 {
		return true
	}
	at := off + 2
	if f&hasLength != 0 {
		at += 2
	}
	if !d.need(at, 4) {
		return true
	}
	d.p.TunnelID = d.u32(at)
	at += 4
	if f&hasSeq != 0 {
		at += 4
	}
	if f&hasOffset != 0 {
		if !d.need(at, 2) {
			return true
		}
		at += 2 + int(d.u16(at))
	}
	d.enter(TunnelL2TP)
	d.ppp(at)
	return true
}

// l2tpPayload reads the data of an L2TPv3 session. Neither the length of its
// cookie nor what it carries is in the packet, so each is tried.
func (d *decoder) l2tpPayload(at int) {
	for _, cookie := range [...]int{0, 4, 8} {
		for _, sublayer := range [...]int{0, 4} { // default L2-specific sublayer, RFC 3931, 4.6
			off := at + cookie + sublayer
			if d.looksLikeIP(off) {
				d.enter(TunnelL2TP)
				d.ip(off)
				return
			}
			if d.has(off, ethHeaderLen+ipv4HeaderLen) && knownType(d.u16(off+12)) && d.looksLikeFrame(off) {
				d.enter(TunnelL2TP)
				d.innerEthernet(off)
				return
			}
		}
	}
}

// looksLikeFrame checks that an Ethernet header is followed by what its type
// says.
func (d *decoder) looksLikeFrame(off int) bool {
	switch et := d.u16(off + 12); et {
	case typeIPv4, typeIPv6:
		return d.looksLikeIP(off+ethHeaderLen) && (d.b[off+ethHeaderLen]>>4 == 4) == (et == typeIPv4)
	case typeARP:
		return d.u16(off+ethHeaderLen+2) == typeIPv4
	case typeVLAN, typeQinQ:
		return d.has(off, ethHeaderLen+4) && knownType(d.u16(off+16))
	}
	return false
}

func knownType(et uint16) bool {
	switch et {
	case typeIPv4, typeIPv6, typeARP, typeVLAN, typeQinQ:
		return true
	}
	return false
}

// ipTunnel reads what an IP header wraps.
func (d *decoder) ipTunnel(proto uint8, off int) {
	p := d.p
	p.PayloadLen = uint32(max(d.wire-off, 0))
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
	const wccp, cdp, osi = 0x883e, 0x2000, 0x00fe
	p := d.p
	switch et {
	case 0: // keepalive
	case typePPP:
		d.ppp(at)
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

// mpls reads a label stack (RFC 3032, 2.1). What follows is not announced: a
// label may say so, else the first nibble does (RFC 4928, 3); what is not IP is
// tried as a pseudowire with or without control word (RFC 4448, 4.6).
func (d *decoder) mpls(off int) {
	const bottom, nullIPv4, nullIPv6 = 0x100, 0, 2
	p := d.p
	p.Protos.Add(MPLS)
	d.enter(TunnelMPLS)
	at := off
	label := uint32(0)
	for i := 0; ; i++ {
		if i == maxLayers {
			d.fail(TooDeep)
			return
		}
		if !d.need(at, 4) {
			return
		}
		v := d.u32(at)
		label = v >> 12
		at += 4
		if v&bottom != 0 {
			break
		}
	}
	if !d.deeper() || !d.need(at, 1) {
		return
	}
	switch {
	case label == nullIPv4:
		d.ipv4(at)
	case label == nullIPv6:
		d.ipv6(at)
	case d.b[at]>>4 == 4 || d.b[at]>>4 == 6:
		d.ip(at)
	case d.has(at, ethHeaderLen+ipv4HeaderLen) && d.looksLikeFrame(at):
		p.Protos.Add(PWEth)
		d.innerEthernet(at)
	case d.b[at]>>4 == 0 && d.looksLikeEthernet(at+4):
		p.Protos.Add(PWEth)
		d.innerEthernet(at + 4)
	case d.looksLikeEthernet(at):
		p.Protos.Add(PWEth)
		d.innerEthernet(at)
	default:
		d.fail(UnknownType)
		d.endLink(at)
	}
}

// looksLikeEthernet tells an Ethernet header from a control word or data.
func (d *decoder) looksLikeEthernet(off int) bool {
	if !d.has(off, ethHeaderLen) {
		return false
	}
	et := d.u16(off + 12)
	return et > maxLength8023 && (knownType(et) || et == typeMPLS || et == typeLLDP || et == typePPPoES) ||
		et <= maxLength8023 && off+ethHeaderLen+int(et) <= d.wire && et > 2 && d.has(off, ethHeaderLen+2) &&
			(d.b[off+14] == 0x42 || d.b[off+14] == 0xaa || d.b[off+14] == 0xfe)
}
