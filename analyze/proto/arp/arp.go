// Package arp reads the Address Resolution Protocol (RFC 826, RFC 5227). It
// judges nothing: what questions, answers and claims amount to is seen by the
// correlator of neighbours, which reads IPv6's Neighbor Discovery too.
package arp

import (
	"net/netip"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

const etherType = 0x0806

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "arp", Doc: "Address Resolution Protocol, RFC 826 and RFC 5227",
		Carrier: proto.Link, Numbers: []uint16{etherType},
		New: func() proto.Analyzer { return analyzer{} },
	}
}

type analyzer struct{}

const (
	request = 1
	reply   = 2
)

// Data publishes what one ARP packet says.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	m, ok := decode.ARPFields(s.Bytes(), p)
	if !ok {
		s.Malformed("not a complete ARP packet for IPv4")
		return len(b), nil
	}
	n := proto.Neighbour{By: m.SenderMAC, VLAN: p.VLAN, Copy: s.Duplicate()}
	_, n.To, _ = p.MACs(s.Bytes())
	sender, target := netip.AddrFrom4(m.SenderIP), netip.AddrFrom4(m.TargetIP)
	if !sender.IsUnspecified() {
		n.From = sender
	}
	switch {
	case sender == target: // gratuitous, as request or as reply
		n.Op, n.IP, n.MAC = proto.Announces, sender, m.SenderMAC
	case m.Op == request && sender.IsUnspecified():
		n.Op, n.IP = proto.Probes, target
	case m.Op == request:
		n.Op, n.IP = proto.Asks, target
	case m.Op == reply:
		n.Op, n.IP, n.MAC = proto.Answers, sender, m.SenderMAC
	default:
		return len(b), nil // RARP and InARP say nothing of neighbours
	}
	s.Publish(&n)
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: there is no state.
func (analyzer) End(*proto.Scope, proto.End) {}
