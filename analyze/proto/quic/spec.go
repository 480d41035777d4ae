package quic

import (
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Codes of findings.
const (
	NoAnswer         finding.Code = "quic.no-answer"
	HandshakeStalled finding.Code = "quic.handshake-stalled"
	HandshakeSlow    finding.Code = "quic.handshake-slow"
	Negotiation      finding.Code = "quic.version-negotiation"
	Retry            finding.Code = "quic.retry"
	Close            finding.Code = "quic.connection-close"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	sni := finding.Metric{Name: "sni", Text: true, Doc: "name that the client asked for; empty: none or not readable"}
	waited := finding.Metric{Name: "waited_seconds", Merge: finding.Max, Doc: "from the client's first packet to its last or to the end of the capture"}
	return proto.Spec{
		Name: "quic", Doc: "QUIC version 1 and 2 (RFC 9000, 9001, 9369)",
		Also:    append(tlsmsg.SchemaNames(), "tls", "http3"),
		Carrier: proto.UDP, Anywhere: true,
		Ports: []uint16{443, 784, 853, 4433, 8443},
		Probe: probe,
		New:   func() proto.Analyzer { return newAnalyzer() },
		Codes: []finding.Def{
			{
				Code: NoAnswer, Severity: finding.Warning, Metrics: []finding.Metric{
					sni, waited,
					{Name: "packets", Doc: "datagrams that the client sent"},
					{Name: "version", Text: true, Doc: "version that it offered"},
				},
				Doc: "The client's Initial packets have no answer: UDP is filtered on the way, or nobody speaks QUIC there. Said from 1 s on: clients repeat after 1 s at the latest when they know no round-trip time (RFC 9002, 6.2.2).",
			},
			{
				Code: HandshakeStalled, Severity: finding.Warning, Metrics: []finding.Metric{
					sni, waited,
					{Name: "waiting_for_server", Doc: "1: the client spoke last, 0: the server"},
				},
				Doc: "The handshake began and was not completed for 1 s or more. Large packets of the server that get lost (MTU) look like this.",
			},
			{
				Code: HandshakeSlow, Severity: finding.Notice, Metrics: []finding.Metric{
					sni,
					{Name: "handshake_ms", Merge: finding.Max, Doc: "first Initial to the client's first packet with data"},
					{Name: "server_ms", Merge: finding.Max, Doc: "first Initial to the server's first packet"},
				},
				Doc: "The handshake took 1 s or more; it needs one round trip.",
			},
			{
				Code: Negotiation, Severity: finding.Notice, Metrics: []finding.Metric{
					{Name: "offered", Text: true, Doc: "version that the client offered"}, {Name: "supported", Text: true, Doc: "versions of the server"},
				},
				Doc: "The server does not speak the version that the client offered and names its own (RFC 9000, 6).",
			},
			{
				Code: Retry, Severity: finding.Info, Metrics: []finding.Metric{sni},
				Doc: "The server asked the client to prove its address (Retry; RFC 9000, 8.1.2): it costs a round trip. Servers do so under load.",
			},
			{
				Code: Close, Severity: finding.Warning, Metrics: []finding.Metric{
					{Name: "error", Doc: "number of the error code"},
					{Name: "name", Text: true, Doc: "its name; for 0x100 to 0x1ff that of the TLS alert"},
					{Name: "from_server", Doc: "1: the server sent it, 0: the client"},
					{Name: "reason", Text: true, Doc: "text that the sender added"},
					sni,
				},
				Doc: "One side closed the connection because of an error and said which (CONNECTION_CLOSE; RFC 9000, 20; RFC 9114, 8.1). After the handshake it is encrypted: a key log opens it.",
			},
		},
	}
}

// probe is certain of a long header with a known version, and of version
// negotiation; other versions are likely.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	p, ok := parseLong(b)
	if !ok {
		return proto.No
	}
	switch {
	case p.version == 0:
		if len(p.payload) < 4 || len(p.payload)%4 != 0 || len(p.payload) > 4*maxVersions {
			return proto.No
		}
		if known(be32(p.payload)) || known(be32(p.payload[len(p.payload)-4:])) {
			return proto.Certain
		}
		return proto.Likely
	case known(p.version):
		return proto.Certain
	case p.version&0x0f0f0f0f == 0x0a0a0a0a && len(b) >= minInitial: // reserved to force negotiation (RFC 9000, 15)
		return proto.Likely
	}
	return proto.No
}
