package analyze

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/http"
	"netwhy/analyze/proto/tls"
	"netwhy/analyze/tcp"
)

// unreadCode counts the answer in a datagram that no analyzer of DNS reads: one that
// was cut before its header ends, or whose bytes make no sense. Wireshark goes by
// the port.
func (l *lane) unreadCode(c *conversation) {
	p := l.pkt
	if !dns.OnPort(p.SrcPort(), p.DstPort()) {
		return
	}
	b := p.Data(l.raw)
	if k := l.sockets[c.socket]; c.socket != 0 && k.analyzer != nil && !l.watching.pressed && dns.Reads(k.spec.Name, len(b)) {
		return
	}
	if key, ok := dns.Code(b); ok {
		l.Count(proto.DNSRcode, key, 1)
	}
}

// cutCodes counts the answers in a segment that the snaplen has cut.
func (l *lane) cutCodes(payload []byte, m tcp.Marks) {
	p := l.pkt
	if !dns.OnStreamPort(p.SrcPort(), p.DstPort()) || stale(m) && !m.Has(tcp.SpuriousRetransmission) {
		return
	}
	dns.CodesOfCut(payload, func(key string) { l.Count(proto.DNSRcode, key, 1) })
}

// quotedCodes counts what the segment says that an ICMP error quotes: Linux quotes as
// much of it as fits 576 bytes (RFC 1812, 4.3.2.3).
func (l *lane) quotedCodes(payload []byte) {
	q := l.pkt.Quote()
	low, high := min(q.Key.PortA, q.Key.PortB), max(q.Key.PortA, q.Key.PortB)
	tell := func(c proto.Counter) func(string) {
		return func(key string) { l.Count(c, key, 1) }
	}
	switch {
	case q.Proto == flow.UDP:
		key, ok := dns.Code(payload)
		if ok && (dns.OnPort(low, high) || dns.Guessed(payload) && !assigned.DNS.Taken(low, high)) {
			l.Count(proto.DNSRcode, key, 1)
		}
	case q.Proto != flow.TCP:
	case dns.OnStreamPort(low, high):
		dns.CodesOfCut(payload, tell(proto.DNSRcode))
	default:
		if !assigned.HTTP.Taken(low, high) {
			http.Quoted(payload, tell(proto.HTTPStatus))
		}
		if !assigned.TLS.Taken(low, high) {
			tls.Quoted(payload, assigned.TLS.Owns(low, high), tell(proto.TLSAlert))
		}
	}
}
