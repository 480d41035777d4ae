package analyze

import (
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/tcp"
)

// unreadCode counts the answer in a datagram that no analyzer of DNS reads: one that
// was cut before its header ends, or whose bytes make no sense. Wireshark goes by
// the port.
func (l *lane) unreadCode(c *conversation) {
	p := l.pkt
	if !dns.OnPort(p.SrcPort, p.DstPort) {
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
	if int(p.PayloadLen) <= len(payload) || !dns.OnStreamPort(p.SrcPort, p.DstPort) || stale(m) && !m.Has(tcp.SpuriousRetransmission) {
		return
	}
	dns.CodesOfCut(payload, func(key string) { l.Count(proto.DNSRcode, key, 1) })
}
