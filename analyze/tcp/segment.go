package tcp

import "netwhy/analyze/flow"

// Segment is one TCP segment as the connection's analysis needs it.
type Segment struct {
	Frame   uint64
	Time    int64 // ns since 1970 UTC
	Dir     flow.Dir
	Seq     uint32
	Ack     uint32 // meaningless without FlagACK
	Flags   uint16 // Flag constants
	Window  uint16 // as in the header, unscaled
	Len     uint32 // payload bytes on the wire
	Data    []byte // payload bytes captured; shorter than Len when the snaplen cut it
	Options []byte // of the header, captured
	Stamped bool   // these are a timestamp and nothing else
	TSVal   uint32 // if Stamped
	TSEcr   uint32 // if Stamped
	Head    uint64 // the first bytes of Data (decode.HeadOf)
	TTL     uint8
	IPID    uint16
	IPv6    bool
	CE      bool // ECN congestion experienced (RFC 3168, 5)
	WireLen uint32
	NetLen  uint32 // bytes of the IP packet
	Header  Header // how much of the TCP header could be read
	Marks   Marks  // set by Tracker.Segment, before it delivers
}

// Header tells what could be read of a TCP header. Wireshark shows what it found
// of a segment behind the header, so a header with a fault hides it.
type Header uint8

// States of a header.
const (
	HeaderWhole Header = iota
	HeaderCut          // the snaplen cut it behind the window: judged and learned from, but nothing told
	HeaderLong         // it is longer than the segment: not judged
	HeaderBogus        // its length is below 20: as if cut, but its flags are not read either
)

const minHeader = 20 // bytes

// HeaderOf tells the state of a header that says it has length bytes, of which
// captured are there, in a segment (header and payload) of wire bytes.
func HeaderOf(length, captured, wire int) Header {
	switch {
	case length < minHeader:
		return HeaderBogus
	case length > wire:
		return HeaderLong
	case captured < length:
		return HeaderCut
	}
	return HeaderWhole
}

// TCP header flags (RFC 9293, 3.1; RFC 3168, 6.1; NS is RFC 3540's).
const (
	FlagFIN = 1 << iota
	FlagSYN
	FlagRST
	FlagPSH
	FlagACK
	FlagURG
	FlagECE
	FlagCWR
	FlagNS
)

// Marks are what Wireshark's tcp.analysis.* would say of one segment.
type Marks uint32

// Marks, named as Wireshark's fields. Those up to Reset are the report's
// counters.tcp.
const (
	Retransmission Marks = 1 << iota
	FastRetransmission
	SpuriousRetransmission
	OutOfOrder
	LostSegment
	AckLostSegment
	DuplicateAck
	ZeroWindow
	ZeroWindowProbe
	ZeroWindowProbeAck
	WindowFull
	WindowUpdate
	KeepAlive
	KeepAliveAck
	ReusedPorts
	Reset
)

// CounterNames are the keys of counters.tcp, in the order of the marks' bits.
var CounterNames = [...]string{ //nolint:gochecknoglobals // constant table
	"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order",
	"lost_segment", "ack_lost_segment", "duplicate_ack", "zero_window", "zero_window_probe",
	"zero_window_probe_ack", "window_full", "window_update", "keep_alive", "keep_alive_ack",
	"reused_ports", "reset",
}

// Again is any kind of segment sent again.
const Again = Retransmission | FastRetransmission | SpuriousRetransmission

// Has reports whether any of the given marks is set.
func (m Marks) Has(these Marks) bool { return m&these != 0 }
