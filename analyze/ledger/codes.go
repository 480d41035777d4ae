package ledger

import "netwhy/analyze/finding"

// Codes of the symptoms that the ledger finds.
const (
	Retransmission  finding.Code = "tcp.retransmission"
	Loss            finding.Code = "tcp.loss"
	Timeout         finding.Code = "tcp.retransmission-timeout"
	OutOfOrder      finding.Code = "tcp.out-of-order"
	DuplicateAck    finding.Code = "tcp.duplicate-ack"
	ZeroWindow      finding.Code = "tcp.zero-window"
	WindowFull      finding.Code = "tcp.window-full"
	SmallWindow     finding.Code = "tcp.small-window"
	HighRTT         finding.Code = "tcp.high-rtt"
	RTTGrowth       finding.Code = "tcp.rtt-growth"
	RatePlateau     finding.Code = "tcp.rate-plateau"
	SYNRetry        finding.Code = "tcp.syn-retry"
	SYNACKRetry     finding.Code = "tcp.syn-ack-retry"
	NoAnswer        finding.Code = "tcp.no-answer"
	Refused         finding.Code = "tcp.refused"
	ICMPError       finding.Code = "tcp.icmp-error"
	Reset           finding.Code = "tcp.reset"
	ResetInjected   finding.Code = "tcp.reset-injected"
	ResetAfterIdle  finding.Code = "tcp.reset-after-idle"
	Unanswered      finding.Code = "tcp.unanswered-data"
	KeepAliveDead   finding.Code = "tcp.keep-alive-unanswered"
	SlowServer      finding.Code = "tcp.slow-server"
	NoResponse      finding.Code = "tcp.no-response"
	SlowClient      finding.Code = "tcp.slow-client"
	ClientPauses    finding.Code = "tcp.client-pauses"
	ServerPauses    finding.Code = "tcp.server-pauses"
	OneSided        finding.Code = "tcp.one-sided"
	BadChecksum     finding.Code = "tcp.bad-checksum"
	ChecksumOffload finding.Code = "tcp.checksum-offload"
	MirrorCopies    finding.Code = "tcp.mirror-copies"
	DuplicateFrames finding.Code = "tcp.duplicate-frames"
	PMTUBlackHole   finding.Code = "tcp.pmtu-black-hole"
	LargeSegments   finding.Code = "tcp.large-segments"
	FastOpenFailed  finding.Code = "tcp.fast-open-rejected"
	LowMSS          finding.Code = "tcp.low-mss"
	CaptureGap      finding.Code = "tcp.capture-gap"
	MidStream       finding.Code = "tcp.mid-stream"
	Congestion      finding.Code = "tcp.ecn-congestion"
	OddFlags        finding.Code = "tcp.odd-flags"
	CrossedSYNs     finding.Code = "tcp.crossed-syns"
	PortReused      finding.Code = "tcp.port-reused"
	CapturedLate    finding.Code = "tcp.captured-late"
	Overlap         finding.Code = "tcp.overlap"
)

// Words of text metrics. Rules compare with them.
const (
	SideClient = "client" // the client, or its direction: what it sends
	SideServer = "server"
	SideBoth   = "both"

	PhaseConnect   = "connect"     // before the handshake was complete
	PhaseIdle      = "idle"        // no exchange was under way
	PhaseRequest   = "request"     // the client was sending
	PhaseWait      = "wait"        // request sent, answer not begun
	PhaseResponse  = "response"    // the server was sending
	PhaseClosing   = "closing"     // after the FIN of the side that resets, or of the other with all data acknowledged
	PhaseLateData  = "late-data"   // in answer to data that came after the FIN of the side that resets
	LossRandom     = "random"      // single segments
	LossBurst      = "burst"       // runs of segments
	LossTail       = "tail"        // the last segments of a turn: only a timeout finds them
	LossAll        = "all"         // nothing got through any more
	WhereBeforeTap = "before-tap"  // the gap was seen, the segment was not
	WhereAfterTap  = "after-tap"   // the segment was seen, its receiver never got it
	WhereBothSides = "both"        // some of each
	EndedReset     = "reset"       // a RST ended it
	EndedSilence   = "silence"     // nothing came any more
	EndedRecovered = "recovered"   // it went on
	EndedClosed    = "closed"      // the waiting side closed
	EndedCapture   = "capture-end" // the capture ended
)

// merge shorthands keep the table below readable.
func num(name, doc string) finding.Metric {
	return finding.Metric{Name: name, Doc: doc, Merge: finding.Last}
}

func text(name, doc string) finding.Metric {
	return finding.Metric{Name: name, Text: true, Doc: doc, Merge: finding.Last}
}
