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

// TunnelPort reports whether a UDP conversation of the port may be a tunnel
// around others.
func TunnelPort(port uint16) bool { return udpTunnel(port) }

// udpPayload looks for a tunnel behind a UDP header. The lower port decides
// first, as in Wireshark.
func (d *decoder) udpPayload(off int) {
	lo, hi := d.p.SrcPort(), d.p.DstPort()
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
		d.p.Protos.Add(UDPEncap)
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
	if d.b[off]&0x38 != 0x08 && !d.looksLikeFrame(off+8) {
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
	if off+8+n > d.wire && d.b[off+1] != gpdu {
		return false
	}
	d.p.Protos.Add(GTP)
	if d.b[off+1] != gpdu { // one that ends early (a first fragment that was cut) is read all the same
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

// looksLikeFrame checks that an Ethernet header is followed by what its type
// says.
func (d *decoder) looksLikeFrame(off int) bool {
	if !d.has(off, ethHeaderLen+ipv4HeaderLen) {
		return false
	}
	switch et := d.u16(off + 12); et {
	case typeIPv4, typeIPv6:
		return d.looksLikeIP(off+ethHeaderLen) && (d.b[off+ethHeaderLen]>>4 == 4) == (et == typeIPv4)
	case typeARP:
		return d.u16(off+ethHeaderLen+2) == typeIPv4
	case typeVLAN, typeQinQ, typeOldQinQ:
		return d.has(off, ethHeaderLen+4) && knownType(d.u16(off+16))
	}
	return false
}

func knownType(et uint16) bool {
	switch et {
	case typeIPv4, typeIPv6, typeARP, typeVLAN, typeQinQ, typeOldQinQ:
		return true
	}
	return false
}
