package decode

// mpls reads a label stack (RFC 3032, 2.1). What follows is not announced: a
// label may say so, else the first nibble does (RFC 4928, 3); what is not IP is
// tried as a pseudowire with or without control word (RFC 4448, 4.6).
func (d *decoder) mpls(off int) {
	const bottom, nullIPv4, nullIPv6 = 0x100, 0, 2
	p := d.p
	p.Protos.Add(MPLS)
	d.enter(TunnelMPLS)
	at := off
	var label uint32
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
	case d.b[at]>>4 != 0: // as in Wireshark: a first nibble of its own needs a control word before it
		d.data(at)
		d.dead(UnknownType, at)
	case d.looksLikeFrame(at):
		p.Protos.Add(PWEth)
		d.innerEthernet(at)
	case d.looksLikeEthernet(at + 4):
		p.Protos.Add(PWEth)
		d.innerEthernet(at + 4)
	case d.looksLikeEthernet(at):
		p.Protos.Add(PWEth)
		d.innerEthernet(at)
	default:
		d.data(at)
		d.dead(UnknownType, at)
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
