package ledger

import "netwhy/analyze/finding"

// Texts that many metrics share.
const (
	docStalled  = "seconds during which nothing moved because of it"
	docLongest  = "the longest of these waits, seconds"
	docShare    = "share of the segments of that direction, 0 to 1"
	docSide     = "client or server"
	docIdle     = "seconds of silence on the connection just before"
	docRTTMin   = "smallest round trip of the whole path that was seen, ms; 0: unknown"
	docByServer = "1: the server, 0: the client"
)

// Defs declares every code of this package. One finding of a code is made per
// connection, its figures are those of the whole connection.
func Defs() []finding.Def {
	return append(append(append(lossDefs(), windowDefs()...), pathDefs()...), append(append(endDefs(), turnDefs()...), trustDefs()...)...)
}

func lossDefs() []finding.Def {
	return []finding.Def{
		{
			Code: Retransmission, Severity: finding.Info,
			Doc: "Segments were sent again (all kinds, as Wireshark marks them). By itself it says neither that something was lost nor that anybody waited.",
			Metrics: []finding.Metric{
				num("segments", "segments sent again"),
				num("bytes", "payload bytes sent again"),
				num("fast", "of these, fast retransmissions (after duplicate ACKs; RFC 5681, 3.2)"),
				num("spurious", "of these, needless ones: acknowledged before, or reported as duplicate by D-SACK (RFC 2883)"),
				num("to_client", "of these, sent by the server"),
				num("to_server", "of these, sent by the client"),
				num("share", "share of payload bytes of the worse direction, 0 to 1"),
				num("stalled_seconds", docStalled),
			},
		},
		{
			Code: Loss, Severity: finding.Notice,
			Doc: "Segments were lost on the path: a gap that a later retransmission filled, or a segment seen at the tap and needed again by its receiver. Reordering (filled within a few ms by the original), needless retransmissions, retransmissions into a closed window and mirrored copies are not counted. Figures are of the direction that lost more; stalls of both.",
			Metrics: []finding.Metric{
				num("lost", "segments lost, both directions"),
				num("share", docShare),
				num("events", "separate losses (runs of neighbouring segments count once)"),
				num("max_run", "most segments lost in a row"),
				text("direction", "client: lost on the way to the client; server: on the way to the server; both"),
				text("kind", "random, burst, tail or all"),
				text("where", "before-tap, after-tap or both"),
				num("stalled_seconds", docStalled),
				num("longest_seconds", docLongest),
				num("recovery_seconds", "seconds during which the direction had an unfilled hole: its rate was cut though it may have moved"),
				num("active_seconds", "seconds during which the direction carried data"),
				num("rate_mbps", "mean rate of the direction while it carried data, Mbit/s"),
				num("timeouts", "retransmission timeouts among them"),
				num("data_segments", "data segments of that direction"),
				num("to_client", "segments lost on the way to the client"),
				num("to_server", "segments lost on the way to the server"),
			},
		},
		{
			Code: Timeout, Severity: finding.Notice,
			Doc: "A sender heard nothing and sent again only after its retransmission timer ran out (RFC 6298): a retransmission without duplicate ACKs before it, at least 150 ms (or the round trip and a half) after the last news. Handshake and keep-alive timers are not counted here.",
			Metrics: []finding.Metric{
				num("timeouts", "timeouts"),
				num("stalled_seconds", docStalled),
				num("longest_seconds", docLongest),
				num("max_backoff", "most timeouts in a row for one segment"),
				text("side", "who waited: client or server (the sender)"),
			},
		},
		{
			Code: OutOfOrder, Severity: finding.Info,
			Doc: "Segments overtook each other: a gap that was filled by its own original shortly after, sooner than a retransmission could (half a round trip, at most 50 ms), or that the receiver's D-SACK proved (RFC 2883).",
			Metrics: []finding.Metric{
				num("segments", "segments that came late"),
				num("share", docShare),
				num("max_delay_ms", "latest of them behind the first that overtook it, ms"),
				num("median_delay_ms", "median of these delays, ms"),
				num("spurious", "needless retransmissions of the same connection"),
				num("duplicate_acks", "duplicate ACKs of the receiver"),
				num("lost", "segments that were really lost on the connection (code tcp.loss)"),
				text("direction", "client: on the way to the client; server; both"),
				num("rate_mbps", "mean rate of the direction while it carried data, Mbit/s"),
			},
		},
		{
			Code: DuplicateAck, Severity: finding.Info,
			Doc: "A receiver repeated its acknowledgement because it got segments beyond a gap (RFC 5681, 2).",
			Metrics: []finding.Metric{
				num("acks", "duplicate ACKs, both directions"),
				num("max_run", "most for one gap"),
				num("dsacks", "of all ACKs, those that report a segment received twice (RFC 2883)"),
				num("by_server", docByServer+" (who sent most)"),
			},
		},
	}
}

