package decode

import "encoding/binary"

// What of a transport header must be captured for its conversation to be known.
const (
	tcpMinHeader = 20
	udpHeaderLen = 8
)

// tcp reads a TCP header (RFC 9293, 3.1).
func (d *decoder) tcp(off int) {
	p := d.p
	p.Protos.Add(TCP)
	if !d.need(off, tcpMinHeader) {
		return
	}
	h := d.b[off : off+tcpMinHeader]
	w := binary.BigEndian.Uint32(h[12:])
	hl := int(w>>28) * 4
	p.Kind = KindTCP
	d.ports(binary.BigEndian.Uint16(h[0:]), binary.BigEndian.Uint16(h[2:]))
	p.Seq, p.Ack = binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	p.Flags, p.Window, p.HdrLen = uint16(w>>16&0x1ff), uint16(w), uint8(hl)
	p.L4 = uint32(off)
	d.conversation()
	if hl < tcpMinHeader {
		d.fail(BadLength)
		p.Payload, p.PayloadLen = p.End, 0
		return
	}
	at := off + hl
	if at > d.wire {
		d.fail(Truncated)
		at = d.wire
	}
	p.PayloadLen = uint32(d.wire - at)
	p.Payload = uint32(min(at, len(d.b)))
	if at > len(d.b) {
		d.fail(Short)
	}
}

// udp reads a UDP header (RFC 768) and looks for a tunnel inside.
func (d *decoder) udp(off int) {
	p := d.p
	p.Protos.Add(UDP)
	if !d.need(off, udpHeaderLen) {
		return
	}
	h := d.b[off : off+udpHeaderLen]
	p.Kind = KindUDP
	d.ports(binary.BigEndian.Uint16(h[0:]), binary.BigEndian.Uint16(h[2:]))
	p.L4 = uint32(off)
	d.conversation()
	n := int(binary.BigEndian.Uint16(h[4:]))
	switch {
	case n >= udpHeaderLen && off+n <= d.wire:
		d.cut(off + n)
	case n == 0: // jumbogram, RFC 2675, 4
	case n < udpHeaderLen:
		d.fail(BadLength)
	default:
		d.fail(Truncated)
	}
	at := off + udpHeaderLen
	p.Payload = uint32(at)
	p.PayloadLen = uint32(d.wire - at)
	if udpTunnel(p.SrcPort) || udpTunnel(p.DstPort) {
		d.udpPayload(at)
	}
}
