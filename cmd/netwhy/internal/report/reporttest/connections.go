package reporttest

import (
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
)

// Connections are conversations of every kind that a table has to lay out: a
// finished one with TLS, a refused one, one without answer, one that was open when
// the capture began, a lookup, and one whose texts are hostile.
func Connections() []conn.Summary {
	t := int64(start)
	side := func(addr string, packets, bytes uint64) conn.Side {
		return conn.Side{Addr: netip.MustParseAddrPort(addr), Packets: packets, Bytes: bytes, Unique: bytes, WireBytes: bytes + 66*packets, WindowScale: 7}
	}
	list := []conn.Summary{
		{
			Proto: "tcp", Client: side("10.0.0.9:41022", 12, 1200), Server: side("10.0.0.5:443", 14, 88_000), ClientKnown: true, First: 4, Last: 31,
			Start: t, Stop: t + 2_500_000_000, Handshake: 48_000_000, HandshakeServer: 47_000_000, SYNs: 1, Established: true, End: conn.EndFin, App: "tls",
			Name: "db.example.com", Exchanges: 3, FailedExchanges: 1, Findings: 2, Score: 1_750_000_000,
			Attr: map[string]string{
				"tls.version": "TLS 1.3", "tls.alpn": "h2", "tls.sni": "db.example.com", "tls.ja3": "e7d705a3286e19ea42f587b344ee6865",
				"tls.ja4": "t13d1516h2_8daaf6152771_b186095e22b6",
			},
		},
		{
			Proto: "tcp", Client: side("10.0.0.9:41023", 1, 0), Server: side("10.0.0.5:8443", 1, 0), ClientKnown: true, First: 40, Last: 41,
			Start: t + 1_000_000, Stop: t + 2_000_000, SYNs: 1, End: conn.EndRefused,
		},
		{
			Proto: "tcp", Client: side("[2001:db8:8f:1::1b]:40542", 3, 0), Server: side("[2001:db8:8f:2::50]:443", 0, 0), ClientKnown: true, First: 50, Last: 90,
			Start: t + 5_000_000, Stop: t + 3_005_000_000, SYNs: 3, End: conn.EndNoAnswer,
		},
		{
			Proto: "tcp", Client: side("10.0.0.9:41024", 5, 500), Server: side("10.0.0.5:22", 6, 900), First: 1, Last: 100, Start: t, Stop: t + 9_000_000_000,
			Established: true, MidStream: true, End: conn.EndOpen, App: "ssh",
		},
		{
			Proto: "udp", Client: side("10.0.0.9:53111", 1, 40), Server: side("10.0.0.53:53", 1, 120), ClientKnown: true, First: 2, Last: 3,
			Start: t, Stop: t + 12_345_678, End: conn.EndOpen, App: "dns", Exchanges: 1,
		},
		{
			Proto: "tcp", Client: side("10.0.0.9:41025", 4, 9), Server: side("10.0.0.5:80", 4, 9), ClientKnown: true, First: 110, Last: 120,
			Start: t, Stop: t + 1, SYNs: 1, Established: true, End: conn.EndReset, App: Hostile, Name: "=" + Hostile,
			Attr: map[string]string{"tls.ja4": Hostile, "tls.sni": Hostile},
		},
	}
	c := &list[0]
	c.Client.Retransmits, c.Client.Fin, c.Server.Fin, c.Server.RTT.Median = 2, true, true, 1_000_000
	c.Parts.Add(conn.Connect, 48_000_000)
	c.Parts.Add(conn.ServerThink, 1_750_000_000)
	c.Parts.Add(conn.Transfer, 702_000_000)
	list[5].Server.Rst = true
	for i := range list {
		s := &list[i]
		s.ID = flow.ID{Proto: flow.TCP, Stream: uint32(i)}
		if s.Proto == "udp" {
			s.ID = flow.ID{Proto: flow.UDP}
		}
		s.CommunityID = flow.CommunityID(s.ID.Proto, s.Client.Addr, s.Server.Addr)
	}
	return list
}
