package ledger

import "netwhy/analyze/finding"

func turnDefs() []finding.Def {
	return []finding.Def{
		{
			Code: SlowServer, Severity: finding.Notice,
			Doc: "The server had the whole request and began to answer late: what is left of the wait when the round trip and retransmissions are taken off is at least 200 ms and four round trips. An ACK of the request long before the answer proves it.",
			Metrics: []finding.Metric{
				num("worst_seconds", "longest think time"),
				num("total_seconds", "sum over the slow exchanges"),
				num("median_seconds", "median over all exchanges"),
				num("slow", "exchanges that were slow"),
				num("exchanges", "all exchanges"),
				num("ack_ms", "end of the worst request to its ACK, ms; 0: acknowledged with the answer"),
				num("proven", "1: the ACK of the worst request came well before the answer"),
				num("rtt_ms", "round trip taken off, ms"),
				num("request_bytes", "bytes of the worst request"),
				num("response_bytes", "bytes of its response"),
				num("greeting", "1: the worst wait was for the server's first words, not for an answer"),
				num("wait_seconds", "request to first byte of the answer of the worst exchange"),
				num("share", "think time/time of all exchanges, 0 to 1"),
				num("polls", "waits of 20 s and more: likely long polls"),
			},
		},
		{
			Code: NoResponse, Severity: finding.Notice,
			Doc: "A request was acknowledged and never answered until the connection or the capture ended, at least a second later.",
			Metrics: []finding.Metric{
				num("waited_seconds", "seconds from the end of the request to the end"),
				num("ack_ms", "end of the request to its ACK, ms"),
				num("request_bytes", "bytes of the request"),
				num("requests", "answered exchanges before"),
				text("ended", "reset, closed, silence or capture-end"),
				num("closed_by_server", "1: the server closed or reset without an answer"),
				num("acked", "1: the request was acknowledged"),
				num("tls", "1: the request looks like a TLS ClientHello"),
			},
		},
		{
			Code: SlowClient, Severity: finding.Notice,
			Doc: "The client paused inside a request while window and path were free and everything it had sent was acknowledged: it had nothing to send. Pauses of at least 200 ms (and three round trips) count.",
			Metrics: []finding.Metric{
				num("paused_seconds", "sum of the pauses"),
				num("longest_seconds", "longest pause"),
				num("median_seconds", "median of the pauses"),
				num("pauses", "pauses"),
				num("active_seconds", "seconds of the requests in which they fell"),
				num("bytes", "bytes of these requests"),
				num("certain", "1: an analyzer knows that the request was not complete; 0: several pieces without an answer in between"),
			},
		},
		{
			Code: ClientPauses, Severity: finding.Info,
			Doc: "The client let time pass between an answer and its next request. People and pools do; pauses of equal length that fill the life of a busy connection are those of a slow client.",
			Metrics: []finding.Metric{
				num("paused_seconds", "sum of the pauses of at least 300 ms"),
				num("longest_seconds", "longest pause"),
				num("median_seconds", "median pause"),
				num("pauses", "pauses"),
				num("variation", "standard deviation/mean of the pauses: near 0 when a program paces itself"),
				num("share", "share of the connection's life, 0 to 1"),
				num("requests", "exchanges"),
				num("answer_seconds", "sum of the time that the exchanges themselves took"),
				num("request_bytes", "mean bytes of a request"),
				num("same_size", "1: requests have about one size, as those of one job do"),
				num("first_seconds", "pause between the handshake and the first request"),
			},
		},
		{
			Code: ServerPauses, Severity: finding.Notice,
			Doc: "The server paused inside its answer while window and path were free and everything was acknowledged.",
			Metrics: []finding.Metric{
				num("paused_seconds", "sum of the pauses"),
				num("longest_seconds", "longest pause"),
				num("median_seconds", "median of the pauses"),
				num("pauses", "pauses"),
				num("active_seconds", "seconds of the answers in which they fell"),
				num("bytes", "bytes of these answers"),
				num("certain", "1: an analyzer knows that the answer was not complete, or a segment was cut in the middle of a message; 0: may be a message of its own"),
			},
		},
	}
}

