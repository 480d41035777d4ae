// Package dhcpv6 reads DHCP for IPv6 (RFC 8415). What messages amount to is seen
// by the correlator of leases.
package dhcpv6

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Status is reported for an answer that says no.
const Status finding.Code = "dhcpv6.status"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "dhcpv6", Doc: "Dynamic Host Configuration Protocol for IPv6, RFC 8415",
		Carrier: proto.UDP, Ports: []uint16{546, 547}, Weak: true,
		Probe: probe,
		New:   func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: Status, Severity: finding.Notice,
			Doc: "A DHCPv6 server answered with a status other than success (RFC 8415, 21.13), such as NoAddrsAvail.",
			Metrics: []finding.Metric{
				{Name: "status", Text: true, Doc: "name of the status"},
				{Name: "message", Text: true, Doc: "text of the server"},
			},
		}},
	}
}

// Messages (RFC 8415, 7.3) and options (21).
const (
	solicit, advertise, request, confirm, renew = 1, 2, 3, 4, 5
	rebind, reply, release, decline             = 6, 7, 8, 9
	inform, relayForw, relayRepl                = 11, 12, 13
	lastType                                    = 36

	optClientID, optServerID, optIANA, optIAAddr = 1, 2, 3, 5
	optRelayMsg, optStatus, optDNS, optIAPD      = 9, 13, 23, 25
	maxDepth                                     = 8
	maxOptions                                   = 256
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 4 || b[0] == 0 || b[0] > lastType {
		return proto.No
	}
	at := 4
	if b[0] == relayForw || b[0] == relayRepl {
		at = 34
	}
	if len(b) < at+4 {
		return proto.No
	}
	for n := 0; at+4 <= len(b) && n < maxOptions; n++ {
		at += 4 + int(binary.BigEndian.Uint16(b[at+2:]))
	}
	if at != len(b) {
		return proto.Likely // cut, or junk
	}
	return proto.Certain
}

// op maps message types; the others say nothing of leases.
func op(t byte) proto.LeaseOp {
	switch t {
	case solicit:
		return proto.LeaseDiscover
	case advertise:
		return proto.LeaseOffer
	case request, renew, rebind, confirm:
		return proto.LeaseRequest
	case reply:
		return proto.LeaseAck
	case release:
		return proto.LeaseRelease
	case decline:
		return proto.LeaseDecline
	case inform:
		return proto.LeaseInform
	}
	return proto.LeaseNone
}

type analyzer struct{}

// Data publishes what one message says.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if s.Duplicate() {
		return len(b), nil
	}
	n := len(b)
	l := proto.Lease{V6: true, From: s.Client(), To: s.Server()}
	if p := s.Packet(); p != nil {
		l.From = netip.AddrPortFrom(flow.Addr(p.Src()), p.SrcPort())
		l.To = netip.AddrPortFrom(flow.Addr(p.Dst()), p.DstPort())
		l.SrcMAC, _, _ = p.MACs(s.Bytes())
		l.VLAN = p.VLAN
	}
	for depth := 0; len(b) >= 34 && (b[0] == relayForw || b[0] == relayRepl); depth++ {
		l.Relay = l.From.Addr()
		inner := find(b[34:], optRelayMsg)
		if inner == nil || depth == maxDepth {
			return n, nil
		}
		b = inner
	}
	if len(b) < 4 {
		s.Malformed("DHCPv6 message shorter than its head")
		return n, nil
	}
	l.Op = op(b[0])
	l.Renews = b[0] == renew || b[0] == rebind || b[0] == confirm
	l.XID = uint64(binary.BigEndian.Uint32(b) & 0xffffff)
	status, message := uint16(0), ""
	o := options{l: &l, status: &status, message: &message}
	if !o.read(b[4:], 0) {
		s.Malformed("DHCPv6 option runs past the end")
	}
	if l.Op == proto.LeaseNone {
		return n, nil
	}
	if status != 0 && (b[0] == reply || b[0] == advertise) {
		l.Op, l.Name = proto.LeaseNak, statusName(status)
		s.Report(Status, finding.Text(l.Name), finding.Text(message))
	}
	s.Publish(&l)
	return n, nil
}

func find(b []byte, code uint16) []byte {
	for n := 0; len(b) >= 4 && n < maxOptions; n++ {
		l := int(binary.BigEndian.Uint16(b[2:]))
		if len(b) < 4+l {
			return nil
		}
		if binary.BigEndian.Uint16(b) == code {
			return b[4 : 4+l]
		}
		b = b[4+l:]
	}
	return nil
}

type options struct {
	l       *proto.Lease
	status  *uint16
	message *string
}

func (o *options) read(b []byte, depth int) bool {
	for n := 0; len(b) >= 4 && n < maxOptions; n++ {
		size := int(binary.BigEndian.Uint16(b[2:]))
		if len(b) < 4+size {
			return false
		}
		o.one(binary.BigEndian.Uint16(b), b[4:4+size], depth)
		b = b[4+size:]
	}
	return len(b) == 0
}

func (o *options) one(code uint16, v []byte, depth int) {
	switch code {
	case optClientID:
		const enough = 64
		o.l.ID = hex.EncodeToString(v[:min(len(v), enough)])
		if len(v) >= 6 { // DUID-LL and -LLT end in it (RFC 8415, 11)
			copy(o.l.Client[:], v[len(v)-6:])
		}
	case optServerID:
		o.l.Server = o.l.From.Addr()
	case optIANA, optIAPD:
		if depth == 0 && len(v) >= 12 {
			o.read(v[12:], depth+1)
		}
	case optIAAddr:
		if len(v) >= 24 {
			o.l.Address = netip.AddrFrom16([16]byte(v[:16]))
			o.l.Seconds = binary.BigEndian.Uint32(v[20:])
			if depth == 1 {
				o.read(v[24:], depth+1)
			}
		}
	case optStatus:
		if len(v) >= 2 && *o.status == 0 {
			*o.status = binary.BigEndian.Uint16(v)
			const enough = 128
			*o.message = string(v[2:min(len(v), enough)])
		}
	case optDNS:
		for ; len(v) >= 16 && len(o.l.DNS) < 4; v = v[16:] {
			o.l.DNS = append(o.l.DNS, netip.AddrFrom16([16]byte(v[:16])))
		}
	}
}

func statusName(code uint16) string {
	names := [...]string{"Success", "UnspecFail", "NoAddrsAvail", "NoBinding", "NotOnLink", "UseMulticast", "NoPrefixAvail"}
	if int(code) < len(names) {
		return names[code]
	}
	return "other"
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: there is no state.
func (analyzer) End(*proto.Scope, proto.End) {}
