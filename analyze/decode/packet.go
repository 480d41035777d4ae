package decode

import "netwhy/analyze/flow"

// None is the offset of a header that is not there.
const None = ^uint32(0)

const unknown = "unknown" // what no constant names

// MaxConvs bounds the conversations listed of one frame.
const MaxConvs = 6

// Conv is one conversation that a frame is part of.
type Conv struct {
	Key    flow.Key
	SrcIsA bool
	Quoted bool // seen only as the quote inside an ICMP or ICMPv6 error
	Within bool // quoted inside a tunnel of the same transport: counted all the same
}

// Packet is what Decode learned of one frame. Offsets are into the bytes that were
// decoded; a header that was not met has None or, for L4 and Payload of a Kind without
// one, End.
//
// It is used again for one frame after the other: what is rare stands elsewhere, so that
// little has to be cleared.
type Packet struct {
	fields

	rare *rare // nil until a packet needs it; it stays
}

// fields are what is cleared for each frame.
type fields struct {
	Protos Set        // of the whole stack, tunnels included
	Kind   Kind       // of the innermost thing that could be read
	Err    Reason     // why no more could be read
	Tunnel TunnelKind // outermost tunnel; NoTunnel: none
	NConvs uint8      // conversations that the frame is part of; see Conv

	SrcIsA    bool // the source is Key.A
	Broadcast bool // every worker must see it (fragments): Hash means nothing
	// NoLength6 marks a packet whose innermost IPv6 header tells no length, as
	// the kernel hands over large sends (BIG TCP). It is read to the end of the
	// frame; Wireshark 4.0.17 does not read it, so it is no conversation of it.
	NoLength6 bool
	BadHeader bool   // TCP header length is impossible: the segment has a stream but no analysis
	Hash      uint32 // symmetric; of the quoted flow for ICMP errors

	IPVersion uint8 // 4, 6 or 0
	Proto     uint8 // IANA number of what follows IP and its extension headers
	TTL       uint8 // or hop limit
	TOS       uint8 // traffic class: DSCP<<2 | ECN

	L4         uint32 // transport header, behind IPv6 extension headers
	Payload    uint32 // transport payload
	End        uint32 // behind the last captured byte of the packet; padding is cut off
	PayloadLen uint32 // transport payload bytes on the wire, also when cut by the snaplen

	Seq, Ack uint32 // TCP
	Flags    uint16 // TCP, 9 bits: FIN is 1, NS is 256
	Window   uint16 // TCP, unscaled
	IPID     uint16 // IPv4 identification
	HdrLen   uint8  // TCP header bytes, options included
	Stamped  bool   // the TCP options are a timestamp and nothing else (RFC 7323, appendix A)

	Key          flow.Key // innermost conversation; ports 0 where there are none
	L3           uint32   // innermost IP (or ARP) header
	Head         uint64   // TCP: the first bytes of the payload; see HeadOf
	TSVal, TSEcr uint32   // if Stamped

	L2        uint32 // link header that carries the innermost addresses; see MACs
	L2Kind    L2Kind // how to read addresses at L2
	DF, MF    bool
	VLANs     uint8  // number of tags
	EtherType uint16 // innermost; 0: none
	FragOff   uint16 // bytes
	FragID    uint32 // identification of IPv4 or of the IPv6 fragment header
	VLAN      uint16 // id of the innermost tag; meaningless when VLANs is 0
	OuterVLAN uint16 // id of the outermost tag
	TunnelID  uint32 // innermost VNI, GRE key, GTP TEID or tunnel id; 0: none

	ICMPType uint8
	ICMPCode uint8
	Quotes   bool // an ICMP error with a quote that could be read: see Quote
	own      bool // the first conversation stands in Key and SrcIsA, and not among convs

	fragHdr   uint32 // offset of the IPv6 fragment header
	fragNH    uint32 // offset of the next-header byte that points at it
	Fragments uint32 // frames that it was put together from; 0: it came whole
}

// rare is what few packets have.
type rare struct {
	convs [MaxConvs]Conv // those from NConvs on mean nothing
	quote Quote          // means nothing unless Quotes
}

func (p *Packet) more() *rare {
	if p.rare == nil {
		p.rare = new(rare)
	}
	return p.rare
}

// Conv returns one of the NConvs conversations that the frame is part of, in order of
// dissection.
func (p *Packet) Conv(i int) Conv {
	if i == 0 && p.own {
		return Conv{Key: p.Key, SrcIsA: p.SrcIsA}
	}
	return p.rare.convs[i]
}

// Quote returns what an ICMP error quotes; Quotes has to be set.
func (p *Packet) Quote() *Quote { return &p.rare.quote }

// NetLen is the length of the innermost IP packet on the wire: its header and
// extension headers, the transport header and the payload.
func (p *Packet) NetLen() uint32 { return p.Payload - p.L3 + p.PayloadLen }

// Quote is the packet that an ICMP or ICMPv6 error quotes.
type Quote struct {
	HasPorts bool // the quote reaches the ports of TCP, UDP or SCTP
	HasSeq   bool // the quote reaches the sequence number of TCP
	SrcIsA   bool
	Proto    uint8
	TTL      uint8  // of the quoted header, as it was when the error arose
	IPID     uint16 // IPv4
	MTU      uint32 // next-hop MTU (RFC 1191, RFC 4443); 0: not told
	At       uint32 // offset of the quoted IP header
	Seq      uint32
	Flags    uint16 // TCP; 0 unless the quote reaches the window
	Whole    bool   // it has the whole TCP header
	Len      uint32 // total length of the quoted IP packet as its header says
	Key      flow.Key
}

