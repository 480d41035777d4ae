package decode

import (
	"encoding/binary"

	"netwhy/capture/packet"
)

// Link types beside those that package packet names, by their number in the
// tcpdump group's registry.
const (
	linkExpEthernet = 2
	linkTokenRing   = 6
	linkSLIP        = 8
	linkFDDI        = 10
	linkATMRFC1483  = 100
	linkCHDLC       = 104
	linkATMCLIP     = 106
	linkFrameRelay  = 107
	linkENC         = 109
	linkPFLog       = 117
	linkIPoverFC    = 122
	linkSunATM      = 123
	linkARCNETLinux = 129
	linkFRelayDir   = 206
	linkUser2       = 149 // used by macOS for PKTAP
	linkAVS         = 163
	linkPPPD        = 166
	linkJuniperEth  = 178
	linkPPI         = 192
	linkERF         = 197
	linkCHDLCDir    = 205
	linkPPPDir      = 204
	linkIPNET       = 226
	linkNFLog       = 239
	linkNetAnalyzer = 240
	linkNetAnalyzeT = 241
	linkIPoIB       = 242
	linkPKTAP       = 258
	linkMPacket     = 274
	linkIPoIBNoHdr  = 169
)

// Address families of BSD loopback and their kin. IPv6 has another number on
// each system.
func familyIsIPv6(f uint32) bool {
	switch f {
	case 10, 23, 24, 26, 28, 30:
		return true
	}
	return false
}

const familyIPv4 = 2

// link reads the frames of link types other than Ethernet.
func (d *decoder) link(link packet.LinkType) {
	p := d.p
	switch link {
	case packet.LinkRaw, packet.LinkRawBSD, packet.LinkRawOpenBSD:
		p.Protos.Add(Raw)
		d.ip(0)
	case packet.LinkIPv4:
		d.ipv4(0)
	case packet.LinkIPv6:
		d.ipv6(0)
	case packet.LinkEthernet, linkExpEthernet:
		d.ethernet(0)
	case packet.LinkNull, packet.LinkLoop:
		d.null()
	case packet.LinkLinuxSLL:
		d.sll()
	case packet.LinkLinuxSLL2:
		d.sll2()
	case packet.LinkPPP, packet.LinkPPPHDLC:
		d.pppLink(0)
	case linkPPPD, linkPPPDir: // one byte of direction
		d.ppp(1)
	case packet.LinkPPPEther:
		d.pppoe(0)
	case packet.LinkIEEE80211:
		d.wlan(0)
	case packet.LinkRadiotap:
		d.radiotap(0)
	case packet.LinkPrism, linkAVS:
		d.prism()
	case linkPPI:
		d.ppi()
	default:
		d.rare(link)
	}
}

func (d *decoder) rare(link packet.LinkType) {
	p := d.p
	switch link {
	case linkCHDLC:
		d.chdlc(0)
	case linkCHDLCDir:
		d.chdlc(1)
	case linkFrameRelay:
		d.frameRelay(0)
	case linkFRelayDir:
		d.frameRelay(1)
	case linkSLIP: // 16 bytes: direction and header compression
		if d.need(0, 16) {
			d.ip(16)
		}
	case linkNFLog:
		d.nflog()
	case linkPFLog:
		d.pflog()
	case linkPKTAP, linkUser2:
		d.pktap()
	case linkJuniperEth:
		d.juniperEthernet()
	case linkERF:
		d.erf()
	case linkARCNETLinux:
		d.arcnet()
	case linkFDDI:
		p.Protos.Add(FDDI)
		if d.need(0, 13) {
			d.llc(13)
		}
	case linkATMRFC1483:
		d.llc(0)
	case linkATMCLIP:
		if d.looksLikeIP(0) {
			d.ip(0)
		} else {
			d.llc(0)
		}
	case linkIPoverFC:
		if d.need(0, 16) {
			d.llc(16)
		}
	case linkSunATM:
		d.sunATM()
	case linkTokenRing:
		d.tokenRing()
	case linkENC: // OpenBSD's IPsec: family in the host's byte order, SPI, flags
		if d.need(0, 12) {
			d.ip(12)
		}
	case linkIPNET: // Solaris: 24 bytes, the family in the second
		p.Protos.Add(IPNET)
		if d.need(0, 24) {
			d.ip(24)
		}
	case linkIPoIB: // 40 bytes of GRH and 4 of header
		if d.need(0, 44) {
			d.etherType(d.u16(40), 44)
		}
	case linkMPacket: // IEEE 802.3br: preamble and start delimiter
		if d.need(0, 8) {
			d.ethernet(8)
		}
	case linkNetAnalyzer:
		d.ethernet(4)
	case linkNetAnalyzeT:
		d.ethernet(12)
	default:
		if isUSB(link) {
			p.Protos.Add(USB)
		}
		if carriesNoIP(link) {
			d.fail(NotIP)
			p.Kind = KindLink
			return
		}
		d.fail(UnknownLink)
	}
}

