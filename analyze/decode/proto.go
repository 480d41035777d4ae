package decode

import (
	"iter"
	"math/bits"
)

// Proto is a protocol of the stack below the application, named as Wireshark
// names it.
type Proto uint8

// Protocols.
const (
	Eth Proto = iota
	VLAN
	IP
	IPv6
	TCP
	UDP
	ICMP
	ICMPv6
	ARP
	SLL
	Null
	Raw
	LLC
	STP
	LLDP
	CDP
	GRE
	VXLAN
	Geneve
	GTP
	MPLS
	PWEth
	PPPoES
	PPPoED
	PPP
	L2TP
	Teredo
	ERSPAN
	OSPF
	VRRP
	IGMP
	SCTP
	ESP
	AH
	EIGRP
	PIM
	RSVP
	DCCP
	UDPLite
	IPComp
	EtherIP
	HopOpts
	Routing
	DstOpts
	FragHdr
	WLAN
	Radiotap
	Prism
	PPI
	PKTAP
	NFLog
	PFLog
	CHDLC
	FR
	JuniperEth
	EAPOL
	LACP
	Loop
	WOL
	MACsec
	CFM
	PTP
	ProfinetRT
	ITag
	HomePlug
	VTP
	DTP
	UDLD
	ISIS
	IPX
	NetBEUI
	FCoE
	LISP
	USB
	NSH
	Data // bytes that nobody reads: payload of an unknown protocol, fragments, what an echo carries
	OSI
	ISISHello
	ISISLSP
	ISISCSNP
	ISISPSNP
	ESIS
	CLNP
	WLANRadio
	ServiceVLAN // IEEE 802.1ad
	ETag
	VNTag
	HSR
	CMD
	FabricPath
	SLARP
	Q933
	FDDI
	TokenRing
	ARCNET
	IPNET
	Mobile6
	HIP
	Shim6
	UDPEncap
	CAPWAPData
	PAgP
	CGMP
	SNA
	NHRP
	IGRP
	PGM
	XTP
	COTP
	AX25
	SWIPE
	DSR
	RSVPE2E
	DVMRP
	RGMP
	FC
	Marker
	OAM
	EDP
	NDP
	GVRP
	GMRP
	MP
	LMI
	Protos // number of protocols: at most 128, what a Set holds
)

var protoNames = [Protos]string{ //nolint:gochecknoglobals,gosec // constant table, no secrets
	Eth: "eth", VLAN: "vlan", IP: "ip", IPv6: "ipv6", TCP: "tcp", UDP: "udp", ICMP: "icmp",
	ICMPv6: "icmpv6", ARP: "arp", SLL: "sll", Null: "null", Raw: "raw", LLC: "llc", STP: "stp",
	LLDP: "lldp", CDP: "cdp", GRE: "gre", VXLAN: "vxlan", Geneve: "geneve", GTP: "gtp",
	MPLS: "mpls", PWEth: "pwethcw", PPPoES: "pppoes", PPPoED: "pppoed", PPP: "ppp", L2TP: "l2tp",
	Teredo: "teredo", ERSPAN: "erspan", OSPF: "ospf", VRRP: "vrrp", IGMP: "igmp", SCTP: "sctp",
	ESP: "esp", AH: "ah", EIGRP: "eigrp", PIM: "pim", RSVP: "rsvp", DCCP: "dccp",
	UDPLite: "udplite", IPComp: "ipcomp", EtherIP: "etherip", HopOpts: "ipv6.hopopts",
	Routing: "ipv6.routing", DstOpts: "ipv6.dstopts", FragHdr: "ipv6.fraghdr", WLAN: "wlan",
	Radiotap: "radiotap", Prism: "prism", PPI: "ppi", PKTAP: "pktap", NFLog: "nflog",
	PFLog: "pflog", CHDLC: "chdlc", FR: "fr", JuniperEth: "juniper", EAPOL: "eapol",
	LACP: "slow", Loop: "loop", WOL: "wol", MACsec: "macsec", CFM: "cfm",
	PTP: "ptp", ProfinetRT: "pn_rt", ITag: "ieee8021ah", HomePlug: "homeplug-av", VTP: "vtp",
	DTP: "dtp", UDLD: "udld", ISIS: "isis", IPX: "ipx", NetBEUI: "netbios", FCoE: "fcoe",
	LISP: "lisp-data", USB: "usb", NSH: "nsh", Data: "data", OSI: "osi", ISISHello: "isis.hello",
	ISISLSP: "isis.lsp", ISISCSNP: "isis.csnp", ISISPSNP: "isis.psnp", ESIS: "esis", CLNP: "clnp",
	WLANRadio: "wlan_radio", ServiceVLAN: "ieee8021ad", ETag: "etag", VNTag: "vntag", HSR: "hsr",
	CMD: "cmd", FabricPath: "cfp", SLARP: "slarp", Q933: "q933", FDDI: "fddi", TokenRing: "tr",
	ARCNET: "arcnet", IPNET: "ipnet", Mobile6: "mipv6", HIP: "hip", Shim6: "shim6",
	UDPEncap: "udpencap", CAPWAPData: "capwap.data", PAgP: "pagp", CGMP: "cgmp", SNA: "sna",
	NHRP: "nhrp", IGRP: "igrp", PGM: "pgm", XTP: "xtp", COTP: "cotp", AX25: "ax25", SWIPE: "swipe",
	DSR: "dsr", RSVPE2E: "rsvp-e2ei", DVMRP: "dvmrp", RGMP: "rgmp", FC: "fc", Marker: "marker",
	OAM: "oampdu", EDP: "edp", NDP: "ndp", GVRP: "gvrp", GMRP: "gmrp", MP: "mp",
	LMI: "lmi",
}

func (p Proto) String() string {
	if p < Protos {
		return protoNames[p]
	}
	return unknown
}

// Set is a set of protocols.
type Set [2]uint64

// Add puts a protocol into the set.
func (s *Set) Add(p Proto) { s[p>>6&1] |= 1 << (p & 63) }

// Remove takes a protocol out of the set.
func (s *Set) Remove(p Proto) { s[p>>6&1] &^= 1 << (p & 63) }

// Has reports whether the set holds a protocol.
func (s *Set) Has(p Proto) bool { return s[p>>6&1]>>(p&63)&1 != 0 }

// Union adds all of another set.
func (s *Set) Union(o Set) {
	s[0] |= o[0]
	s[1] |= o[1]
}

// All yields the protocols of the set in the order of their constants.
func (s *Set) All() iter.Seq[Proto] {
	v := *s
	return func(yield func(Proto) bool) {
		for i, w := range v {
			for ; w != 0; w &= w - 1 {
				if !yield(Proto(i<<6 + bits.TrailingZeros64(w))) { //nolint:gosec // below 128
					return
				}
			}
		}
	}
}
