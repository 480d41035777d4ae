package tcp

// connection is all that is kept of one: plain numbers, in the slab.
type connection struct {
	conv  uint32 // in the free list: the next free one
	flags uint16
	held  uint16 // ranges that wait beyond a hole
	irtt  int64  // if measured: SYN to the first segment after the handshake, ns; else time of the last SYN
	half  [2]half
}

// Flags of a connection.
const (
	reusedPorts = 1 << iota // it began on the ports of an earlier one
	sawSYN
	sawSYNACK
	sawReset
	established
	refused
	midStream
	timed    // a SYN was seen
	measured // irtt is what its name says
	calm     // expected may judge
)

// half is what is known of one direction. As in Wireshark, a sequence or
// acknowledgement number of 0 is one that is not known yet.
type half struct { // in the order that leaves no room between
	nextAt  int64  // when next was reached, ns
	ackedAt int64  // when acked was reached, ns
	isn     uint32 // of the SYN; without one: of the first segment, less one
	next    uint32 // sequence number after the highest one sent
	acked   uint32 // acknowledgement number last sent
	edge    uint32 // highest sequence number that may be acknowledged
	pos     uint32 // what is delivered next
	limit   uint32 // highest acknowledgement that the other side gave
	fin     uint32 // sequence number after the FIN
	head    uint32 // of the segments sent and not acknowledged
	tail    uint32
	wait    uint32 // head of the ranges beyond a hole, in order
	last    uint32 // tail of them
	window  uint16 // last announced, unscaled
	dups    uint16 // duplicate acknowledgements sent in a row
	out     uint16 // segments sent and not acknowledged, about
	kept    uint16 // of those, the remembered ones
	flags   uint16
	scale   uint8 // of the window, or unknownScale or noScale
}

// Flags of a direction.
const (
	hasISN = 1 << iota
	seen   // it sent a segment
	hasWindow
	plainWindow // window is not scaled: of a SYN (RFC 7323, 2.2) or, in Wireshark, of what follows it up to an ACK
	hasPos
	hasLimit
	hasFIN
	unwanted
	lastKeepAlive // its last segment was a keep-alive
	lastProbe     // its last segment was a zero window probe
	sentSYN
	overAcked // an acknowledgement beyond next came: counts as duplicate acknowledgements
	delivered // bytes were taken, so that pos no longer moves
)

// before reports whether a comes before b in sequence space (RFC 9293, 3.4).
func before(a, b uint32) bool {
	return int32(a-b) < 0 //nolint:gosec // the wrap is meant
}

// after reports whether a comes after b. Of two numbers half the space apart each
// is before the other, and none after it.
func after(a, b uint32) bool {
	return int32(a-b) > 0 //nolint:gosec // the wrap is meant
}

// phantom is the number of sequence numbers that the flags take. Wireshark gives
// SYN and FIN together one.
func phantom(flags uint16) uint32 {
	if flags&(FlagSYN|FlagFIN) != 0 {
		return 1
	}
	return 0
}
