// Package cdp reads Cisco's Discovery Protocol (as documented by the vendor):
// which device and port a link ends at, and two ends of a link that disagree.
package cdp

import (
	"encoding/binary"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	Neighbour finding.Code = "cdp.neighbor"
	Duplex    finding.Code = "cdp.duplex-mismatch"
	VLAN      finding.Code = "cdp.native-vlan-mismatch"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	device := finding.Metric{Name: "device", Text: true, Doc: "name of the one"}
	port := finding.Metric{Name: "port", Text: true, Doc: "its port"}
	other := finding.Metric{Name: "other", Text: true, Doc: "name of the other"}
	otherPort := finding.Metric{Name: "other_port", Text: true, Doc: "its port"}
	return proto.Spec{
		Name: "cdp", Doc: "Cisco Discovery Protocol",
		Carrier: proto.Link, Numbers: []uint16{0},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= 8 && (b[0] == 1 || b[0] == 2) {
				return proto.Likely
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{seen: map[string]station{}} },
		Codes: []finding.Def{
			{
				Code: Neighbour, Severity: finding.Info,
				Doc:     "A device announced itself: this is where the link is plugged in.",
				Metrics: []finding.Metric{device, port, {Name: "platform", Text: true, Doc: "what it is"}, {Name: "native_vlan", Doc: "untagged VLAN; 0: not told"}},
			},
			{
				Code: Duplex, Severity: finding.Warning,
				Doc:     "The two ends of a link work with different duplex: under load frames collide and are lost.",
				Metrics: []finding.Metric{device, port, other, otherPort},
			},
			{
				Code: VLAN, Severity: finding.Notice,
				Doc: "The two ends of a trunk have different native VLANs: untagged frames change the VLAN.",
				Metrics: []finding.Metric{
					device, port, other, otherPort,
					{Name: "vlan", Doc: "of the one"},
					{Name: "other_vlan", Doc: "of the other"},
				},
			},
		},
	}
}

const (
	tlvDevice, tlvPort, tlvPlatform = 1, 3, 6
	tlvVLAN, tlvDuplex              = 10, 11
	maxSeen                         = 64
)

type station struct {
	name, port, platform string
	vlan                 uint16
	duplex               byte // 0: not told, 1: half, 2: full
}

type analyzer struct{ seen map[string]station }

// Data takes one announcement.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if p == nil || !p.Protos.Has(decode.CDP) {
		return len(b), nil
	}
	var d station
	for t := b[4:]; len(t) >= 4; {
		n := int(binary.BigEndian.Uint16(t[2:]))
		if n < 4 || n > len(t) {
			break
		}
		v := t[4:n]
		switch binary.BigEndian.Uint16(t) {
		case tlvDevice:
			d.name = ask.Clip(v)
		case tlvPort:
			d.port = ask.Clip(v)
		case tlvPlatform:
			d.platform = ask.Clip(v)
		case tlvVLAN:
			if len(v) >= 2 {
				d.vlan = binary.BigEndian.Uint16(v)
			}
		case tlvDuplex:
			if len(v) >= 1 {
				d.duplex = 1 + v[0]&1
			}
		}
		t = t[n:]
	}
	k := d.name + "|" + d.port
	if _, known := a.seen[k]; known || d.name == "" || len(a.seen) >= maxSeen {
		return len(b), nil
	}
	s.Report(Neighbour, finding.Text(d.name), finding.Text(d.port), finding.Text(d.platform), finding.Num(d.vlan))
	if len(a.seen) == 1 { // exactly two speak: the ends of one link
		for _, o := range a.seen {
			ends := []finding.Value{finding.Text(o.name), finding.Text(o.port), finding.Text(d.name), finding.Text(d.port)}
			if o.duplex != 0 && d.duplex != 0 && o.duplex != d.duplex {
				s.Report(Duplex, ends...)
			}
			if o.vlan != 0 && d.vlan != 0 && o.vlan != d.vlan {
				s.Report(VLAN, append(ends, finding.Num(o.vlan), finding.Num(d.vlan))...)
			}
		}
	}
	a.seen[k] = d
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
