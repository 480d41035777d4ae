package rules

import (
	"net/netip"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// fact is one named figure that rules can ask of a T. Numbers are float64, so
// that there is one kind of number in the language; truths are bool, texts
// string. Units are in the names.
type fact[T any] struct {
	name string
	doc  string
	get  func(v *T) any
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }
func millis(ns int64) float64  { return float64(ns) / float64(time.Millisecond) }

// connFacts is conn.* (and, summed and maximised, sum.* and max.*).
func connFacts() []fact[conn.Summary] {
	return []fact[conn.Summary]{
		{"proto", "tcp or udp", func(c *conn.Summary) any { return c.Proto }},
		{"stream", "Wireshark's tcp.stream or udp.stream", func(c *conn.Summary) any { return float64(c.ID.Stream) }},
		{"app", "protocol recognised: http, tls, dns ...; empty: none", func(c *conn.Summary) any { return c.App }},
		{"name", "server name from SNI, HTTP Host or DNS (from packets)", func(c *conn.Summary) any { return c.Name }},
		{"realm", "VLAN or tunnel", func(c *conn.Summary) any { return c.Realm }},
		{"community_id", "community_id v1", func(c *conn.Summary) any { return communityID(c) }},
		{"ipv6", "both ends are IPv6", func(c *conn.Summary) any { return c.Server.Addr.Addr().Is6() }},
		{"client_known", "the SYN was seen", func(c *conn.Summary) any { return c.ClientKnown }},
		{"established", "the handshake was complete", func(c *conn.Summary) any { return c.Established }},
		{"mid_stream", "the capture begins inside it", func(c *conn.Summary) any { return c.MidStream }},
		{"one_sided", "one direction only was captured", func(c *conn.Summary) any { return c.OneSided }},
		{"ecn", "ECN was negotiated", func(c *conn.Summary) any { return c.ECN }},
		{"end", "how it ended: open fin half reset refused no-answer idle icmp", func(c *conn.Summary) any { return string(c.End) }},
		{"end_frame", "frame of the end", func(c *conn.Summary) any { return float64(c.EndFrame) }},
		{"first_frame", "first frame", func(c *conn.Summary) any { return float64(c.First) }},
		{"last_frame", "last frame", func(c *conn.Summary) any { return float64(c.Last) }},
		{"duration_seconds", "first to last frame", func(c *conn.Summary) any { return seconds(c.Stop - c.Start) }},
		{namePackets, "frames in both directions", func(c *conn.Summary) any { return float64(c.Client.Packets + c.Server.Packets) }},
		{nameBytes, "payload bytes in both directions", func(c *conn.Summary) any { return float64(c.Client.Bytes + c.Server.Bytes) }},
		{"lost_segments", "gaps seen in both directions", func(c *conn.Summary) any { return float64(c.Client.LostSegments + c.Server.LostSegments) }},
		{"retransmissions", "segments sent again, both directions", func(c *conn.Summary) any { return float64(c.Client.Retransmits + c.Server.Retransmits) }},
		{"syns", "SYNs of the client", func(c *conn.Summary) any { return float64(c.SYNs) }},
		{"handshake_ms", "SYN to the end of the handshake; 0: not seen", func(c *conn.Summary) any { return millis(c.Handshake) }},
		{"handshake_server_ms", "SYN to SYN-ACK at the tap", func(c *conn.Summary) any { return millis(c.HandshakeServer) }},
		{"handshake_client_ms", "SYN-ACK to ACK at the tap", func(c *conn.Summary) any { return millis(c.HandshakeClient) }},
		{"exchanges", "requests with or without response", func(c *conn.Summary) any { return float64(c.Exchanges) }},
		{"failed_exchanges", "exchanges whose code means failure", func(c *conn.Summary) any { return float64(c.FailedExchanges) }},
		{"turns", "changes of the speaker", func(c *conn.Summary) any { return float64(c.Turns) }},
		{"lost_seconds", "time lost by avoidable parts of the ledger", func(c *conn.Summary) any { return seconds(c.Score) }},
	}
}

// sideFacts is conn.client.* and conn.server.*: what that end sent.
func sideFacts() []fact[conn.Side] {
	return []fact[conn.Side]{
		{nameAddr, "address and port", func(s *conn.Side) any { return s.Addr.String() }},
		{"ip", "address", func(s *conn.Side) any { return s.Addr.Addr().String() }},
		{"port", "port", func(s *conn.Side) any { return float64(s.Addr.Port()) }},
		{"mac", "source MAC of its frames", func(s *conn.Side) any { return macText(s.MAC) }},
		{namePackets, "frames", func(s *conn.Side) any { return float64(s.Packets) }},
		{nameBytes, "payload bytes, retransmissions included", func(s *conn.Side) any { return float64(s.Bytes) }},
		{"wire_bytes", "bytes on the wire", func(s *conn.Side) any { return float64(s.WireBytes) }},
		{"unique_bytes", "payload bytes without retransmissions", func(s *conn.Side) any { return float64(s.Unique) }},
		{"retransmitted_bytes", "payload bytes sent again", func(s *conn.Side) any { return float64(s.Retransmitted) }},
		{"retransmissions", "segments sent again", func(s *conn.Side) any { return float64(s.Retransmits) }},
		{"fast_retransmissions", "of these, fast ones", func(s *conn.Side) any { return float64(s.FastRetrans) }},
		{"spurious_retransmissions", "of these, already acknowledged", func(s *conn.Side) any { return float64(s.Spurious) }},
		{"out_of_order", "segments out of order", func(s *conn.Side) any { return float64(s.OutOfOrder) }},
		{"lost_segments", "gaps seen", func(s *conn.Side) any { return float64(s.LostSegments) }},
		{"dup_acks", "duplicate ACKs", func(s *conn.Side) any { return float64(s.DupAcks) }},
		{"zero_windows", "segments with window 0", func(s *conn.Side) any { return float64(s.ZeroWindows) }},
		{"window_fulls", "segments that filled the other's window", func(s *conn.Side) any { return float64(s.WindowFulls) }},
		{"keep_alives", "keep-alives", func(s *conn.Side) any { return float64(s.KeepAlives) }},
		{"timeouts", "retransmission timeouts", func(s *conn.Side) any { return float64(s.Timeouts) }},
		{"mss", "MSS option; 0: none seen", func(s *conn.Side) any { return float64(s.MSS) }},
		{"window_scale", "window scale; -1: not offered or unknown", func(s *conn.Side) any { return float64(s.WindowScale) }},
		{"sack", "SACK permitted", func(s *conn.Side) any { return s.SACK }},
		{"ttl", "TTL of the first frame", func(s *conn.Side) any { return float64(s.TTL) }},
		{"min_window", "smallest window announced, bytes", func(s *conn.Side) any { return float64(s.MinWindow) }},
		{"max_window", "largest window announced, bytes", func(s *conn.Side) any { return float64(s.MaxWindow) }},
		{"max_in_flight", "most bytes in flight", func(s *conn.Side) any { return float64(s.MaxInFlight) }},
		{"max_segment", "largest payload of a frame", func(s *conn.Side) any { return float64(s.MaxSegment) }},
		{"rtt_samples", "RTT samples of its data", func(s *conn.Side) any { return float64(s.RTT.Samples) }},
		{"rtt_min_ms", "smallest RTT", func(s *conn.Side) any { return millis(s.RTT.Min) }},
		{"rtt_median_ms", "median RTT", func(s *conn.Side) any { return millis(s.RTT.Median) }},
		{"rtt_p95_ms", "95th percentile of the RTT", func(s *conn.Side) any { return millis(s.RTT.P95) }},
		{"rtt_max_ms", "largest RTT", func(s *conn.Side) any { return millis(s.RTT.Max) }},
		{"rtt_jitter_ms", "mean difference of successive RTTs", func(s *conn.Side) any { return millis(s.RTT.Jitter) }},
		{"zero_window_seconds", "time at window 0", func(s *conn.Side) any { return seconds(s.ZeroWindowTime) }},
		{"loss_stall_seconds", "time its stream waited for retransmissions", func(s *conn.Side) any { return seconds(s.LossStall) }},
		{"bad_checksums", "frames with a wrong checksum", func(s *conn.Side) any { return float64(s.BadChecksums) }},
		{"fin", "it sent FIN", func(s *conn.Side) any { return s.Fin }},
		{"rst", "it sent RST", func(s *conn.Side) any { return s.Rst }},
		{"rst_frame", "frame of its RST", func(s *conn.Side) any { return float64(s.RstFrame) }},
	}
}

// worstFacts is worst.*: the connection's worst exchange and its ledger.
func worstFacts() []fact[conn.Exchange] {
	out := []fact[conn.Exchange]{
		{"protocol", "http, dns ... or tcp for a turn of unknown content", func(x *conn.Exchange) any { return x.Protocol }},
		{"label", "what was asked (from packets)", func(x *conn.Exchange) any { return x.Label }},
		{"code", "the protocol's own result code (from packets)", func(x *conn.Exchange) any { return x.Code }},
		{nameFailed, "the code means failure", func(x *conn.Exchange) any { return x.Failed }},
		{"complete", "the response ended", func(x *conn.Exchange) any { return x.Complete }},
		{"answered", "the response began", func(x *conn.Exchange) any { return x.RespStart != 0 }},
		{"total_seconds", "all of it", func(x *conn.Exchange) any { return seconds(x.Ledger.Total) }},
		{"largest", "name of the largest avoidable part of the ledger", func(x *conn.Exchange) any {
			if x.Ledger.Total == 0 {
				return ""
			}
			p, _ := x.Ledger.Largest()
			return conn.PartNames[p]
		}},
		{"largest_seconds", "that part", func(x *conn.Exchange) any { _, ns := x.Ledger.Largest(); return seconds(ns) }},
		{"ack_ms", "end of the request to its acknowledgement; 0: none seen", func(x *conn.Exchange) any {
			if x.AckFrame == 0 || x.AckTime < x.ReqEnd {
				return 0.0
			}
			return millis(x.AckTime - x.ReqEnd)
		}},
		{"acked", "the request was acknowledged", func(x *conn.Exchange) any { return x.AckFrame != 0 }},
		{"answer_seconds", "end of the request to the first byte of the response", func(x *conn.Exchange) any {
			if x.RespStart == 0 {
				return 0.0
			}
			return seconds(x.RespStart - x.ReqEnd)
		}},
		{"request_bytes", "bytes of the request", func(x *conn.Exchange) any { return float64(x.ReqBytes) }},
		{"response_bytes", "bytes of the response", func(x *conn.Exchange) any { return float64(x.RespBytes) }},
		{"request_frame", "first frame of the request", func(x *conn.Exchange) any { return float64(x.ReqFrame) }},
		{"request_last_frame", "last frame of the request", func(x *conn.Exchange) any { return float64(x.ReqLast) }},
		{"ack_frame", "frame that acknowledges the request", func(x *conn.Exchange) any { return float64(x.AckFrame) }},
		{"response_frame", "first frame of the response", func(x *conn.Exchange) any { return float64(x.RespFrame) }},
		{"response_last_frame", "last frame of the response", func(x *conn.Exchange) any { return float64(x.RespLast) }},
	}
	for p := range conn.Parts {
		out = append(out, fact[conn.Exchange]{
			conn.PartNames[p] + "_seconds", "ledger: " + conn.PartNames[p],
			func(x *conn.Exchange) any { return seconds(x.Ledger.Part[p]) },
		})
	}
	return out
}

// trustFacts is trust.*.
func trustFacts() []fact[conn.Trust] {
	return []fact[conn.Trust]{
		{"vantage", "client, server, middle or unknown", func(t *conn.Trust) any { return t.Vantage }},
		{"duplicates", "frames that a mirror port copied", func(t *conn.Trust) any { return float64(t.Duplicates) }},
		{"offload", "NIC offload seen", func(t *conn.Trust) any { return t.Offload }},
		{"time_reversals", "frames older than the one before", func(t *conn.Trust) any { return float64(t.TimeReversals) }},
		{"gaps", "segments acknowledged but not in the capture", func(t *conn.Trust) any { return float64(t.Gaps) }},
		{"one_sided", "one direction of the traffic only", func(t *conn.Trust) any { return t.OneSided }},
		{"begins_mid_connection", "connections open when the capture began", func(t *conn.Trust) any { return float64(t.BeginsMidConnection) }},
		{"snapped", "frames cut by the snaplen", func(t *conn.Trust) any { return float64(t.Snapped) }},
		{"dropped", "frames dropped while capturing", func(t *conn.Trust) any { return float64(t.Dropped) }},
	}
}

// captureFacts is capture.*.
func captureFacts() []fact[Input] {
	return []fact[Input]{
		{namePackets, "frames", func(in *Input) any { return float64(in.Packets) }},
		{nameBytes, "bytes on the wire", func(in *Input) any { return float64(in.Bytes) }},
		{"duration_seconds", "first to last frame", func(in *Input) any { return seconds(in.Duration) }},
		{"tcp_connections", "TCP connections", func(in *Input) any { return float64(in.TCP) }},
		{"udp_connections", "UDP conversations", func(in *Input) any { return float64(in.UDP) }},
	}
}

// codeFacts are what every code has besides the metrics of its Def.
const (
	factCount      = "count"
	factFlows      = "flows"
	factHosts      = "hosts"
	factFindings   = "findings"
	factFirstFrame = "first_frame"
	factLastFrame  = "last_frame"
	factSpan       = "span_seconds"
)

// subjectFacts is host.* (host scope) and conns.* (host and capture scope).
type subjectFacts struct {
	addr  netip.Addr
	talks []*talk
}

// different counts what conversations have of something.
func different[T comparable](talks []*talk, of func(*talk) T) float64 {
	if len(talks) <= 1 {
		return float64(len(talks))
	}
	seen := make(map[T]struct{}, len(talks))
	for _, t := range talks {
		seen[of(t)] = struct{}{}
	}
	return float64(len(seen))
}

func hostFacts() []fact[subjectFacts] {
	return []fact[subjectFacts]{
		{nameAddr, "address of the host", func(s *subjectFacts) any {
			if !s.addr.IsValid() {
				return ""
			}
			return s.addr.String()
		}},
		{"ipv6", "it is an IPv6 address", func(s *subjectFacts) any { return s.addr.Is6() }},
	}
}

func connsFacts() []fact[subjectFacts] {
	return []fact[subjectFacts]{
		{"count", "conversations concerned", func(s *subjectFacts) any { return float64(len(s.talks)) }},
		{nameClients, "different client addresses", func(s *subjectFacts) any {
			return different(s.talks, func(t *talk) netip.Addr { return t.client.Addr() })
		}},
		{nameServers, "different server addresses", func(s *subjectFacts) any {
			return different(s.talks, func(t *talk) netip.Addr { return t.server.Addr() })
		}},
		{"ports", "different server ports", func(s *subjectFacts) any {
			return different(s.talks, func(t *talk) uint16 { return t.server.Port() })
		}},
	}
}

// reachFacts is reach.*, in texts only: how far a folded diagnosis goes.
type reach struct {
	conns, clients, servers, failed int
	stalled                         float64
}

func reachFacts() []fact[reach] {
	return []fact[reach]{
		{"connections", "conversations concerned", func(r *reach) any { return float64(r.conns) }},
		{nameClients, "different client addresses", func(r *reach) any { return float64(r.clients) }},
		{nameServers, "different server addresses", func(r *reach) any { return float64(r.servers) }},
		{nameFailed, "conversations or requests that failed", func(r *reach) any { return float64(r.failed) }},
		{"stalled_seconds", "time lost, over all", func(r *reach) any { return r.stalled }},
	}
}

func macText(m [6]byte) string {
	if m == [6]byte{} {
		return ""
	}
	const hex = "0123456789abcdef"
	out := make([]byte, 0, 17)
	for i, b := range m {
		if i > 0 {
			out = append(out, ':')
		}
		out = append(out, hex[b>>4], hex[b&15])
	}
	return string(out)
}

// communityID is that of a conversation: it is computed for whoever asks for it.
func communityID(c *conn.Summary) string {
	if c.CommunityID != "" || !c.ID.Valid() {
		return c.CommunityID
	}
	return flow.CommunityID(c.ID.Proto, c.Client.Addr, c.Server.Addr)
}
