package analyze

import (
	"slices"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/ledger"
	"netwhy/analyze/proto"
)

// specs is the registry as a lane uses it: who to ask about a port or a number,
// in which order, and how each code is declared.
type specs struct {
	all    []proto.Spec
	defs   map[finding.Code]*finding.Def
	names  *names
	byPort map[uint16][]int // those that know the port, in registry order
	rest   map[proto.Transport][]int
	number map[numbered][]int
	over   map[string]*proto.Spec // SCTP: who takes messages, by name
	orders map[asking][]int       // made so far by order; each lane has its own
}

// own is what one lane uses.
func (s *specs) own() *specs {
	c := *s
	c.orders = map[asking][]int{}
	return &c
}

// asking is what the order of probing goes by. Ports that no spec knows are 0.
type asking struct {
	carrier proto.Transport
	a, b    uint16
}

// maxOrders bounds those that are kept: some ports are known, and few pairs of them
// talk to each other.
const maxOrders = 1 << 10

type numbered struct {
	carrier proto.Transport
	number  uint16
}

// names numbers the protocols that can be counted.
type names struct {
	index map[string]int
	list  []string
}

func newNames(all []proto.Spec) *names {
	n := &names{index: make(map[string]int, 1<<10)}
	add := func(name string) {
		if _, ok := n.index[name]; !ok {
			n.index[name] = len(n.list)
			n.list = append(n.list, name)
		}
	}
	for p := range decode.Protos {
		add(p.String())
	}
	for i := range all {
		add(all[i].Name)
		for _, name := range all[i].Also {
			add(name)
		}
	}
	addUnclaimed(add)
	return n
}

// of is the number of an analyzer's name; 0 if the analyzer itself counts what its
// frames carry.
func (n *names) of(spec *proto.Spec) uint16 {
	if spec.Counts {
		return 0
	}
	return uint16(n.index[spec.Name])
}

func newSpecs(all []proto.Spec) *specs {
	s := &specs{
		all: all, defs: map[finding.Code]*finding.Def{}, names: newNames(all),
		byPort: map[uint16][]int{}, rest: map[proto.Transport][]int{}, number: map[numbered][]int{},
		over: map[string]*proto.Spec{},
	}
	for i := range all {
		spec := &all[i]
		for j := range spec.Codes {
			s.defs[spec.Codes[j].Code] = &spec.Codes[j]
		}
		for _, p := range spec.Ports {
			s.byPort[p] = append(s.byPort[p], i)
		}
		if spec.Message != nil {
			s.over[spec.Name] = spec
		}
		for _, t := range []proto.Transport{proto.TCP, proto.UDP} {
			if spec.Carrier&t != 0 && spec.Probe != nil && !spec.Weak {
				s.rest[t] = append(s.rest[t], i)
			}
		}
		for _, t := range []proto.Transport{proto.ICMP, proto.IP, proto.Link} {
			if spec.Carrier&t != 0 {
				for _, n := range spec.Numbers {
					s.number[numbered{t, n}] = append(s.number[numbered{t, n}], i)
				}
			}
		}
	}
	return s
}

// place is that of a spec in all, plus 1; 0: it has none that fits a byte.
func (s *specs) place(spec *proto.Spec) uint8 {
	for i := range min(len(s.all), 255) {
		if &s.all[i] == spec {
			return uint8(i + 1)
		}
	}
	return 0
}

// order yields the specs to probe: those that know a port first.
func (s *specs) order(carrier proto.Transport, a, b uint16) []int {
	if len(s.byPort[a]) == 0 {
		a = 0
	}
	if len(s.byPort[b]) == 0 {
		b = 0
	}
	if a == 0 && b == 0 {
		return s.rest[carrier]
	}
	k := asking{carrier, a, b}
	list, ok := s.orders[k]
	if !ok {
		list = s.inOrder(carrier, a, b)
		if len(s.orders) < maxOrders {
			s.orders[k] = list
		}
	}
	return list
}

func (s *specs) inOrder(carrier proto.Transport, a, b uint16) (asked []int) {
	for _, port := range [2]uint16{a, b} {
		for _, i := range s.byPort[port] {
			if s.all[i].Carrier&carrier != 0 && s.all[i].Probe != nil {
				asked = append(asked, i)
			}
		}
	}
	for _, i := range s.rest[carrier] {
		if !s.knows(i, a) && !s.knows(i, b) {
			asked = append(asked, i)
		}
	}
	return asked
}

func (s *specs) knows(i int, port uint16) bool {
	return slices.Contains(s.all[i].Ports, port)
}

func (s *specs) numbered(carrier proto.Transport, number uint16) []int {
	return s.number[numbered{carrier, number}]
}

// Defs are all codes that a run can report, of every room.
func Defs() []finding.Def {
	defs := ledger.Defs()
	for _, s := range Protocols() {
		defs = append(defs, s.Codes...)
	}
	for _, c := range Correlators() {
		defs = append(defs, c.Codes...)
	}
	return defs
}