func windowDefs() []finding.Def {
	return []finding.Def{
		{
			Code: ZeroWindow, Severity: finding.Notice,
			Doc: "A receiver announced that it can take nothing (window 0, or less than a segment for long: slow readers with small buffers never say 0) and the sender had more: it waited until the window opened, or probed (RFC 9293, 3.8.6.1). Time is counted only while the other side had data to send.",
			Metrics: []finding.Metric{
				num("stalled_seconds", docStalled),
				num("longest_seconds", docLongest),
				num("times", "separate stalls"),
				num("announcements", "segments that announced window 0"),
				num("probes", "zero window probes and keep-alives of the sender meanwhile"),
				num("by_server", docByServer+" closed its window"),
				text("side", docSide+": who closed its window"),
				num("closed_seconds", "seconds for which the window was announced as closed, whether or not anybody waited"),
				num("min_window", "smallest window announced, bytes"),
				num("max_window", "largest window announced, bytes"),
				num("open_at_end", "1: it was still closed at the end"),
				num("active_seconds", "seconds during which the direction carried data or waited"),
			},
		},
		{
			Code: WindowFull, Severity: finding.Info,
			Doc: "The sender used the receiver's window to the last byte and waited for it (Wireshark: TCP window full; or less than a segment was left of it). Without a closed window it means that the window limits the rate.",
			Metrics: []finding.Metric{
				num("times", "segments that filled the window"),
				num("stalled_seconds", docStalled+", closed windows left out"),
				num("window", "largest window announced by the receiver, bytes"),
				num("by_server", docByServer+" is the receiver"),
				text("side", docSide+": the receiver"),
			},
		},
		{
			Code: SmallWindow, Severity: finding.Notice,
			Doc: "The receiver's window, not the path, sets the rate: over a transfer of several round trips the rate stayed at window/RTT, with a window that never grew.",
			Metrics: []finding.Metric{
				num("window", "largest window announced by the receiver, bytes"),
				num("rtt_ms", "round trip used, ms"),
				num("limit_mbps", "window/RTT, Mbit/s"),
				num("rate_mbps", "rate seen, Mbit/s"),
				num("used", "rate/limit: near 1 when the window is the limit"),
				num("stalled_seconds", docStalled),
				num("transfer_seconds", "seconds of the transfer"),
				num("bytes", "bytes transferred"),
				num("by_server", docByServer+" is the receiver"),
				text("side", docSide+": the receiver"),
				num("scaled", "1: window scaling was agreed (RFC 7323), 0: not, or unknown"),
				num("lost", "segments lost meanwhile"),
			},
		},
	}
}

