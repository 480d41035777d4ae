package ledger

import "netwhy/analyze/finding"

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
			Code: OddFlags, Severity: finding.Notice,
			Doc: "Segments with flags that no system sends: FIN without ACK, none at all, FIN with PSH and URG alone, SYN with FIN. RFC 9293 (3.10.7) has an ACK in every segment after the SYN. Scanners use them to look past filters.",
			Metrics: []finding.Metric{
				num("segments", "segments of the connection, in both directions"),
				num("answered", "1: the other end answered with RST"),
			},
		},
		{
			Code: CrossedSYNs, Severity: finding.Notice,
			Doc: "The server answered the SYN with a SYN of its own instead of a SYN-ACK: a simultaneous open (RFC 9293, 3.5), or a split handshake.",
			Metrics: []finding.Metric{
				num("answered", "1: a SYN-ACK followed, from whichever side"),
				num("established", "1: the connection was established"),
			},
		},
		{
			Code: PortReused, Severity: finding.Info,
			Doc: "The connection began with the addresses and ports of an earlier one of the capture (RFC 9293, 3.6.1).",
			Metrics: []finding.Metric{
				num("syns", "SYNs sent"),
				num("answered", "1: the server took it"),
				num("refused", "1: it was answered with RST"),
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
