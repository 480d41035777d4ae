package decode

// IEEE 802.2 service access points.
const (
	sapIP      = 0x06
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
	ouiBridged  = 0x0080c2 // IEEE 802.1: RFC 2684, 5.2
)

// Protocols of Cisco's SNAP number space.
const (
	ciscoPVST = 0x010b
	ciscoUDLD = 0x0111
	ciscoCDP  = 0x2000
	ciscoVTP  = 0x2003
	ciscoDTP  = 0x2004
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
	}
}

// osi reads a network layer protocol identifier (ISO 9577).
func (d *decoder) osi(off int) {
	const isis, ip, ipv6 = 0x83, 0xcc, 0x8e
	if !d.need(off, 1) {
		return
	}
	switch d.b[off] {
	case isis:
		d.leaf(ISIS, off)
	case ip:
		d.ipv4(off + 1)
	case ipv6:
		d.ipv6(off + 1)
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
		case ciscoPVST:
			d.leaf(STP, off)
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
	}
}
