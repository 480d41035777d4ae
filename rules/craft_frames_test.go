package rules_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// TCP flags.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	flagPSH
	flagACK
)

const (
	linkTypeAt = 20  // in the file's header
	linkWLAN   = 105 // IEEE 802.11 without radio information
)

const (
	protoTCP = 6
	protoUDP = 17
)

func newCraft() *craft {
	c := &craft{talks: map[string]*dialog{}, step: usualStep}
	c.put32(0xa1b2c3d4)
	c.put32(2 | 4<<16) // version 2.4
	c.put32(0)
	c.put32(0)
	c.put32(262144)
	c.put32(1) // Ethernet
	return c
}

func (c *craft) put32(v uint32) { c.file.Write(binary.LittleEndian.AppendUint32(nil, v)) }

// frame writes a frame and lets some time pass.
func (c *craft) frame(b []byte) {
	const least = 60
	for len(b) < least {
		b = append(b, 0)
	}
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).Add(c.now)
	c.put32(uint32(at.Unix()))
	c.put32(uint32(at.Nanosecond() / 1000))
	c.put32(uint32(len(b)))
	c.put32(uint32(len(b)))
	c.file.Write(b)
	c.now += c.step
}

func mac(a netip.Addr) []byte {
	b := a.As16()
	if a.IsMulticast() {
		return []byte{1, 0, 0x5e, b[13] & 0x7f, b[14], b[15]}
	}
	return []byte{2, 0, b[12], b[13], b[14], b[15]}
}

// packet puts Ethernet and IP before a payload.
func (c *craft) packet(proto byte, ttl byte, src, dst netip.Addr, payload []byte) {
	b := append(mac(dst), mac(src)...)
	ecn := byte(0)
	if c.mark {
		ecn = 3
	} else if proto == protoTCP {
		ecn = 2
	}
	c.mark = false
	c.id++
	if src.Is4() {
		b = append(b, 8, 0, 0x45, ecn)
		b = binary.BigEndian.AppendUint16(b, uint16(20+len(payload)))
		b = binary.BigEndian.AppendUint16(b, c.id)
		b = append(b, 0x40, 0, ttl, proto, 0, 0)
		b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
		binary.BigEndian.PutUint16(b[24:], checksum(b[14:34], 0))
	} else {
		b = append(b, 0x86, 0xdd, 0x60, ecn<<4, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
		b = append(append(append(b, proto, ttl), src.AsSlice()...), dst.AsSlice()...)
	}
	c.frame(append(b, payload...))
}

// checksum is that of the Internet (RFC 1071).
func checksum(b []byte, sum uint32) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// sealed is the sum over the pseudo header.
func sealed(proto byte, src, dst netip.Addr, b []byte) uint16 {
	sum := uint32(proto) + uint32(len(b))
	for _, a := range []netip.Addr{src, dst} {
		x := a.AsSlice()
		for i := 0; i < len(x); i += 2 {
			sum += uint32(x[i])<<8 | uint32(x[i+1])
		}
	}
	return checksum(b, sum)
}

// segment sends one of side from: 0 client, 1 server.
func (c *craft) segment(from int, flags byte, data []byte) {
	d := c.cur
	src, dst := d.addr[from], d.addr[1-from]
	b := binary.BigEndian.AppendUint16(nil, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint32(b, d.seq[from])
	ack := uint32(0)
	if flags&flagACK != 0 {
		ack = d.seq[1-from]
	}
	b = binary.BigEndian.AppendUint32(b, ack)
	head := byte(5)
	options := []byte{}
	if flags&flagSYN != 0 {
		head, options = 6, []byte{2, 4, 5, 0xb4}
	}
	b = append(b, head<<4, flags, 0xfa, 0xf0, 0, 0, 0, 0)
	b = append(append(b, options...), data...)
	binary.BigEndian.PutUint16(b[16:], sealed(protoTCP, src.Addr(), dst.Addr(), b))
	d.seq[from] += uint32(len(data))
	if flags&(flagSYN|flagFIN) != 0 {
		d.seq[from]++
	}
	c.packet(protoTCP, 64, src.Addr(), dst.Addr(), b)
}

func (c *craft) datagram(from int, data []byte) {
	src, dst := c.cur.addr[from], c.cur.addr[1-from]
	b := binary.BigEndian.AppendUint16(nil, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(data)))
	b = append(append(b, 0, 0), data...)
	binary.BigEndian.PutUint16(b[6:], sealed(protoUDP, src.Addr(), dst.Addr(), b))
	ttl := byte(64)
	if dst.Addr().IsLinkLocalMulticast() {
		ttl = 1
	}
	c.packet(protoUDP, ttl, src.Addr(), dst.Addr(), b)
}

// rawIP sends a packet of another protocol: its number, addresses, bytes.
func (c *craft) rawIP(words []string) error {
	if len(words) < 4 {
		return errors.New("ip wants a protocol, two addresses and bytes")
	}
	proto, err := strconv.ParseUint(words[0], 10, 8)
	if err != nil {
		return err
	}
	src, err := netip.ParseAddr(words[1])
	if err != nil {
		return err
	}
	dst, err := netip.ParseAddr(words[2])
	if err != nil {
		return err
	}
	b, err := unhex(words[3:])
	const vrrp = 112
	ttl := byte(1)
	if proto == vrrp {
		ttl = 255 // RFC 9568, 5.1.1.3
	}
	c.packet(byte(proto), ttl, src, dst, b)
	return err
}

// rawFrame sends a frame: addresses, type or length, bytes.
func (c *craft) rawFrame(words []string) error {
	if len(words) < 3 {
		return errors.New("eth wants two addresses and bytes")
	}
	dst, err := net.ParseMAC(words[0])
	if err != nil {
		return err
	}
	src, err := net.ParseMAC(words[1])
	if err != nil {
		return err
	}
	b, err := unhex(words[2:])
	c.frame(append(append(dst, src...), b...))
	return err
}
