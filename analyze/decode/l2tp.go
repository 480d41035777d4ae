package decode

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
			if d.looksLikeFrame(off) {
				d.enter(TunnelL2TP)
				d.innerEthernet(off)
				return
			}
		}
	}
}
