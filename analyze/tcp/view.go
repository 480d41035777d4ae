package tcp

import "netwhy/analyze/conn"

// Ref names a connection within its Tracker; 0 is none.
type Ref uint32

// View is what the tracker knew of a connection right after a segment, for
// those who measure: filled by Segment, no pointer kept.
type View struct {
	New         uint32   // payload bytes that nobody had sent before
	Acked       uint32   // bytes of the other direction newly acknowledged by this segment
	InFlight    uint32   // bytes of this segment's direction sent and not yet acknowledged
	Window      uint32   // scaled window this segment announces, bytes
	PeerWindow  uint32   // scaled window that limits this segment's sender, bytes
	ScaleKnown  bool     // both SYNs were seen, so that windows are exact
	Established bool     // handshake complete, or taken for granted mid-stream
	MidStream   bool     // no SYN was captured
	ClientKnown bool     // who opened it was seen
	RTT         int64    // sample that this acknowledgement gives for the other direction, ns; 0: none (Karn's rule)
	RTTFrame    uint64   // frame of the segment that the sample is of
	Missing     uint32   // LostSegment: bytes of the gap
	State       conn.End // how it stands: EndOpen, EndHalf, EndFin, EndReset, EndRefused
}

// Handler takes the connection's payload in order (package analyze).
type Handler interface {
	// Deliver takes bytes in order, each once. b is valid during the call only.
	Deliver(conv uint32, s *Segment, b []byte)
	// Gap tells that n bytes of the direction of s are not in the capture:
	// lost at the tap, cut by the snaplen, or given up when the bound on
	// out-of-order bytes was reached.
	Gap(conv uint32, s *Segment, n uint32)
}