func trustDefs() []finding.Def {
	return []finding.Def{
		{
			Code: OneSided, Severity: finding.Info,
			Doc: "Only one direction of the connection is in the capture, and what it acknowledges shows that the other exists: an asymmetric route or half of a mirror port.",
			Metrics: []finding.Metric{
				text("side", docSide+": whose segments are there"),
				num("packets", "segments seen"),
				num("acked_bytes", "bytes that they acknowledge and that are not in the capture"),
				num("worked", "1: data flowed or both sides closed, as far as one side tells"),
			},
		},
		{
			Code: BadChecksum, Severity: finding.Notice,
			Doc: "Segments arrived with a wrong TCP checksum and had to be sent again: they were damaged on the way and their receiver dropped them (RFC 9293, 3.1). Wrong checksums that the receiver took all the same are told by tcp.checksum-offload.",
			Metrics: []finding.Metric{
				num("segments", "damaged segments"),
				num("share", docShare),
				text("direction", "client: on the way to the client; server; both"),
				num("stalled_seconds", "seconds lost to losses on the connection"),
				num("resent", "segments that were sent again on the connection"),
			},
		},
		{
			Code: ChecksumOffload, Severity: finding.Info,
			Doc: "Segments of one side have a wrong checksum and are acknowledged all the same: the capture was taken on that host, before its network card filled them in, or behind a card that joined segments.",
			Metrics: []finding.Metric{
				num("segments", "segments with a checksum not yet filled in"),
				text("side", docSide+": the capturing host"),
			},
		},
		{
			Code: MirrorCopies, Severity: finding.Info,
			Doc: "Frames are in the capture twice because a mirror port or a second interface copied them: both directions, the same IP ID and TCP header (or one hop or MAC apart) within microseconds, and no reaction of the receiver. They are counted once.",
			Metrics: []finding.Metric{
				num("frames", "copies"),
				num("share", "share of all frames of the connection"),
				num("max_apart_us", "largest distance of a copy, microseconds"),
				num("routed", "1: TTL or MAC differ, so the copy was taken behind a router or switch"),
			},
		},
		{
			Code: DuplicateFrames, Severity: finding.Notice,
			Doc: "The path delivered frames twice: copies in one direction, or answered by the receiver with D-SACK (RFC 2883) or duplicate ACKs.",
			Metrics: []finding.Metric{
				num("frames", "copies"),
				num("share", "share of the frames of that direction"),
				text("direction", "client: on the way to the client; server; both"),
				num("reactions", "D-SACKs and ACKs that the copies provoked"),
				num("max_apart_us", "largest distance of a copy, microseconds"),
			},
		},
		{
			Code: LargeSegments, Severity: finding.Info,
			Doc: "Segments are larger than the MSS agreed: the capture was taken on a host whose network card cuts or joins them (TSO, GRO). Packet counts are not those of the wire.",
			Metrics: []finding.Metric{
				num("segments", "such segments"),
				num("max_bytes", "largest payload"),
				num("mss", "MSS agreed; 0: unknown"),
				text("direction", "client: on the way to the client; server; both"),
			},
		},
		{
			Code: CaptureGap, Severity: finding.Info,
			Doc: "Segments were acknowledged that are not in the capture, or a connection goes on whose SYN-ACK is not: the tap missed them, the network did not lose them.",
			Metrics: []finding.Metric{
				num("gaps", "gaps"),
				num("bytes", "bytes known to be missing"),
			},
		},
		{
			Code: CapturedLate, Severity: finding.Info,
			Doc: "Segments stand in the capture after their acknowledgements: the capture point wrote frames in another order than they passed (several queues of a network card, two taps that were merged).",
			Metrics: []finding.Metric{
				num("segments", "such segments"),
				num("share", "share of the data segments of that direction"),
				text("direction", "client: on the way to the client; server"),
			},
		},
		{
			Code: Overlap, Severity: finding.Notice,
			Doc: "Segments carry other bytes for sequence numbers that another segment right before had filled. A sender repeats what it said (RFC 9293, 3.8.1): one of the two is not its own, or something on the path changed it. First bytes of each segment are compared, damaged ones are not.",
			Metrics: []finding.Metric{
				num("segments", "segments that contradict the one before them"),
				text("side", "client or server: in whose name they came"),
				num("by_server", docByServer),
			},
		},
		{
			Code: MidStream, Severity: finding.Info,
			Doc: "The connection was open when the capture began: who is client is inferred, window scaling and handshake are unknown.",
			Metrics: []finding.Metric{
				num("client_known", "1: known by other means"),
			},
		},
	}
}
