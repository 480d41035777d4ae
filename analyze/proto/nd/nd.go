// Package nd reads the neighbor messages of IPv6 Neighbor Discovery (RFC 4861,
// 4.3 to 4.5). What they amount to is seen by the correlator of neighbours,
// which reads ARP too.
package nd

import (
	"net/netip"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

const (
	icmpv6        = 58
	solicitation  = 135
	advertisement = 136
	redirect      = 137
	hopLimit      = 255 // RFC 4861, 7.1: anything less came through a router and is forged
	headerLen     = 24  // type, code, checksum, flags, target
	redirectLen   = 40  // and the destination
	flagSolicited = 0x40
	optTargetMAC  = 2
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "icmpv6", Doc: "IPv6 Neighbor Discovery, RFC 4861: neighbor solicitation and advertisement, redirect",
		Carrier: proto.ICMP, Numbers: []uint16{icmpv6},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) > 0 && (b[0] == solicitation || b[0] == advertisement || b[0] == redirect) {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return analyzer{} },
	}
}

type analyzer struct{}

// Data publishes what one message says.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if len(b) < headerLen || p.TTL != hopLimit {
		s.Malformed("neighbor message that is short or came through a router")
		return len(b), nil
	}
	if b[0] == redirect {
		if len(b) >= redirectLen && !s.Duplicate() {
			s.Publish(&proto.Redirected{From: flow.Addr(p.Src()), To: flow.Addr(p.Dst()), For: netip.AddrFrom16([16]byte(b[headerLen:]))})
		}
		return len(b), nil
	}
	n := proto.Neighbour{IP: netip.AddrFrom16([16]byte(b[8:])), VLAN: p.VLAN, Copy: s.Duplicate()}
	if p.Tunnel != decode.TunnelPPPoE { // no hardware addresses are resolved over PPP (RFC 5072)
		n.By, n.To, _ = p.MACs(s.Bytes())
	}
	if from := flow.Addr(p.Src()); !from.IsUnspecified() {
		n.From = from
	}
	if b[0] == solicitation {
		n.Op = proto.Asks
		if !n.From.IsValid() {
			n.Op = proto.Probes
		}
		if n.Op == proto.Probes && n.By == (decode.MAC{}) {
			return len(b), nil // who asks cannot be told from who has the address
		}
		s.Publish(&n)
		return len(b), nil
	}
	n.Op, n.MAC = proto.Announces, n.By
	if b[4]&flagSolicited != 0 || !flow.Addr(p.Dst()).IsMulticast() {
		n.Op = proto.Answers
	}
	if mac, ok := linkAddress(b[headerLen:], optTargetMAC); ok {
		n.MAC = mac
	}
	s.Publish(&n)
	return len(b), nil
}

// linkAddress finds a link-layer address option (RFC 4861, 4.6.1).
func linkAddress(b []byte, kind byte) (mac [6]byte, ok bool) {
	for len(b) >= 8 {
		n := int(b[1]) * 8
		if n == 0 || n > len(b) {
			return mac, false
		}
		if b[0] == kind {
			return [6]byte(b[2:]), true
		}
		b = b[n:]
	}
	return mac, false
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: there is no state.
func (analyzer) End(*proto.Scope, proto.End) {}