// carriesNoIP names link types on which there is no IP to be found.
func carriesNoIP(link packet.LinkType) bool {
	if isUSB(link) {
		return true
	}
	switch link {
	case 140, 141, 142, // SS7
		143,                          // DOCSIS
		187, 201, 251, 254, 255, 256, // Bluetooth
		190, 227, // CAN
		195, 215, 230, 283, // IEEE 802.15.4
		209, 212, 235, 279, // I2C, LIN ...
		253, 271: // netlink, vsock
		return true
	default:
		return false
	}
}

func isUSB(link packet.LinkType) bool {
	switch link {
	case 186, 189, 220, 249, 266, 288, 289, 290, 291, 292, 293, 294, 295:
		return true
	default:
		return false
	}
}

// null reads BSD loopback: the family in either byte order. Some tools write
// an EtherType or a PPP header instead.
func (d *decoder) null() {
	d.p.Protos.Add(Null)
	if !d.need(0, 4) {
		return
	}
	if d.u16(0) == 0xff03 {
		d.pppLink(0)
		return
	}
	f := d.u32(0)
	if f&0xffff0000 != 0 {
		if le := binary.LittleEndian.Uint32(d.b); le&0xffff0000 == 0 {
			f = le
		} else if f &= 0xffff; f <= maxLength8023 {
			// Both halves are in use: an EtherType behind something else, or
			// a family whose upper half is left over from something else.
			f = le & 0xffff
		}
	}
	switch {
	case f == familyIPv4:
		d.ip(4)
	case familyIsIPv6(f):
		d.ipv6(4)
	case f > maxLength8023:
		d.etherType(uint16(f), 4)
	default:
		d.fail(UnknownType)
		d.leaf(Data, 4)
	}
}

// sll reads a Linux cooked header, version 1 (tcpdump.org, LINKTYPE_LINUX_SLL).
func (d *decoder) sll() {
	const headerLen = 16
	d.p.Protos.Add(SLL)
	if !d.need(0, headerLen) {
		return
	}
	d.p.L2, d.p.L2Kind = 0, L2SLL
	d.cooked(d.u16(2), d.u16(14), headerLen)
}

// sll2 reads version 2 (LINKTYPE_LINUX_SLL2).
func (d *decoder) sll2() {
	const headerLen = 20
	d.p.Protos.Add(SLL)
	if !d.need(0, headerLen) {
		return
	}
	d.p.L2, d.p.L2Kind = 0, L2SLL2
	d.cooked(d.u16(8), d.u16(0), headerLen)
}

// cooked goes on behind a cooked header. Small protocol numbers are Linux's own.
func (d *decoder) cooked(arphrd, proto uint16, at int) {
	const (
		hrdGRE, hrdGRE6, hrdNetlink, hrdRadiotap, hrdWLAN = 778, 823, 824, 803, 801
		raw8023, eth, llc, ppp, can, canFD                = 1, 3, 4, 7, 0xc, 0xd
	)
	switch arphrd {
	case hrdNetlink:
		d.fail(NotIP)
		d.endLink(at)
		return
	case hrdRadiotap:
		d.radiotap(at)
		return
	case hrdWLAN:
		d.wlan(at)
		return
	case hrdGRE, hrdGRE6:
		d.tunnelType(proto, at)
		return
	}
	switch proto {
	case raw8023:
		d.leaf(IPX, at)
	case eth:
		d.innerEthernet(at)
	case llc:
		d.llc(at)
	case ppp:
		d.ppp(at)
	case can, canFD:
		d.fail(NotIP)
		d.endLink(at)
	default:
		d.etherType(proto, at)
	}
}

// pppLink reads PPP as a link: HDLC address and control, or Cisco's.
func (d *decoder) pppLink(off int) {
	if d.has(off, 2) && (d.b[off] == 0x0f || d.b[off] == 0x8f) && d.b[off+1] == 0 {
		d.chdlc(off)
		return
	}
	d.ppp(off)
}

// nested reads a frame of another link type inside a capture header.
func (d *decoder) nested(link packet.LinkType, off int) {
	if !d.deeper() {
		return
	}
	switch link {
	case packet.LinkEthernet:
		d.ethernet(off)
	case packet.LinkRaw, packet.LinkRawBSD, packet.LinkRawOpenBSD, packet.LinkIPv4, packet.LinkIPv6:
		d.ip(off)
	case packet.LinkIEEE80211:
		d.wlan(off)
	case packet.LinkRadiotap:
		d.radiotap(off)
	case packet.LinkPPP, packet.LinkPPPHDLC:
		d.pppLink(off)
	case packet.LinkNull, packet.LinkLoop:
		if !d.need(off, 5) {
			return
		}
		d.ip(off + 4)
	default:
		d.fail(UnknownLink)
	}
}
