package decode

import (
	"encoding/binary"

	"netwhy/capture/packet"
)

// radiotap skips the radio header (radiotap.org) and reads the 802.11 frame.
func (d *decoder) radiotap(off int) {
	d.p.Protos.Add(Radiotap)
	if !d.need(off, 8) || !d.deeper() {
		return
	}
	n := int(binary.LittleEndian.Uint16(d.b[off+2:]))
	if n < 8 {
		d.fail(BadLength)
		return
	}
	flags := d.radiotapFlags(off, n)
	if off+n > len(d.b) {
		d.missing(off + n)
		return
	}
	const fcsAtEnd, padded = 0x10, 0x20
	if flags&fcsAtEnd != 0 {
		d.cut(d.wire - 4)
	}
	d.frame80211(off+n, flags&padded != 0)
}

// radiotapFlags returns the flags field: it is behind any number of presence
// words and the time stamp.
func (d *decoder) radiotapFlags(off, n int) byte {
	const tsft, flags, more = 1, 2, 1 << 31
	first := binary.LittleEndian.Uint32(d.b[off+4:])
	at := 8
	for w := first; w&more != 0; at += 4 {
		if at+4 > n || !d.has(off, at+4) {
			return 0
		}
		w = binary.LittleEndian.Uint32(d.b[off+at:])
	}
	if first&flags == 0 {
		return 0
	}
	if first&tsft != 0 {
		at = (at+7)&^7 + 8
	}
	if at >= n || !d.has(off, at+1) {
		return 0
	}
	return d.b[off+at]
}

// prism skips a Prism or AVS header.
func (d *decoder) prism() {
	const avs, avsMask, prismLen = 0x80211000, 0xfffff000, 144
	d.p.Protos.Add(Prism)
	if !d.need(0, 8) {
		return
	}
	if d.u32(0)&avsMask == avs {
		d.wlan(int(min(d.u32(4), pos(len(d.b)))))
		return
	}
	n := binary.LittleEndian.Uint32(d.b[4:])
	if n > prismLen*2 {
		n = d.u32(4)
	}
	if n > pos(len(d.b)) {
		n = prismLen
	}
	d.wlan(int(n))
}

// ppi skips a Per-Packet Information header: its length, and the link type of
// what follows.
func (d *decoder) ppi() {
	if !d.need(0, 8) {
		return
	}
	d.p.Protos.Add(PPI)
	n := int(binary.LittleEndian.Uint16(d.b[2:]))
	if n < 8 {
		d.fail(BadLength)
		return
	}
	if n > len(d.b) {
		d.missing(n)
		return
	}
	dlt := binary.LittleEndian.Uint32(d.b[4:])
	if dlt == uint32(packet.LinkIEEE80211) {
		flags := d.ppiFlags(n)
		if flags&1 != 0 { // FCS at the end
			d.cut(d.wire - 4)
		}
		d.wlan(n)
		return
	}
	d.nested(packet.LinkType(min(dlt, 0xffff)), n)
}

// ppiFlags returns the flags of the field "802.11 common".
func (d *decoder) ppiFlags(n int) uint16 {
	const common = 2
	for at := 8; at+4 <= n && d.has(at, 4); {
		l := int(binary.LittleEndian.Uint16(d.b[at+2:]))
		if binary.LittleEndian.Uint16(d.b[at:]) == common && l >= 10 && d.has(at, 14) {
			return binary.LittleEndian.Uint16(d.b[at+12:])
		}
		at += 4 + l
	}
	return 0
}

func (d *decoder) wlan(off int) { d.frame80211(off, false) }