// Kind tells what the innermost readable thing of a frame is.
type Kind uint8

// Kinds.
const (
	KindUndecoded Kind = iota // no network layer could be read; Err says why
	KindTCP
	KindUDP
	KindICMP
	KindICMPv6
	KindSCTP
	KindIPOther  // another protocol over IP, or a transport header that could not be read
	KindARP      // also RARP
	KindLink     // neither IP nor ARP: STP, LLDP, CDP, 802.11 management ...
	KindFragment // part of an IP datagram: give it to a Defragmenter
)

func (k Kind) String() string {
	names := [...]string{"undecoded", "tcp", "udp", "icmp", "icmpv6", "sctp", "ip", "arp", "link", "fragment"}
	if int(k) < len(names) {
		return names[k]
	}
	return unknown
}

// Reason tells why a frame was not read to its end.
type Reason uint8

// Reasons.
const (
	NoError      Reason = iota
	Short               // cut by the snaplen inside a header
	Truncated           // a header runs past the end of its packet
	BadLength           // a length field contradicts itself
	BadVersion          // not the version that the layer below announced
	UnknownLink         // link type not supported
	UnknownType         // EtherType, LLC, PPP or family number not supported
	Encrypted           // WEP, WPA, MACsec
	TooDeep             // more layers than maxLayers
	NotIP               // link type that carries no IP (USB, Bluetooth ...)
	Compressed          // compressed headers (Van Jacobson, 6LoWPAN)
	LinkFragment        // fragment of the link layer (802.11, multilink PPP)
	CorruptFCS          // radio header tells of a bad checksum
)

func (r Reason) String() string {
	names := [...]string{
		"", "cut by the snaplen", "header runs past the end of the packet", "contradicting length field",
		"wrong IP version", "link type not supported", "protocol number not supported", "encrypted",
		"too many layers", "link type without IP", "compressed headers", "link-layer fragment",
		"received with a bad checksum",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return unknown
}

// TunnelKind names what a packet is wrapped in.
type TunnelKind uint8

// Tunnels.
const (
	NoTunnel TunnelKind = iota
	TunnelGRE
	TunnelVXLAN
	TunnelGeneve
	TunnelGTP
	TunnelMPLS
	TunnelIPIP // IPv4 in IPv4
	Tunnel6in4
	Tunnel4in6
	Tunnel6in6
	TunnelTeredo
	TunnelERSPAN
	TunnelL2TP
	TunnelPPPoE
	TunnelEtherIP
	TunnelPBB // 802.1ah
	TunnelLISP
	TunnelAH
	TunnelNSH
	TunnelPPTP
	TunnelPIM
)

func (t TunnelKind) String() string {
	names := [...]string{
		"", "gre", "vxlan", "geneve", "gtp", "mpls", "ipip", "6in4", "4in6", "6in6", "teredo", "erspan",
		"l2tp", "pppoe", "etherip", "pbb", "lisp", "ah", "nsh", "pptp", "pim",
	}
	if int(t) < len(names) {
		return names[t]
	}
	return unknown
}

// L2Kind tells how the link header at Packet.L2 is laid out.
type L2Kind uint8

// Link headers with addresses.
const (
	L2None     L2Kind = iota
	L2Ethernet        // destination, source
	L2SLL             // Linux cooked v1: source only
	L2SLL2            // Linux cooked v2: source only
	L2WLAN            // IEEE 802.11
)

// ECN returns the two bits of RFC 3168, section 5: 3 is congestion experienced.
func (p *Packet) ECN() uint8 { return p.TOS & 3 }

// DSCP returns the six bits of RFC 2474.
func (p *Packet) DSCP() uint8 { return p.TOS >> 2 }

// Src returns the innermost source address, IPv4 as ::ffff:a.b.c.d.
func (p *Packet) Src() [16]byte {
	if p.SrcIsA {
		return p.Key.A
	}
	return p.Key.B
}

// Dst returns the innermost destination address.
func (p *Packet) Dst() [16]byte {
	if p.SrcIsA {
		return p.Key.B
	}
	return p.Key.A
}

// SrcPort returns the source port of TCP, UDP, SCTP, DCCP and UDP-Lite; 0: none.
func (p *Packet) SrcPort() uint16 {
	if p.SrcIsA {
		return p.Key.PortA
	}
	return p.Key.PortB
}

// DstPort returns the destination port.
func (p *Packet) DstPort() uint16 {
	if p.SrcIsA {
		return p.Key.PortB
	}
	return p.Key.PortA
}

// Data returns the captured bytes of the transport payload. data are the bytes
// that were decoded.
func (p *Packet) Data(data []byte) []byte {
	if p.Payload > p.End || int(p.End) > len(data) {
		return nil
	}
	return data[p.Payload:p.End:p.End]
}

// Parts returns the options and the payload of a segment that was read in one go (see
// Glance).
func (p *Packet) Parts(data []byte) (options, payload []byte) {
	data = data[:p.End:p.End]
	return data[plainEnd:p.Payload:p.Payload], data[p.Payload:]
}
