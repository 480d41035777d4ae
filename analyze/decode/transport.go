package decode

import "encoding/binary"

const (
	tcpMinHeader = 20
	udpHeaderLen = 8

	// tcpStreamHeader is what of a TCP header has to be there for Wireshark to
	// give the segment a tcp.stream: up to the window.
	tcpStreamHeader = 16
)

// tcp reads a TCP header (RFC 9293, 3.1).
func (d *decoder) tcp(off int) {
	p := d.p
	p.Protos.Add(TCP)
	if len(d.b)-off < tcpMinHeader {
		d.missing(off + tcpMinHeader)
		if len(d.b)-off < tcpStreamHeader {
			return
		}
	}
	h := d.b[off : off+tcpStreamHeader]
	w := binary.BigEndian.Uint32(h[12:])
	hl := int(w>>28) * 4
	p.Kind = KindTCP
	d.ports(binary.BigEndian.Uint16(h[0:]), binary.BigEndian.Uint16(h[2:]))
	p.Seq, p.Ack = binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	p.Flags, p.Window, p.HdrLen = uint16(w>>16&0x1ff), uint16(w&0xffff), uint8(hl)
	p.L4 = pos(off)
	d.conversation()
	at := off + hl
	if hl < tcpMinHeader {
		d.fail(BadLength)
		p.BadHeader = true
		at = min(off+tcpMinHeader, d.wire)
	}
	if at > d.wire {
		d.fail(Truncated)
		p.BadHeader = true
		at = d.wire
	}
	p.PayloadLen = pos(d.wire - at)
	if hl < tcpMinHeader { // as Wireshark counts it
		p.PayloadLen = pos(max(d.wire-off-hl, 0))
	}
	p.Payload = pos(min(at, len(d.b)))
	if at > len(d.b) {
		d.fail(Short)
	}
	p.options(d.b, off)
}

// udp reads a UDP header (RFC 768) and looks for a tunnel inside.
func (d *decoder) udp(off int) {
	p := d.p
	p.Protos.Add(UDP)
	if !d.need(off, udpHeaderLen) {
		return
	}
	h := d.b[off : off+udpHeaderLen]
	n := int(binary.BigEndian.Uint16(h[4:]))
	switch {
	case n >= udpHeaderLen && off+n <= d.wire:
		d.cut(off + n)
	case n == 0 && p.IPVersion == 6: // jumbogram (RFC 2675, 4)
	case n < udpHeaderLen: // Wireshark gives it no udp.stream
		d.fail(BadLength)
		return
	default:
		d.fail(Truncated)
	}
	p.Kind = KindUDP
	d.ports(binary.BigEndian.Uint16(h[0:]), binary.BigEndian.Uint16(h[2:]))
	p.L4 = pos(off)
	d.conversation()
	at := off + udpHeaderLen
	p.Payload = pos(at)
	p.PayloadLen = pos(d.wire - at)
	if udpTunnel(p.Key.PortA) || udpTunnel(p.Key.PortB) {
		d.udpPayload(at)
	}
}
