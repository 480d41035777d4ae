// Package eigrp reads the Enhanced Interior Gateway Routing Protocol (RFC 7868):
// goodbyes and metric weights that differ.
package eigrp

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	Goodbye  finding.Code = "eigrp.goodbye"
	Mismatch finding.Code = "eigrp.k-mismatch"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	router := finding.Metric{Name: "router", Text: true, Doc: "who said so"}
	as := finding.Metric{Name: "as", Doc: "autonomous system"}
	return proto.Spec{
		Name: "eigrp", Doc: "Enhanced Interior Gateway Routing Protocol, RFC 7868",
		Carrier: proto.IP, Numbers: []uint16{88},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= headLen && b[0] == 2 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{weights: map[uint16]weight{}} },
		Codes: []finding.Def{
			{
				Code: Goodbye, Severity: finding.Notice,
				Doc:     "A router told its neighbours that it leaves: a hello with all metric weights 255 (RFC 7868, 5.3.1). They drop its routes at once. The finding's host is the router.",
				Metrics: []finding.Metric{router, as, {Name: "times", Merge: finding.Sum, Doc: "goodbyes"}},
			},
			{
				Code: Mismatch, Severity: finding.Warning,
				Doc: "Two routers of one autonomous system have different metric weights: they do not become neighbours (RFC 7868, 5.3.2).",
				Metrics: []finding.Metric{
					router, as,
					{Name: "weights", Text: true, Doc: "its K1 to K6"},
					{Name: "other", Text: true, Doc: "another router"},
					{Name: "other_weights", Text: true, Doc: "the other's"},
				},
			},
		},
	}
}

const (
	headLen       = 20
	hello         = 5
	tlvParameters = 1
	tlvTerminate  = 7
	maxSystems    = 256
)

type weight struct {
	k    [6]byte
	from netip.Addr
}

type analyzer struct{ weights map[uint16]weight }

// Data takes one packet.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if b[1] != hello || s.Duplicate() || s.Packet() == nil {
		return len(b), nil
	}
	from := flow.Addr(s.Packet().Src())
	as := binary.BigEndian.Uint16(b[18:])
	for t := b[headLen:]; len(t) >= 4; {
		n := int(binary.BigEndian.Uint16(t[2:]))
		if n < 4 || n > len(t) {
			break
		}
		switch binary.BigEndian.Uint16(t) {
		case tlvParameters:
			if n >= 12 {
				a.parameters(s, from, as, [6]byte(t[4:10]))
			}
		case tlvTerminate:
			s.ReportHost(from, Goodbye, finding.Text(from.String()), finding.Num(as), finding.Num(1))
		}
		t = t[n:]
	}
	return len(b), nil
}

func (a *analyzer) parameters(s *proto.Scope, from netip.Addr, as uint16, k [6]byte) {
	if [5]byte(k[:5]) == [5]byte{255, 255, 255, 255, 255} {
		s.ReportHost(from, Goodbye, finding.Text(from.String()), finding.Num(as), finding.Num(1))
		return
	}
	w, known := a.weights[as]
	switch {
	case !known:
		if len(a.weights) < maxSystems {
			a.weights[as] = weight{k, from}
		}
	case w.from == from:
		a.weights[as] = weight{k, from}
	case w.k != k:
		s.ReportHost(from, Mismatch, finding.Text(from.String()), finding.Num(as), finding.Text(fmt.Sprint(k)),
			finding.Text(w.from.String()), finding.Text(fmt.Sprint(w.k)))
	}
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
