package ledger

import "netwhy/analyze/finding"

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
