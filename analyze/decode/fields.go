package decode

import "encoding/binary"

// MAC is a 48-bit hardware address.
type MAC [6]byte

// MACs returns the addresses of the link header next to the innermost network
// layer. ok is false when it has none (raw IP, PPP) or only a source (Linux
// cooked capture: dst is zero, src is right).
func (p *Packet) MACs(data []byte) (src, dst MAC, ok bool) {
	at := int(p.L2)
	switch p.L2Kind {
	case L2Ethernet:
		if at+12 <= len(data) {
			return MAC(data[at+6:]), MAC(data[at:]), true
		}
	case L2SLL:
		if at+12 <= len(data) {
			return MAC(data[at+6:]), MAC{}, false
		}
	case L2SLL2:
		if at+18 <= len(data) {
			return MAC(data[at+12:]), MAC{}, false
		}
	case L2WLAN:
		return wlanAddrs(data, at)
	case L2None:
	}
	return MAC{}, MAC{}, false
}

// ARPMessage holds the fields of an ARP packet for IPv4 (RFC 826).
type ARPMessage struct {
	Op                 uint16 // 1 request, 2 reply; RARP: 3, 4
	SenderMAC          MAC
	TargetMAC          MAC
	SenderIP, TargetIP [4]byte
}

// ARPFields reads the ARP packet that p describes; data are the decoded bytes.
// ok is false when it is not a complete one for IPv4 over 48-bit addresses.
func ARPFields(data []byte, p *Packet) (m ARPMessage, ok bool) {
	at := int(p.L3)
	if p.Kind != KindARP || at+28 > len(data) {
		return m, false
	}
	h := data[at : at+28]
	if binary.BigEndian.Uint16(h[2:]) != typeIPv4 || h[4] != 6 || h[5] != 4 {
		return m, false
	}
	m.Op = binary.BigEndian.Uint16(h[6:])
	m.SenderMAC, m.SenderIP = MAC(h[8:]), [4]byte(h[14:])
	m.TargetMAC, m.TargetIP = MAC(h[18:]), [4]byte(h[24:])
	return m, true
}

// Echo returns identifier and sequence number of an ICMP or ICMPv6 echo request
// or reply.
func (p *Packet) Echo(data []byte) (id, seq uint16, ok bool) {
	at := int(p.L4)
	echo := p.Kind == KindICMP && (p.ICMPType == 8 || p.ICMPType == 0) ||
		p.Kind == KindICMPv6 && (p.ICMPType == 128 || p.ICMPType == 129)
	if !echo || at+8 > len(data) {
		return 0, 0, false
	}
	return binary.BigEndian.Uint16(data[at+4:]), binary.BigEndian.Uint16(data[at+6:]), true
}
