// Package dhcp reads the Dynamic Host Configuration Protocol (RFC 2131, RFC
// 2132). It judges little: a client's broadcasts and the answers to them are
// different conversations, so that what they amount to is seen by the correlator
// of leases, which reads DHCPv6 too.
package dhcp

import (
	"encoding/binary"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Decline is reported for an address that the client found to be in use.
const Decline finding.Code = "dhcp.decline"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "dhcp", Doc: "Dynamic Host Configuration Protocol, RFC 2131",
		Carrier: proto.UDP, Ports: []uint16{67, 68},
		Probe: probe,
		New:   func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: Decline, Severity: finding.Notice,
			Doc: "A client refused the address that it was given, because another host uses it (RFC 2131, 3.1, step 5).",
			Metrics: []finding.Metric{
				{Name: "address", Text: true, Doc: "the address in use"},
				{Name: "server", Text: true, Doc: "the server that gave it"},
				{Name: "client_mac", Text: true, Doc: "of the client"},
			},
		}},
	}
}

// Lengths and places in a message (RFC 2131, 2).
const (
	headLen  = 236
	cookieAt = headLen
	cookie   = 0x63825363 // RFC 2132, 2
	bootReq  = 1
	bootResp = 2
	// The BOOTP file and server name fields may hold options too (option 52);
	// servers that need them are rare, and nothing that is read here is there.
)

// Cut declares the same for messages at the port that were cut at capture, or lack
// the cookie (BOOTP, RFC 951). Codes are declared by Spec.
func Cut() proto.Spec {
	s := Spec()
	s.Codes, s.Weak = nil, true
	s.Probe = func(_ flow.Dir, b []byte) proto.Verdict {
		const addressesEnd = 44
		if len(b) < addressesEnd || b[0] != bootReq && b[0] != bootResp || b[2] > 16 || b[3] > 16 {
			return proto.No
		}
		return proto.Likely
	}
	return s
}

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen+4 || b[0] != bootReq && b[0] != bootResp || b[2] > 16 {
		return proto.No
	}
	if binary.BigEndian.Uint32(b[cookieAt:]) != cookie {
		return proto.No
	}
	return proto.Certain
}

// Options that are read (RFC 2132).
const (
	optPad       = 0
	optRouter    = 3
	optDNS       = 6
	optRequested = 50
	optLease     = 51
	optType      = 53
	optServer    = 54
	optMessage   = 56
	optEnd       = 255
)

// types are the names of message types (RFC 2132, 9.6).
var types = [...]proto.LeaseOp{ //nolint:gochecknoglobals // constant table
	1: proto.LeaseDiscover, 2: proto.LeaseOffer, 3: proto.LeaseRequest, 4: proto.LeaseDecline,
	5: proto.LeaseAck, 6: proto.LeaseNak, 7: proto.LeaseRelease, 8: proto.LeaseInform,
}

type analyzer struct{}

// Data publishes what one message says.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if s.Duplicate() {
		return len(b), nil
	}
	if probe(0, b) != proto.Certain {
		if p := s.Packet(); p == nil || int(p.PayloadLen) <= len(b) { // else it was cut at capture
			s.Malformed("not a complete DHCP message")
		}
		return len(b), nil
	}
	l := proto.Lease{
		XID: uint64(binary.BigEndian.Uint32(b[4:])), Address: addr(b[16:20]), From: addrPort(s, true), To: addrPort(s, false),
	}
	copy(l.Client[:], b[28:34])
	if p := s.Packet(); p != nil {
		l.SrcMAC, _, _ = p.MACs(s.Bytes())
		l.VLAN = p.VLAN
	}
	if relay := addr(b[24:28]); relay.IsValid() {
		l.Relay = relay
	}
	ciaddr := addr(b[12:16])
	if !options(b[cookieAt+4:], &l) {
		s.Malformed("DHCP option runs past the end")
	}
	if !l.Address.IsValid() {
		l.Address = ciaddr
	}
	if l.Op == proto.LeaseNone {
		return len(b), nil // BOOTP
	}
	l.Renews = l.Op == proto.LeaseRequest && ciaddr.IsValid()
	if l.Op == proto.LeaseDecline {
		s.Report(Decline, finding.Text(text(l.Address)), finding.Text(text(l.Server)), finding.Text(proto.MACText(l.Client)))
	}
	if l.Name != "" {
		s.Attr("dhcp.message", l.Name)
	}
	s.Publish(&l)
	return len(b), nil
}

// options reads the list; false: one runs past the end.
func options(b []byte, l *proto.Lease) bool {
	for len(b) > 0 && b[0] != optEnd {
		if b[0] == optPad {
			b = b[1:]
			continue
		}
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return false
		}
		v := b[2 : 2+int(b[1])]
		switch b[0] {
		case optType:
			if len(v) == 1 && int(v[0]) < len(types) {
				l.Op = types[v[0]]
			}
		case optServer:
			l.Server = addr(v)
		case optRequested:
			if a := addr(v); a.IsValid() {
				l.Address = a
			}
		case optRouter:
			l.Router = addr(v)
		case optDNS:
			for ; len(v) >= 4 && len(l.DNS) < 4; v = v[4:] {
				l.DNS = append(l.DNS, addr(v[:4]))
			}
		case optLease:
			if len(v) == 4 {
				l.Seconds = binary.BigEndian.Uint32(v)
			}
		case optMessage:
			l.Name = ask.Clip(v)
		}
		b = b[2+int(b[1]):]
	}
	return true
}

// addr reads an IPv4 address; 0.0.0.0 and a wrong length are none.
func addr(b []byte) netip.Addr {
	if len(b) < 4 {
		return netip.Addr{}
	}
	a := netip.AddrFrom4([4]byte(b[:4]))
	if a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func addrPort(s *proto.Scope, from bool) netip.AddrPort {
	p := s.Packet()
	if p == nil {
		if from {
			return s.Client()
		}
		return s.Server()
	}
	if from {
		return netip.AddrPortFrom(flow.Addr(p.Src()), p.SrcPort())
	}
	return netip.AddrPortFrom(flow.Addr(p.Dst()), p.DstPort())
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: there is no state.
func (analyzer) End(*proto.Scope, proto.End) {}
