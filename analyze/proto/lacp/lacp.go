// Package lacp reads the Link Aggregation Control Protocol (IEEE 802.1AX): links
// that do not join their group.
package lacp

import (
	"encoding/binary"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// NotAggregating is reported for a port that stays out of its group.
const NotAggregating finding.Code = "lacp.not-aggregating"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "lacp", Doc: "Link Aggregation Control Protocol, IEEE 802.1AX",
		Carrier: proto.Link, Numbers: []uint16{0x8809},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= pduLen && b[0] == 1 && b[1] == 1 && b[2] == 1 && b[3] == 20 {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{ports: map[[8]byte]*port{}} },
		Codes: []finding.Def{{
			Code: NotAggregating, Severity: finding.Info,
			Doc: "A port announced three times or more that it does not collect and distribute: its partner is missing, belongs to another group, or is set up differently (IEEE 802.1AX, 6.4).",
			Metrics: []finding.Metric{
				{Name: "system", Text: true, Doc: "who says so"},
				{Name: "port", Doc: "number of its port"},
				{Name: "partner", Text: true, Doc: "partner that it sees; 00:00:00:00:00:00: none"},
				{Name: "state", Text: true, Doc: "flags of the port"},
				{Name: "announcements", Merge: finding.Max, Doc: "in a row"},
			},
		}},
	}
}

const (
	pduLen             = 42
	sync, collect      = 0x08, 0x10
	distribute         = 0x20
	defaulted, expired = 0x40, 0x80
	maxPorts           = 1024
	patience           = 3 // an exchange settles in two announcements of each end
)

type port struct{ out int }

type analyzer struct{ ports map[[8]byte]*port }

// Data takes one LACPDU.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if s.Duplicate() || len(b) < pduLen {
		return len(b), nil
	}
	k := [8]byte(append(append(make([]byte, 0, 8), b[6:12]...), b[16], b[17]))
	p := a.ports[k]
	if p == nil {
		if len(a.ports) >= maxPorts {
			return len(b), nil
		}
		p = &port{}
		a.ports[k] = p
	}
	const up = sync | collect | distribute
	state := b[18]
	if state&up == up && state&(defaulted|expired) == 0 {
		p.out = 0
		return len(b), nil
	}
	if p.out++; p.out >= patience {
		s.Report(NotAggregating, finding.Text(proto.MACText([6]byte(b[6:12]))), finding.Num(binary.BigEndian.Uint16(b[16:])),
			finding.Text(proto.MACText([6]byte(b[26:32]))), finding.Text(flags(state)), finding.Num(p.out))
	}
	return len(b), nil
}

func flags(state byte) string {
	names := [...]string{"active", "short timeout", "aggregatable", "in sync", "collecting", "distributing", "defaulted", "expired"}
	var out []string
	for i, n := range names {
		if state>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
