package decode

// IEEE 802.2 service access points.
const (
	sapIP      = 0x06
	sapSNA1    = 0x04
	sapSNA2    = 0x08
	sapSNA3    = 0x0c
	sapSTP     = 0x42
	sapARP     = 0x98
	sapSNAP    = 0xaa
	sapIPX     = 0xe0
	sapNetBIOS = 0xf0
	sapOSI     = 0xfe
	sapGlobal  = 0xff
)

// Organisations in SNAP (RFC 1042).
const (
	ouiEthernet = 0x000000
	ouiTunnel   = 0x0000f8 // IEEE 802.1H bridge tunnel
	ouiCisco    = 0x00000c
	ouiNortel   = 0x000081
	ouiExtreme  = 0x00e02b
	ouiBridged  = 0x0080c2 // IEEE 802.1: RFC 2684, 5.2
)

// Protocols of Cisco's SNAP number space.
const (
	ciscoPAgP       = 0x0104
	ciscoVLANBridge = 0x0108
	ciscoPVST       = 0x010b
	ciscoUplinkFast = 0x010c
	ciscoUDLD       = 0x0111
	ciscoCDP        = 0x2000
	ciscoCGMP       = 0x2001
	ciscoVTP        = 0x2003
	ciscoDTP        = 0x2004
)

// Protocols in those of Extreme and Nortel, which find neighbours as CDP does.
const (
	extremeEDP  = 0x00bb
	nortelFlat  = 0x01a1
	nortelHello = 0x01a2
)

// llc reads IEEE 802.2, and SNAP behind it.
func (d *decoder) llc(off int) {
	p := d.p
	d.endLink(off)
	if d.has(off, 2) && d.u16(off) == 0xffff { // Novell's 802.3 without LLC
		d.leaf(IPX, off)
		return
	}
	p.Protos.Add(LLC)
	if !d.need(off, 3) || !d.deeper() {
		return
	}
	dsap := d.b[off]
	at := off + 3
	if d.b[off+2]&3 != 3 { // information and supervisory frames: two bytes of control
		at++
	}
	switch dsap {
	case sapSNAP:
		d.snap(at)
	case sapSTP:
		d.garp()
		d.leaf(STP, at)
	case sapIP:
		d.ipv4(at)
	case sapARP:
		d.arp(at)
	case sapIPX, sapGlobal:
		d.leaf(IPX, at)
	case sapNetBIOS:
		d.leaf(NetBEUI, at)
	case sapOSI:
		d.osi(at)
	case sapSNA1, sapSNA2, sapSNA3:
		p.Protos.Add(SNA)
		d.leaf(Data, at)
	default:
		d.leaf(Data, at)
	}
}

// osi reads a network layer protocol identifier (ISO 9577).
func (d *decoder) osi(off int) {
	d.p.Protos.Add(OSI)
	d.networkLayer(off)
}

// garp names the protocols of attributes that share the spanning tree's place (IEEE
// 802.1D-2004, 12): their address tells.
func (d *decoder) garp() {
	const multicast, last, gmrp, gvrp = 0x0180c200, 4, 0x20, 0x21
	p := d.p
	at := int(p.L2)
	if p.L2Kind != L2Ethernet || !d.has(at, 6) || d.u32(at) != multicast || d.b[at+last] != 0 {
		return
	}
	switch d.b[at+last+1] {
	case gmrp:
		p.Protos.Add(GMRP)
	case gvrp:
		p.Protos.Add(GVRP)
	}
}

// networkLayer goes on with what a network layer protocol identifier announces.
func (d *decoder) networkLayer(off int) {
	const inactive, q933, lmi, clnp, esis, isis, ip, ipv6 = 0x00, 0x08, 0x09, 0x81, 0x82, 0x83, 0xcc, 0x8e
	if !d.need(off, 1) {
		return
	}
	switch d.b[off] {
	case isis:
		d.isis(off)
	case esis:
		d.leaf(ESIS, off)
	case clnp, inactive:
		d.leaf(CLNP, off)
	case q933:
		d.leaf(Q933, off)
	case lmi:
		d.leaf(LMI, off)
	case ip:
		d.ipv4(off + 1)
	case ipv6:
		d.ipv6(off + 1)
	default:
		d.leaf(Data, off)
	}
}

// isis names the packets of IS-IS (ISO 10589, 9): the type is the low five bits
// of the fifth byte.
func (d *decoder) isis(off int) {
	d.leaf(ISIS, off)
	if !d.has(off, 5) {
		return
	}
	switch d.b[off+4] & 0x1f {
	case 15, 16, 17: // hellos of LANs, level 1 and 2, and of links
		d.p.Protos.Add(ISISHello)
	case 18, 20:
		d.p.Protos.Add(ISISLSP)
	case 24, 25:
		d.p.Protos.Add(ISISCSNP)
	case 26, 27:
		d.p.Protos.Add(ISISPSNP)
	}
}

// snap reads organisation and protocol.
func (d *decoder) snap(off int) {
	if !d.need(off, 5) {
		return
	}
	oui, pid := d.u32(off)>>8, d.u16(off+3)
	off += 5
	switch oui {
	case ouiEthernet, ouiTunnel:
		d.etherType(pid, off)
	case ouiCisco:
		switch pid {
		case ciscoCDP:
			d.leaf(CDP, off)
		case ciscoVTP:
			d.leaf(VTP, off)
		case ciscoDTP:
			d.leaf(DTP, off)
		case ciscoUDLD:
			d.leaf(UDLD, off)
		case ciscoPVST, ciscoVLANBridge, ciscoVLANBridge + 1, ciscoUplinkFast:
			d.leaf(STP, off)
		case ciscoPAgP:
			d.leaf(PAgP, off)
		case ciscoCGMP:
			d.leaf(CGMP, off)
		default:
			d.etherType(pid, off)
		}
	case ouiBridged:
		switch pid {
		case 1, 7: // Ethernet with and without checksum; ATM pads it with two bytes
			if d.has(off, 2) && d.u16(off) == 0 && !d.looksLikeEthernet(off) {
				off += 2
			}
			d.innerEthernet(off)
		case 0xe:
			d.leaf(STP, off)
		}
	case ouiExtreme, ouiNortel:
		switch pid {
		case extremeEDP:
			d.leaf(EDP, off)
		case nortelFlat, nortelHello:
			d.leaf(NDP, off)
		default:
			d.leaf(Data, off)
		}
	default:
		d.leaf(Data, off)
	}
}