// frame80211 reads an IEEE 802.11 frame (9.3) and goes on with LLC in data
// frames that are neither encrypted nor fragments.
func (d *decoder) frame80211(off int, padded bool) {
	const (
		typeData                                           = 2
		qos, noData                                        = 0x80, 0x40 // of the subtype
		toDS, fromDS, moreFragments, protected, order byte = 1, 2, 4, 0x40, 0x80
	)
	p := d.p
	p.Protos.Add(WLAN)
	if p.Protos.Has(Radiotap) || p.Protos.Has(Prism) || p.Protos.Has(PPI) {
		p.Protos.Add(WLANRadio)
	}
	if !d.need(off, 2) || !d.deeper() {
		return
	}
	p.L2, p.L2Kind = pos(off), L2WLAN
	fc, fl := d.b[off], d.b[off+1]
	if fc>>2&3 != typeData || fc&noData != 0 {
		if mgmtHead := 24; fc>>2&3 == 0 && fl&protected != 0 {
			d.data(off + mgmtHead) // as the third message of an authentication by WEP
		}
		d.endLink(off)
		return
	}
	hl := 24
	if fl&(toDS|fromDS) == toDS|fromDS {
		hl += 6
	}
	var qosCtl byte
	if fc&qos != 0 {
		if d.has(off, hl+2) {
			qosCtl = d.b[off+hl]
		}
		hl += 2
		if fl&order != 0 {
			hl += 4
		}
	}
	if padded {
		hl = (hl + 3) &^ 3
	}
	if !d.need(off, hl) {
		return
	}
	if fl&protected != 0 {
		d.data(off + hl)
		d.dead(Encrypted, off)
		return
	}
	if fl&moreFragments != 0 || d.b[off+22]&0xf != 0 {
		d.data(off + hl)
		d.dead(LinkFragment, off)
		return
	}
	at := off + hl
	const amsdu, subHeader = 0x80, 14
	if qosCtl&amsdu != 0 { // the first of an aggregate
		at += subHeader
	}
	d.msdu(at)
}

// msdu reads what an 802.11 data frame carries: LLC, or Ethernet as some
// drivers leave it.
func (d *decoder) msdu(off int) {
	switch {
	case d.has(off, 2) && d.b[off] == sapSNAP && d.b[off+1] == sapSNAP:
		d.llc(off)
	case d.looksLikeEthernet(off) && d.b[off] != sapSTP:
		d.innerEthernet(off)
	default:
		d.llc(off)
	}
}

// wlanAddrs returns source and destination of an 802.11 frame: which of its
// addresses they are depends on the two DS bits (IEEE 802.11, table 9-30).
func wlanAddrs(data []byte, at int) (src, dst MAC, ok bool) {
	if at+24 > len(data) {
		return MAC{}, MAC{}, false
	}
	a := [3]MAC{MAC(data[at+4:]), MAC(data[at+10:]), MAC(data[at+16:])}
	switch data[at+1] & 3 {
	case 0:
		return a[1], a[0], true
	case 1:
		return a[1], a[2], true
	case 2:
		return a[2], a[0], true
	}
	if at+30 > len(data) {
		return MAC{}, MAC{}, false
	}
	return MAC(data[at+24:]), a[2], true
}

// capwap reads the header of CAPWAP data (RFC 5415, 4.3): DTLS frames are
// encrypted; else an 802.11 or 802.3 frame follows.
func (d *decoder) capwap(off int) bool {
	if !d.has(off, 8) || d.b[off] != 0 {
		return false
	}
	d.p.Protos.Add(CAPWAPData)
	v := d.u32(off)
	n := int(v>>19&0x1f) * 4
	if n < 8 || v&0x80 != 0 { // fragments are not put together
		return n >= 8
	}
	if v&0x100 == 0 {
		if d.has(off, n+ethHeaderLen) {
			d.innerEthernet(off + n)
		}
		return true
	}
	if v&0x8 != 0 { // keep-alive
		return true
	}
	at := off + n
	d.p.Protos.Add(WLAN)
	if d.has(at, 2) {
		d.capwap80211(at)
	}
	return true
}

// capwap80211 reads a native 802.11 data frame, whose two bytes of frame control
// controllers send swapped.
func (d *decoder) capwap80211(at int) {
	fc := d.b[at+1]
	if fc&0x0c != 0x08 || fc&0x40 != 0 {
		return
	}
	hl := 24
	if fc&0x80 != 0 {
		hl += 2
	}
	if d.b[at]&3 == 3 {
		hl += 6
	}
	if d.b[at]&0x40 == 0 && d.has(at+hl, 8) && d.b[at+hl] == sapSNAP {
		d.llc(at + hl)
	}
}

// tzsp reads TaZmen Sniffer Protocol: tags, then the captured frame.
func (d *decoder) tzsp(off int) bool {
	const ethernet, ieee80211, padding, end = 1, 18, 0, 1
	if !d.has(off, 5) || d.b[off] != 1 || d.b[off+1] > 1 {
		return false
	}
	proto := d.u16(off + 2)
	at := off + 4
	for range 64 {
		if !d.has(at, 1) {
			return false
		}
		tag := d.b[at]
		at++
		if tag == end {
			switch proto {
			case ethernet:
				d.innerEthernet(at)
			case ieee80211:
				d.wlan(at)
			}
			return true
		}
		if tag != padding {
			if !d.has(at, 1) {
				return false
			}
			at += 1 + int(d.b[at])
		}
	}
	return false
}