func pathDefs() []finding.Def {
	return []finding.Def{
		{
			Code: HighRTT, Severity: finding.Notice,
			Doc: "The round trip of the path is long by itself (smallest sample at least 150 ms), so that every exchange takes at least that long. Decided by the handshake, by data and its pure ACKs, and by TCP timestamps (RFC 7323).",
			Metrics: []finding.Metric{
				num("rtt_ms", "smallest round trip, ms"),
				num("rtt_median_ms", "median, ms"),
				num("rtt_p95_ms", "95th percentile, ms"),
				num("handshake_ms", "round trip of the handshake, ms"),
				num("server_half_ms", "tap to server and back, ms"),
				num("client_half_ms", "tap to client and back, ms"),
				num("round_trips", "round trips that exchanges had to wait for"),
				num("path_seconds", "seconds that these took"),
				num("think_seconds", "seconds that the server took to answer beyond the round trips"),
				num("samples", "samples"),
				num("lost", "segments lost"),
			},
		},
		{
			Code: RTTGrowth, Severity: finding.Notice,
			Doc: "The round trip grew under load: a queue on the path fills (bufferbloat). Smallest sample repeatst the median of those taken while the connection was busy, and the correlation of round trip and bytes in flight.",
			Metrics: []finding.Metric{
				num("rtt_min_ms", docRTTMin),
				num("rtt_loaded_ms", "median round trip under load, ms"),
				num("rtt_p95_ms", "95th percentile, ms"),
				num("rtt_max_ms", "largest, ms"),
				num("growth_ms", "loaded median above the minimum, ms"),
				num("times", "p95/minimum"),
				num("correlation", "of round trip and bytes in flight, -1 to 1; 0: too few samples, or the tap does not see them"),
				num("in_flight", "most bytes in flight"),
				num("rate_mbps", "mean rate of the direction, Mbit/s"),
				num("busy_seconds", "seconds under load"),
				text("direction", "direction of the data: client (to the client) or server"),
				num("lost_share", "share of the direction's segments that were lost"),
				num("samples", "samples"),
				num("queue_bytes", "growth × rate: what the queue holds, bytes"),
			},
		},
		{
			Code: RatePlateau, Severity: finding.Info,
			Doc: "A transfer ran at a steady rate with data in flight all the time, limited neither by the receiver's window nor by pauses of the sender: something on the path carries no more than that. A sender that paces itself below the path's rate leaves the path empty between segments and keeps the round trip at its minimum.",
			Metrics: []finding.Metric{
				num("rate_mbps", "the rate, Mbit/s"),
				num("variation", "standard deviation/mean of the rate over equal intervals"),
				num("seconds", "seconds for which it held"),
				num("bytes", "bytes transferred"),
				num("saturated", "share of the time with data in flight, 0 to 1; from the receiver's side: share without pauses"),
				num("queue_ms", "loaded round trip above the minimum, ms"),
				num("rtt_min_ms", docRTTMin),
				num("window_share", "most bytes in flight/receiver's window, 0 to 1"),
				num("lost_share", "share of the direction's segments that were lost"),
				num("idle_seconds", "seconds for which the sender paused"),
				text("direction", "direction of the data: client (to the client) or server"),
				num("loss_limit_mbps", "rate that the losses seen would allow (RFC 3819, 8.5: 0.93 MSS/RTT/sqrt(p)), Mbit/s; 0: no loss"),
			},
		},
		{
			Code: PMTUBlackHole, Severity: finding.Warning,
			Doc: "Full-size segments are sent again and again in vain while small ones pass, and no ICMP message says why (RFC 2923, 2.1; RFC 8899). Seen at the receiving side: small segments of a turn arrive, the large ones before them never do.",
			Metrics: []finding.Metric{
				num("stuck_bytes", "smallest payload that never passed; 0: not seen, only its absence"),
				num("passed_bytes", "largest payload that passed"),
				num("stuck_packet", "smallest packet that never passed, bytes of the IP packet"),
				num("passed_packet", "largest packet that passed"),
				num("retransmissions", "attempts in vain"),
				num("stalled_seconds", docStalled),
				num("by_server", docByServer+" sends the segments that vanish"),
				text("side", docSide+": the sender of what vanishes"),
				num("recovered", "1: smaller segments got through at last"),
				num("mss", "MSS that the receiver announced"),
			},
		},
		{
			Code: LowMSS, Severity: finding.Info,
			Doc: "An MSS in a SYN is below what the usual MTU of 1500 gives: a tunnel or a middlebox clamps it.",
			Metrics: []finding.Metric{
				num("client_mss", "MSS of the SYN"),
				num("server_mss", "MSS of the SYN-ACK"),
			},
		},
		{
			Code: Congestion, Severity: finding.Info,
			Doc: "Routers marked packets as having met congestion (CE; RFC 3168, 5).",
			Metrics: []finding.Metric{
				num("packets", "packets marked"),
				num("share", "share of the packets of that direction"),
				text("direction", "client: on the way to the client; server"),
			},
		},
	}
}

