package tcp

// View is what the tracker knew of a connection right after a segment, for
// those who measure: filled by Segment, no pointer kept.
type View struct {
	New         uint32 // payload bytes that nobody had sent before
	Acked       uint32 // bytes of the other direction newly acknowledged by this segment
	InFlight    uint32 // bytes of this segment's direction sent and not yet acknowledged
	Window      uint32 // scaled window this segment announces, bytes
	ScaleKnown  bool   // both SYNs were seen, so that windows are exact
	Established bool   // handshake complete, or taken for granted mid-stream
	MidStream   bool   // no SYN was captured
	ClientKnown bool   // who opened it was seen
	Conflict    bool   // it repeats bytes that were seen with another content
	Astray      bool   // its bytes lie too far ahead to be of the stream
	RTT         int64  // sample that this acknowledgement gives for the other direction, ns; 0: none (Karn's rule)
	RTTFrame    uint64 // frame of the segment that the sample is of
	Missing     uint32 // LostSegment: bytes of the gap
	DupAcks     uint32 // DuplicateAck: how many in a row
	State       State  // how the connection stands
}

// State tells what has ended of a connection.
type State uint8

// States of a connection. Those from Finished on are the last.
const (
	Open     State = iota
	Half           // one side said FIN
	Finished       // both did
	Aborted        // by a RST
	Refused        // RST in answer to the SYN
)
