// Package stp reads the spanning tree protocols (IEEE 802.1D, 802.1w, 802.1s, and
// Cisco's PVST+): topology changes, and roots that change.
package stp

import (
	"encoding/binary"
	"fmt"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	TopologyChange finding.Code = "stp.topology-change"
	RootChange     finding.Code = "stp.root-change"
	TwoRoots       finding.Code = "stp.several-roots"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	bridge := finding.Metric{Name: "bridge", Text: true, Doc: "who says so"}
	return proto.Spec{
		Name: "stp", Doc: "Spanning tree protocols, IEEE 802.1D and 802.1Q",
		Carrier: proto.Link, Numbers: []uint16{0},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) >= 4 && b[0] == 0 && b[1] == 0 && (b[3] == config || b[3] == rapid || b[3] == notification) {
				return proto.Likely
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{trees: map[tree]*root{}} },
		Codes: []finding.Def{
			{
				Code: TopologyChange, Severity: finding.Info,
				Doc: "A bridge announced a change of the topology (IEEE 802.1D, 17.10): a port came up or went down, and all bridges forget addresses. One is a link that was plugged; many are a link that flaps.",
				Metrics: []finding.Metric{
					bridge,
					{Name: "root", Text: true, Doc: "root bridge"},
					{Name: "port", Text: true, Doc: "port that sent the announcement"},
					{Name: "changes", Merge: finding.Sum, Doc: "changes: announcements after others without"},
					{Name: "port_moved", Merge: finding.Max, Doc: "1 when the port itself changed its state in the capture"},
				},
			},
			{
				Code: RootChange, Severity: finding.Notice,
				Doc: "The bridges of a link have a new root (IEEE 802.1D, 17.6): the old one vanished, or one with a better priority was plugged in.",
				Metrics: []finding.Metric{
					bridge,
					{Name: "from", Text: true, Doc: "root before"},
					{Name: "to", Text: true, Doc: "root now"},
					{Name: "better", Merge: finding.Last, Doc: "1 when the new root has the better identifier: it took over; 0: the old one is gone"},
					{Name: "changes", Merge: finding.Sum, Doc: "changes"},
				},
			},
			{
				Code: TwoRoots, Severity: finding.Notice,
				Doc: "Two bridges on one link go on to announce themselves as root: they do not hear each other.",
				Metrics: []finding.Metric{
					{Name: "root", Text: true, Doc: "one"},
					{Name: "other", Text: true, Doc: "the other"},
					{Name: "changes", Merge: finding.Max, Doc: "times that the speaker changed"},
				},
			},
		},
	}
}

const (
	config, rapid, notification = 0x00, 0x02, 0x80
	flagChange                  = 0x01
	bodyLen                     = 35
	maxTrees                    = 1024
	manyRoots                   = 6
)

// tree is one spanning tree on one link.
type tree struct {
	vlan  uint16
	v     uint16 // system id extension of the root: the VLAN of PVST+
	rapid bool
}

type root struct {
	id      [8]byte
	changes int
	ports   map[[10]byte]port
}

type port struct {
	changing bool
	flags    byte
	moved    bool
}

type analyzer struct{ trees map[tree]*root }

// Data takes one BPDU.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	p := s.Packet()
	if s.Duplicate() || p == nil || !p.Protos.Has(decode.STP) {
		return len(b), nil
	}
	if b[3] == notification {
		src, _, _ := p.MACs(s.Bytes())
		s.Report(TopologyChange, finding.Text(proto.MACText(src)), finding.Text(""), finding.Text(""), finding.Num(1), finding.Num(0))
		return len(b), nil
	}
	if len(b) < bodyLen {
		s.Malformed("BPDU shorter than its fields")
		return len(b), nil
	}
	id, by := [8]byte(b[5:13]), [8]byte(b[17:25])
	k := tree{p.VLAN, binary.BigEndian.Uint16(b[5:]) & 0xfff, b[3] == rapid}
	r := a.trees[k]
	if r == nil {
		if len(a.trees) >= maxTrees {
			return len(b), nil
		}
		r = &root{id: id, ports: map[[10]byte]port{}}
		a.trees[k] = r
	}
	a.rooted(s, r, id, by)
	a.changed(s, r, b)
	return len(b), nil
}

func (*analyzer) rooted(s *proto.Scope, r *root, id, by [8]byte) {
	if id == r.id {
		return
	}
	better := 0
	if binary.BigEndian.Uint64(id[:]) < binary.BigEndian.Uint64(r.id[:]) {
		better = 1
	}
	r.changes++
	if r.changes < manyRoots {
		s.Report(RootChange, finding.Text(bridge(by)), finding.Text(bridge(r.id)), finding.Text(bridge(id)), finding.Num(better), finding.Num(1))
	} else {
		lo, hi := bridge(r.id), bridge(id)
		if hi < lo {
			lo, hi = hi, lo
		}
		s.Report(TwoRoots, finding.Text(lo), finding.Text(hi), finding.Num(r.changes))
	}
	r.id = id
}

func (*analyzer) changed(s *proto.Scope, r *root, b []byte) {
	k := [10]byte(b[17:27])
	p, known := r.ports[k]
	if !known && len(r.ports) >= maxTrees {
		return
	}
	const role = 0x7c // role, learning, forwarding, agreement
	changing := b[4]&flagChange != 0
	if known && (p.flags^b[4])&role&^0x40 != 0 {
		p.moved = true
	}
	if changing && !p.changing {
		moved := 0
		if p.moved {
			moved = 1
		}
		s.Report(TopologyChange, finding.Text(bridge([8]byte(b[17:25]))), finding.Text(bridge([8]byte(b[5:13]))),
			finding.Text(fmt.Sprintf("0x%02x%02x", b[25], b[26])), finding.Num(1), finding.Num(moved))
	}
	p.changing, p.flags = changing, b[4]
	r.ports[k] = p
}

// bridge writes priority and address, as switches do.
func bridge(id [8]byte) string {
	return fmt.Sprintf("%d/%s", binary.BigEndian.Uint16(id[:]), proto.MACText([6]byte(id[2:])))
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