func endDefs() []finding.Def {
	return []finding.Def{
		{
			Code: SYNRetry, Severity: finding.Notice,
			Doc: "The SYN had to be sent more than once before it was answered (RFC 6298, 2.1: after 1 s, then doubled).",
			Metrics: []finding.Metric{
				num("syns", "SYNs sent"),
				num("stalled_seconds", "seconds from the first SYN to the last before the answer"),
				num("answered", "1: an answer came at last"),
			},
		},
		{
			Code: SYNACKRetry, Severity: finding.Notice,
			Doc: "The server had to repeat its SYN-ACK: it, or the ACK that completes the handshake, got lost or was never sent.",
			Metrics: []finding.Metric{
				num("syn_acks", "SYN-ACKs sent"),
				num("stalled_seconds", "seconds from the first to the last"),
				num("completed", "1: the handshake completed at last"),
			},
		},
		{
			Code: NoAnswer, Severity: finding.Warning,
			Doc: "Nothing came back for any SYN: no SYN-ACK, no RST, no ICMP error. One SYN alone is told only when the capture goes on for a second after it.",
			Metrics: []finding.Metric{
				num("syns", "SYNs sent"),
				num("waited_seconds", "seconds from the first SYN to the last, or to the client's giving up"),
				num("listened_seconds", "seconds from the first SYN to the end of the connection in the capture"),
				num("ttl", "TTL of the SYNs at the tap"),
			},
		},
		{
			Code: Refused, Severity: finding.Notice,
			Doc: "The SYN was answered with RST (RFC 9293, 3.5.2): nothing listens there, or something in between says so in the host's name. Never told of connections that began before the capture.",
			Metrics: []finding.Metric{
				num("after_ms", "SYN to RST, ms"),
				num("ttl", "TTL of the RST"),
				num("hops", "hops from the sender of the RST, as far as its TTL tells"),
				num("syns", "SYNs sent"),
			},
		},
		{
			Code: ICMPError, Severity: finding.Notice,
			Doc: "An ICMP error quoted a segment of the connection (RFC 792, RFC 4443).",
			Metrics: []finding.Metric{
				num("type", "ICMP type"),
				num("code", "ICMP code"),
				num("v6", "1: ICMPv6"),
				text("reason", "net-unreachable, host-unreachable, port-unreachable, admin-prohibited, fragmentation-needed, time-exceeded, ..."),
				text("from", "address of who sent the error"),
				num("from_peer", "1: it came from the host that the quoted segment was for"),
				num("mtu", "next-hop MTU told; 0: none"),
				num("connecting", "1: it came before the handshake was complete"),
				num("fatal", "1: the connection was never established"),
				num("errors", "errors that quoted the connection"),
				num("to_server", "1: the quoted segment was for the server"),
				num("stalled_seconds", "seconds from the quoted attempt to the next progress, or to the end"),
			},
		},
		{
			Code: Reset, Severity: finding.Info,
			Doc: "A RST ended the connection. It costs something only in the middle of an exchange: a RST after a complete answer, after a FIN or on an idle connection is a way to close.",
			Metrics: []finding.Metric{
				text("side", docSide+": in whose name the RST came"),
				num("by_server", docByServer+" (in whose name)"),
				text("phase", "connect, idle, request, wait, response, closing or late-data"),
				num("mid_transfer", "1: an exchange was cut off (late-data of the client: it left while the answer was still coming)"),
				num("after_seconds", "seconds from the last payload to the RST"),
				num("unacked", "payload bytes sent by the other side and not yet acknowledged"),
				num("request_bytes", "bytes of the request under way"),
				num("response_bytes", "bytes of the response under way"),
				num("resets", "RSTs in all"),
				num("ttl", "TTL of the first RST"),
				num("peer_ttl", "usual TTL of that side; 0: unknown"),
				num("age_seconds", "age of the connection"),
				num("requests", "exchanges before"),
				num("established", "1: the handshake was complete"),
				num("fin_before", "1: a FIN was seen before it"),
			},
		},
		{
			Code: ResetInjected, Severity: finding.Warning,
			Doc: "A RST does not fit the host in whose name it came: its TTL differs from that host's other segments, or the host goes on sending data and acknowledging after it, or its IP ID falls out of the host's sequence. Something on the path forged it.",
			Metrics: []finding.Metric{
				num("resets", "RSTs that do not fit"),
				num("ttl", "their TTL"),
				num("peer_ttl", "usual TTL of the host"),
				num("ttl_differs", "1: by at least 2 hops; 0: only other signs"),
				num("id_differs", "1: the IP ID does not fit"),
				num("went_on", "segments that the host sent afterwards as if nothing had happened"),
				num("both_ways", "1: forged towards both ends"),
				text("side", docSide+": in whose name (of the first)"),
				num("by_server", "1: in the server's name"),
				text("phase", "as tcp.reset"),
				num("payload_segments", "data segments before"),
				num("after_ms", "ms from the last payload to the RST"),
				num("idle_seconds", docIdle),
			},
		},
		{
			Code: ResetAfterIdle, Severity: finding.Warning,
			Doc: "Data sent on an established connection after silence was answered with RST: the other side, or a box in between, knows the connection no more (RFC 9293, 3.5.1: half-open).",
			Metrics: []finding.Metric{
				num("idle_seconds", docIdle),
				num("answer_ms", "data to RST, ms"),
				num("rtt_ms", "usual round trip to that side, ms"),
				num("ttl", "TTL of the RST"),
				num("peer_ttl", "usual TTL of the side in whose name it came"),
				num("ttl_differs", "1: the RST does not come from that host's distance"),
				text("side", docSide+": in whose name the RST came"),
				num("by_server", docByServer+" (in whose name)"),
				num("keep_alive", "1: it answered a keep-alive probe, not data"),
				num("requests", "exchanges before"),
				num("seq_zero_window", "1: the RST announces window 0 and carries the sequence number that was acknowledged, as a host without state does"),
			},
		},
		{
			Code: Unanswered, Severity: finding.Warning,
			Doc: "An established connection died in silence: data was sent again and again and nothing at all came back until the sender gave up or the capture ended.",
			Metrics: []finding.Metric{
				num("idle_seconds", docIdle),
				num("attempts", "transmissions of the first segment that was never acknowledged"),
				num("stalled_seconds", "seconds from the first of them to the end"),
				num("segment_bytes", "payload of that segment"),
				num("passed_bytes", "largest payload that was acknowledged before"),
				text("side", docSide+": who did not answer any more"),
				num("by_server", docByServer+" did not answer"),
				text("ended", "reset, silence, closed or capture-end"),
				num("requests", "exchanges before"),
				num("keep_alives", "unanswered keep-alives"),
				num("heard_else", "1: the silent side was heard later on this connection"),
			},
		},
		{
			Code: KeepAliveDead, Severity: finding.Warning,
			Doc: "Keep-alive probes were not answered (RFC 9293, 3.8.4).",
			Metrics: []finding.Metric{
				num("probes", "probes without answer"),
				num("silent_seconds", "seconds since the silent side was last heard"),
				num("idle_seconds", "seconds from the last segment of either side to the first probe without answer"),
				text("side", docSide+": who did not answer"),
				num("by_server", docByServer+" did not answer"),
				text("ended", "reset, silence, closed or capture-end"),
				num("requests", "exchanges before"),
			},
		},
		{
			Code: FastOpenFailed, Severity: finding.Info,
			Doc: "Data in the SYN was not acknowledged by the SYN-ACK and had to be sent again (RFC 7413, 4.2).",
			Metrics: []finding.Metric{
				num("bytes", "bytes of the SYN"),
			},
		},
	}
}

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
			Doc: "Segments were acknowledged that are not in the capture: the tap missed them, the network did not lose them.",
			Metrics: []finding.Metric{
				num("gaps", "gaps"),
				num("bytes", "bytes known to be missing"),
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
