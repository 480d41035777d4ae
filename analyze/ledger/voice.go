package ledger

// voice is what is known of one direction. What each segment touches comes first, in
// four cache lines.
type voice struct {
	flags    uint8
	ttl      uint8  // of its segments; that which most had
	ttls     uint8  // votes for ttl (Boyer and Moore), saturating
	headLen  uint8  // bytes in head
	optBytes uint8  // options of its last data segment, bytes
	sound    uint8  // of its first segments with payload, those with the right checksum
	push     bool   // its last new payload ended with PSH
	jumped   bool   // its last segment's IP ID left some out
	shutBy   bool   // the wait is for a closed window, not for a full one
	recentAt uint8  // of prints
	lastID   uint16 // IP ID of its last segment
	steps    uint16 // segments whose IP ID followed on the one before
	jumps    uint16 // segments whose IP ID did not

	next     uint32 // sequence number after the highest byte seen
	acked    uint32 // highest acknowledgement that the other side gave
	window   uint32 // that it announces
	minWin   uint32
	maxWin   uint32
	flight   uint32 // most bytes in flight
	most     uint32 // largest payload of a segment
	passed   uint32 // largest payload that was acknowledged
	pend     uint32 // end of a segment larger than passed, not yet acknowledged; its length:
	pendBy   uint32
	lastBy   uint32 // payload of its last new data segment
	burst    uint32 // new bytes since its last pause
	segments uint32 // with payload
	headSeq  uint32 // where its latest data segment begins
	head     uint64 // its first bytes (decode.HeadOf)

	lastAt int64 // last payload, new or again
	newAt  int64 // last new payload
	ackAt  int64 // last progress of the acknowledgements of its data
	heard  int64 // its last segment of any kind
	block  int64 // since when it cannot send for want of window; 0: it can
	shutAt int64 // since when its own window is shut; 0: open
	unique uint64
	ackSum uint64 // bytes that the other side acknowledged
	rtt    rtt
	prints prints // of its latest segments

	*harm                      // never nil, see hurt
	few     [fewSamples]uint32 // µs, of rtt
	quick   int64              // smallest round trip of timestamps, ns; 0: none
	shake   int64              // that of the handshake, likewise
	best    best
	firstAt int64 // first payload
	finAt   int64 // its FIN
	openAt  int64 // when the window opened again; 0: still shut
}

// harm is what went wrong with one direction.
type harm struct {
	again          uint64 // payload bytes sent again
	missing        uint64 // bytes that were acknowledged and are not in the capture
	resent         uint32
	fast, spurious uint32
	late           uint32 // overtaken on the way
	lost           uint32
	gaps           uint32 // LostSegment marks
	unseen         uint32 // acknowledged without having been seen
	misplaced      uint32 // acknowledged before they were seen
	conflicts      uint32 // segments whose bytes differ from those seen before
	dupAcks        uint32
	dsacks         uint32
	zeros          uint32
	fulls          uint32
	alive          uint32 // keep-alives
	marked         uint32 // CE
	larges         uint32 // segments larger than the MSS agreed
	doubted        uint32 // segments whose checksums were verified for all the trouble

	keepRun  uint32 // keep-alives since the other side was heard
	keepAt   int64  // time of the first of them
	keepIdle int64  // silence before it

	tries    uint32 // times that the segment at trySeq was sent
	trySeq   uint32
	tryBytes uint32
	tryAt    int64 // first of them
	tryIdle  int64 // silence of the connection before it

	lossWait   int64 // ns stalled
	lossMost   int64
	winWait    int64
	winMost    int64
	winTimes   uint32
	shutTimes  uint32
	shutWait   int64
	shutMost   int64
	shutTotal  int64  // ns its own window was shut
	probes     uint32 // of the other side's closed window
	probeRun   uint32 // since the window closed
	timeouts   uint32
	backoff    uint32 // most timeouts in a row
	backoffRun uint32
	timerWait  int64
	timerMost  int64
	idleWait   int64
	timed      timed
}

const (
	vHasNext = 1 << iota
	vHasAck
	vHeard
	vFin
	vHurt // there is room to note trouble (talk.hurt): both directions have it
	vOdd  // there are twins, wrong checksums, resets or ICMP errors: likewise
)
