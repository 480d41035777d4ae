// Package arp reads the Address Resolution Protocol (RFC 826, RFC 5227). It
// judges nothing: what questions, answers and claims amount to is seen by the
// correlator of neighbours, which reads IPv6's Neighbor Discovery too.
package arp

import (
	"encoding/binary"
	"net/netip"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Malformed is reported for lengths that cannot be.
const Malformed finding.Code = "arp.malformed"

const etherType = 0x0806

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "arp", Doc: "Address Resolution Protocol, RFC 826 and RFC 5227",
		Carrier: proto.Link, Numbers: []uint16{etherType},
		New: func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: Malformed, Severity: finding.Notice,
			Doc: "An ARP packet for Ethernet and IPv4 gives other lengths of the addresses than 6 and 4 bytes (RFC 826): what follows is read from where no address is.",
			Metrics: []finding.Metric{
				{Name: "mac", Text: true, Doc: "station that sent the frame"},
				{Name: "hardware_length", Doc: "length of hardware addresses that it gives"},
				{Name: "protocol_length", Doc: "length of protocol addresses that it gives"},
				{Name: "packets", Merge: finding.Sum, Doc: "such packets"},
			},
		}},
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
		odd(s, p, b)
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

// odd reports a packet for Ethernet and IPv4 whose address lengths are not theirs.
func odd(s *proto.Scope, p *decode.Packet, b []byte) {
	const (
		fixed    = 8 // bytes up to the addresses
		ethernet = 1
		typeIPv4 = 0x0800
	)
	if len(b) < fixed || binary.BigEndian.Uint16(b) != ethernet || binary.BigEndian.Uint16(b[2:]) != typeIPv4 || b[4] == 6 && b[5] == 4 {
		return
	}
	src, _, _ := p.MACs(s.Bytes())
	s.Report(Malformed, finding.Text(proto.MACText(src)), finding.Num(b[4]), finding.Num(b[5]), finding.Num(1))
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: there is no state.
func (analyzer) End(*proto.Scope, proto.End) {}
