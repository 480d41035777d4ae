package decode

import (
	"encoding/binary"
	"math/bits"
)

// Verdict is the result of a checksum verification.
type Verdict uint8

// Verdicts.
const (
	NotVerifiable Verdict = iota // cut by the snaplen, fragment, or the sender left it out (UDP over IPv4)
	Good
	Bad // or not yet filled in, when captured on the sender (offload)
)

func (v Verdict) String() string {
	return [...]string{"not verifiable", "good", "bad"}[min(v, Bad)]
}

// sum adds 16-bit words in ones' complement (RFC 1071); an odd last byte is
// padded with zero. It adds eight bytes at a time in the other byte order, and
// turns the result around (RFC 1071, 2, B).
func sum(b []byte, s uint64) uint64 {
	le := binary.LittleEndian
	var a, c, carry uint64
	for len(b) >= 128 { // two sums: one would wait for itself
		x := (*[128]byte)(b)
		a, carry = bits.Add64(a, le.Uint64(x[0:]), 0)
		a, carry = bits.Add64(a, le.Uint64(x[8:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[16:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[24:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[32:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[40:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[48:]), carry)
		a, carry = bits.Add64(a, le.Uint64(x[56:]), carry)
		a += carry // all ones and a carry cannot be: the sum of two is less
		c, carry = bits.Add64(c, le.Uint64(x[64:]), 0)
		c, carry = bits.Add64(c, le.Uint64(x[72:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[80:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[88:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[96:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[104:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[112:]), carry)
		c, carry = bits.Add64(c, le.Uint64(x[120:]), carry)
		c += carry
		b = b[128:]
	}
	a, carry = bits.Add64(a, c, 0)
	a += carry
	for len(b) >= 8 {
		a, carry = bits.Add64(a, le.Uint64(b), 0)
		a += carry
		b = b[8:]
	}
	var last, at uint64
	if len(b) >= 4 {
		last, at = uint64(le.Uint32(b)), 32
		b = b[4:]
	}
	for _, c := range b { // three at most
		last |= uint64(c) << at
		at += 8
	}
	a, carry = bits.Add64(a, last, 0)
	a += carry
	return s + uint64(bits.ReverseBytes16(folded(a)))
}

func folded(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// IPChecksum verifies the header checksum of the innermost IPv4 header. data are
// the decoded bytes.
func (p *Packet) IPChecksum(data []byte) Verdict {
	at := int(p.L3)
	if p.IPVersion != 4 || p.Fragments > 0 || at+ipv4HeaderLen > len(data) {
		return NotVerifiable
	}
	hl := int(data[at]&15) * 4
	if hl < ipv4HeaderLen || at+hl > len(data) {
		return NotVerifiable
	}
	return verdict(sum(data[at:at+hl], 0))
}

func verdict(s uint64) Verdict {
	if folded(s) == 0xffff {
		return Good
	}
	return Bad
}

// TransportChecksum verifies the checksum of TCP, UDP, ICMP or ICMPv6 including
// the pseudo-header (RFC 9293, 3.1; RFC 768; RFC 8200, 8.1).
func (p *Packet) TransportChecksum(data []byte) Verdict {
	from, to := int(p.L4), int(p.End)
	if from >= to || to > len(data) {
		return NotVerifiable
	}
	wire := int(p.Payload) - from + int(p.PayloadLen)
	if to-from < wire || p.MF || p.FragOff != 0 {
		return NotVerifiable
	}
	if p.Protos.Has(Routing) { // the sum is over the last hop's address, RFC 8200, 8.1
		return NotVerifiable
	}
	b := data[from : from+wire]
	switch p.Kind {
	case KindTCP:
		if len(b) < tcpMinHeader {
			return NotVerifiable
		}
	case KindUDP:
		if len(b) < udpHeaderLen || b[6] == 0 && b[7] == 0 {
			return NotVerifiable
		}
	case KindICMP:
		return verdict(sum(b, 0))
	case KindICMPv6:
	default:
		return NotVerifiable
	}
	return verdict(sum(b, p.pseudoHeader()))
}

// pseudoHeader is the sum over what of the network layer a transport checksum is over
// too (RFC 9293, 3.1; RFC 8200, 8.1).
func (p *Packet) pseudoHeader() uint64 {
	s := uint64(p.Payload-p.L4) + uint64(p.PayloadLen) + uint64(p.Proto)
	if p.IPVersion == 4 {
		return sum(p.Key.B[12:], sum(p.Key.A[12:], s))
	}
	return sum(p.Key.B[:], sum(p.Key.A[:], s))
}

// Unfilled reports whether a wrong checksum is one that the network card of the sender
// was to fill in: nothing in the IP header, and in TCP or UDP nothing or the sum over
// the pseudo-header only, which is what systems leave there.
func (p *Packet) Unfilled(data []byte) bool {
	if at := int(p.L3); p.IPVersion == 4 && at+ipv4HeaderLen <= len(data) && data[at+10] == 0 && data[at+11] == 0 {
		return true
	}
	at := int(p.L4)
	switch p.Kind {
	case KindTCP:
		at += 16
	case KindUDP:
		at += 6
	default:
		return false
	}
	if at+2 > len(data) {
		return false
	}
	have, want := binary.BigEndian.Uint16(data[at:]), folded(p.pseudoHeader())
	return have == 0 || have == want || have == ^want
}
