// Package rows lays a conversation out flat: one row with named columns, the same
// for every format that is a table of connections. What a column means is said
// here, once.
package rows

import (
	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Row is one conversation. The tags are the names of the columns: snake_case,
// with the unit at the end. Times are nanoseconds since 1970 UTC, which formats
// write as times; figures that are not known are 0, texts are null (empty in CSV).
//
// A tunnel's own datagrams have a number among the conversations, as in Wireshark,
// and no row: what they carry has one.
type Row struct {
	Proto           string  `parquet:"proto,dict"`
	Stream          uint32  `parquet:"stream"` // Wireshark's tcp.stream or udp.stream
	CommunityID     string  `parquet:"community_id,optional"`
	ClientAddress   string  `parquet:"client_address,dict"`
	ClientPort      uint16  `parquet:"client_port"`
	ServerAddress   string  `parquet:"server_address,dict"`
	ServerPort      uint16  `parquet:"server_port"`
	ServerName      string  `parquet:"server_name,dict,optional"` // SNI, HTTP Host or DNS
	App             string  `parquet:"app,dict,optional"`
	Start           int64   `parquet:"start,timestamp(nanosecond)"`
	Stop            int64   `parquet:"stop,timestamp(nanosecond)"`
	FirstFrame      uint64  `parquet:"first_frame"`
	LastFrame       uint64  `parquet:"last_frame"`
	End             string  `parquet:"end,dict"` // open, fin, half, reset, refused, no-answer, idle, icmp
	ClientKnown     bool    `parquet:"client_known"`
	MidStream       bool    `parquet:"mid_stream"`
	OneSided        bool    `parquet:"one_sided"`
	Handshake       float64 `parquet:"handshake_seconds"`
	ClientRTT       float64 `parquet:"client_rtt_seconds"` // median, of the client's data
	ServerRTT       float64 `parquet:"server_rtt_seconds"`
	ClientPackets   uint64  `parquet:"client_packets"`
	ServerPackets   uint64  `parquet:"server_packets"`
	ClientBytes     uint64  `parquet:"client_bytes"` // payload, each byte once
	ServerBytes     uint64  `parquet:"server_bytes"`
	ClientWireBytes uint64  `parquet:"client_wire_bytes"`
	ServerWireBytes uint64  `parquet:"server_wire_bytes"`
	ClientResent    uint32  `parquet:"client_retransmissions"`
	ServerResent    uint32  `parquet:"server_retransmissions"`
	ClientLost      uint32  `parquet:"client_lost_segments"` // that the path lost
	ServerLost      uint32  `parquet:"server_lost_segments"`
	ClientZero      float64 `parquet:"client_zero_window_seconds"`
	ServerZero      float64 `parquet:"server_zero_window_seconds"`
	Exchanges       uint32  `parquet:"exchanges"`
	Failed          uint32  `parquet:"failed_exchanges"`
	DNS             float64 `parquet:"dns_seconds"` // from here on the time ledger of all exchanges
	Connect         float64 `parquet:"connect_seconds"`
	TLS             float64 `parquet:"tls_seconds"`
	ClientThink     float64 `parquet:"client_think_seconds"`
	RequestSend     float64 `parquet:"request_send_seconds"`
	Path            float64 `parquet:"path_seconds"`
	ServerThink     float64 `parquet:"server_think_seconds"`
	LossStall       float64 `parquet:"loss_stall_seconds"`
	WindowStall     float64 `parquet:"window_stall_seconds"`
	SenderIdle      float64 `parquet:"sender_idle_seconds"`
	Transfer        float64 `parquet:"transfer_seconds"`
	Lost            float64 `parquet:"avoidable_seconds"` // what ranks the worst connections
	Findings        uint32  `parquet:"findings"`
	TLSVersion      string  `parquet:"tls_version,dict,optional"`
	ALPN            string  `parquet:"alpn,dict,optional"`
	JA3             string  `parquet:"ja3,dict,optional"`
	JA4             string  `parquet:"ja4,dict,optional"`
}

// Attributes of analyzers that have a column or a field of their own in formats.
const (
	AttrVersion = "tls.version"
	AttrALPN    = "tls.alpn"
	AttrJA3     = "tls.ja3"
	AttrJA4     = "tls.ja4"
	AttrSNI     = "tls.sni"
)

// Of lays out a summary. Texts from packets are made printable.
func Of(s *conn.Summary) Row {
	text := terminal.Printable
	part := func(p conn.Part) float64 { return report.Seconds(s.Parts.Part[p]) }
	return Row{
		Proto: s.Proto, Stream: s.ID.Stream, CommunityID: s.CommunityID,
		ClientAddress: s.Client.Addr.Addr().String(), ClientPort: s.Client.Addr.Port(),
		ServerAddress: s.Server.Addr.Addr().String(), ServerPort: s.Server.Addr.Port(),
		ServerName: text(s.Name), App: text(s.App), Start: s.Start, Stop: s.Stop, FirstFrame: s.First, LastFrame: s.Last,
		End: text(string(s.End)), ClientKnown: s.ClientKnown, MidStream: s.MidStream, OneSided: s.OneSided,
		Handshake: report.Seconds(s.Handshake), ClientRTT: report.Seconds(s.Client.RTT.Median), ServerRTT: report.Seconds(s.Server.RTT.Median),
		ClientPackets: s.Client.Packets, ServerPackets: s.Server.Packets, ClientBytes: s.Client.Unique, ServerBytes: s.Server.Unique,
		ClientWireBytes: s.Client.WireBytes, ServerWireBytes: s.Server.WireBytes,
		ClientResent: s.Client.Retransmits, ServerResent: s.Server.Retransmits, ClientLost: s.Client.Lost, ServerLost: s.Server.Lost,
		ClientZero: report.Seconds(s.Client.ZeroWindowTime), ServerZero: report.Seconds(s.Server.ZeroWindowTime),
		Exchanges: s.Exchanges, Failed: s.FailedExchanges,
		DNS: part(conn.DNS), Connect: part(conn.Connect), TLS: part(conn.TLS), ClientThink: part(conn.ClientThink), RequestSend: part(conn.RequestSend),
		Path: part(conn.Path), ServerThink: part(conn.ServerThink), LossStall: part(conn.LossStall), WindowStall: part(conn.WindowStall),
		SenderIdle: part(conn.SenderIdle), Transfer: part(conn.Transfer), Lost: report.Seconds(s.Score), Findings: s.Findings,
		TLSVersion: text(s.Attr[AttrVersion]), ALPN: text(s.Attr[AttrALPN]), JA3: text(s.Attr[AttrJA3]), JA4: text(s.Attr[AttrJA4]),
	}
}
