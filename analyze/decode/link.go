package decode

import "netwhy/capture/packet"

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
	if !d.need(off, ethHeaderLen) {
		return
	}
	p.Protos.Add(Eth)
	p.L2, p.L2Kind = uint32(off), L2Ethernet
	et := d.u16(off + 12)
	if et == typeIPv4 {
		p.EtherType = et
		d.ipv4(off + ethHeaderLen)
		return
	}
	if !d.deeper() {
		return
	}
	if et <= maxLength8023 {
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
		p.Protos.Add(VLAN)
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
	case typeARP:
		d.arp(off, ARP)
	case typeRARP:
		d.arp(off, RARP)
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

func (d *decoder) endLink(off int) {
	p := d.p
	p.Kind = KindLink
	at := min(uint32(max(off, 0)), p.End)
	p.L4, p.Payload = at, at
	p.PayloadLen = uint32(max(d.wire-off, 0))
}

// otherType reads what is neither IP nor ARP.
func (d *decoder) otherType(et uint16, off int) {
	switch et {
	case typeLLDP:
		d.leaf(LLDP, off)
	case typeEAPOL:
		d.leaf(EAPOL, off)
	case typeSlow:
		d.leaf(LACP, off)
	case typeLoop:
		d.leaf(Loop, off)
	case typeWOL:
		d.leaf(WOL, off)
	case typePTP:
		d.leaf(PTP, off)
	case typeCFM:
		d.leaf(CFM, off)
	case typeFCoE:
		d.leaf(FCoE, off)
	case typeProfinet:
		d.leaf(ProfinetRT, off)
	case typeHomePlug:
		d.leaf(HomePlug, off)
	case typeIPX:
		d.leaf(IPX, off)
	case typePPPoED:
		d.leaf(PPPoED, off)
	default:
		d.fail(UnknownType)
		d.endLink(off)
	}
}

// arp reads ARP (RFC 826) or RARP (RFC 903) for IPv4. Other hardware or
// protocol lengths leave the key empty; see ARPFields.
func (d *decoder) arp(off int, pr Proto) {
	p := d.p
	p.Protos.Add(pr)
	if !d.need(off, 8) {
		return
	}
	p.Kind = KindARP
	p.L3, p.L4, p.Payload = uint32(off), uint32(off), uint32(off)
	n := 8 + 2*int(d.b[off+4]) + 2*int(d.b[off+5])
	d.cut(off + n)
	p.PayloadLen = uint32(d.wire - off)
	if len(d.b) < off+n {
		d.missing(off + n)
	}
	if a, ok := ARPFields(d.b, p); ok {
		var pair [8]byte
		copy(pair[:4], a.SenderIP[:])
		copy(pair[4:], a.TargetIP[:])
		key4(&p.Key, &p.SrcIsA, pair[:], 0)
	}
}

func (d *decoder) link(link packet.LinkType) {
	switch link {
	case packet.LinkRaw, packet.LinkRawBSD, packet.LinkRawOpenBSD:
		d.p.Protos.Add(Raw)
		d.ip(0)
	case packet.LinkIPv4:
		d.p.Protos.Add(Raw)
		d.ipv4(0)
	case packet.LinkIPv6:
		d.p.Protos.Add(Raw)
		d.ipv6(0)
	default:
		d.fail(UnknownLink)
	}
}

// llc reads IEEE 802.2 (and SNAP, RFC 1042).
func (d *decoder) llc(off int) {
	d.leaf(LLC, off)
}
