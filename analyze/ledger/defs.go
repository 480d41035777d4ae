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
