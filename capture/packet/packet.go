// Package packet holds captured frames on their way from a source to the
// analyzers: the frame's description, batches of frames with their bytes, and
// the pool that bounds how many bytes can be on that way.
//
// It does no I/O and knows nothing of protocols.
package packet

// LinkType is a LINKTYPE_ number of the tcpdump group's registry
// (draft-ietf-opsawg-pcaplinktype).
type LinkType uint16

// Link types that netwhy decodes or names.
const (
	LinkNull            LinkType = 0   // BSD loopback, family in the host byte order of the capturing machine
	LinkEthernet        LinkType = 1   // IEEE 802.3 Ethernet
	LinkPPP             LinkType = 9   // PPP, RFC 1661 and 1662
	LinkPPPHDLC         LinkType = 50  // PPP in HDLC-like framing
	LinkPPPEther        LinkType = 51  // PPPoE session packets, RFC 2516
	LinkRawBSD          LinkType = 12  // raw IP as some BSDs number it
	LinkRawOpenBSD      LinkType = 14  // raw IP as OpenBSD numbers it
	LinkRaw             LinkType = 101 // raw IPv4 or IPv6
	LinkIEEE80211       LinkType = 105 // IEEE 802.11
	LinkLoop            LinkType = 108 // OpenBSD loopback, family in network byte order
	LinkLinuxSLL        LinkType = 113 // Linux cooked capture v1
	LinkPrism           LinkType = 119 // Prism header, then IEEE 802.11
	LinkRadiotap        LinkType = 127 // radiotap header, then IEEE 802.11
	LinkUSBLinux        LinkType = 189 // Linux usbmon
	LinkUSBLinuxMmapped LinkType = 220 // Linux usbmon, padded header
	LinkIPv4            LinkType = 228 // raw IPv4
	LinkIPv6            LinkType = 229 // raw IPv6
	LinkDBus            LinkType = 231 // D-Bus messages
	LinkUSBPcap         LinkType = 249 // USBPcap
	LinkUSBDarwin       LinkType = 266 // USB on macOS
	LinkLinuxSLL2       LinkType = 276 // Linux cooked capture v2
	LinkEBHSCR          LinkType = 279 // Elektrobit high-speed capture
)

// Frame describes one captured frame. It holds no pointer, so that the garbage
// collector never scans a batch.
type Frame struct {
	Number    uint64   // 1-based over the run: Wireshark's frame.number
	Time      int64    // nanoseconds since 1970-01-01 UTC, the capture's clock
	Offset    uint32   // of the first byte in the batch's buffer
	CapLen    uint32   // bytes captured
	WireLen   uint32   // bytes on the wire; never below CapLen
	Interface uint16   // index of the interface within the run
	Link      LinkType // of that interface
}

// Counters are running totals of a source up to and including a batch.
type Counters struct {
	Packets          uint64
	Bytes            uint64 // on the wire
	DroppedKernel    uint64 // the kernel's ring was full
	DroppedInterface uint64 // the NIC or its driver had no room
	DroppedQueue     uint64 // netwhy had no free batch (live only)
}
