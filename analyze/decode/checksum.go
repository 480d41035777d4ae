package decode

import "encoding/binary"

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
// padded with zero.
func sum(b []byte, s uint64) uint64 {
	for len(b) >= 8 {
		v := binary.BigEndian.Uint64(b)
		s += v>>32 + v&0xffffffff
		b = b[8:]
	}
	for len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
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
	s := uint64(len(b)) + uint64(p.Proto)
	if p.IPVersion == 4 {
		s = sum(p.Key.A[12:], s)
		s = sum(p.Key.B[12:], s)
	} else {
		s = sum(p.Key.A[:], s)
		s = sum(p.Key.B[:], s)
	}
	return verdict(sum(b, s))
}
