// Package lldp reads the Link Layer Discovery Protocol (IEEE 802.1AB): which
// switch and port a link ends at.
package lldp

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Neighbour is reported for each station that announces itself.
const Neighbour finding.Code = "lldp.neighbor"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "lldp", Doc: "Link Layer Discovery Protocol, IEEE 802.1AB",
		Carrier: proto.Link, Numbers: []uint16{0x88cc},
		New: func() proto.Analyzer { return &analyzer{seen: map[string]bool{}} },
		Codes: []finding.Def{{
			Code: Neighbour, Severity: finding.Info,
			Doc: "A switch or host announced itself: this is where the link is plugged in.",
			Metrics: []finding.Metric{
				{Name: "system", Text: true, Doc: "its name, or its chassis id"},
				{Name: "port", Text: true, Doc: "its port"},
				{Name: "port_description", Text: true, Doc: "what the port is called"},
				{Name: "address", Text: true, Doc: "where it is managed"},
				{Name: "vlan", Merge: finding.Last, Doc: "untagged VLAN of the port; 0: not told"},
				{Name: "ttl_seconds", Merge: finding.Last, Doc: "how long this holds; 0: it leaves"},
			},
		}},
	}
}

// Types of TLVs.
const (
	tlvEnd, tlvChassis, tlvPort, tlvTTL           = 0, 1, 2, 3
	tlvPortDesc, tlvSystem, tlvManagement, tlvOrg = 4, 5, 8, 127
	maxSeen                                       = 1024
)

type analyzer struct{ seen map[string]bool }

// Data takes one frame.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	n := len(b)
	var system, chassis, port, desc, addr string
	vlan, ttl := 0, 0
	for len(b) >= 2 {
		head := binary.BigEndian.Uint16(b)
		size := int(head & 0x1ff)
		if len(b) < 2+size {
			s.Malformed("LLDP field runs past the end")
			break
		}
		v := b[2 : 2+size]
		b = b[2+size:]
		switch head >> 9 {
		case tlvEnd:
			b = nil
		case tlvChassis:
			chassis = id(v, 4)
		case tlvPort:
			port = id(v, 3)
		case tlvTTL:
			if size == 2 {
				ttl = int(binary.BigEndian.Uint16(v))
			}
		case tlvPortDesc:
			desc = ask.Clip(v)
		case tlvSystem:
			system = ask.Clip(v)
		case tlvManagement:
			if size >= 6 && v[0] == 5 && v[1] == 1 {
				addr = netip.AddrFrom4([4]byte(v[2:6])).String()
			}
		case tlvOrg: // 802.1: port VLAN id
			if size >= 6 && [4]byte(v) == [4]byte{0x00, 0x80, 0xc2, 1} {
				vlan = int(binary.BigEndian.Uint16(v[4:]))
			}
		}
	}
	if system == "" {
		system = chassis
	}
	k := chassis + "|" + port
	if port == "" || a.seen[k] || len(a.seen) >= maxSeen {
		return n, nil
	}
	a.seen[k] = true
	s.Report(Neighbour, finding.Text(system), finding.Text(port), finding.Text(desc), finding.Text(addr), finding.Num(vlan), finding.Num(ttl))
	return n, nil
}

// id writes a chassis or port id: a hardware address, or a text.
func id(v []byte, mac byte) string {
	if len(v) < 2 {
		return ""
	}
	if v[0] == mac && len(v) == 7 {
		return proto.MACText([6]byte(v[1:]))
	}
	for _, c := range v[1:] {
		if c < ' ' {
			return hex.EncodeToString(v[1:min(len(v), 33)])
		}
	}
	return strings.TrimSpace(ask.Clip(v[1:]))
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
