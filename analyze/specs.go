package analyze

import (
	"slices"

	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
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
	panels [2]*panel        // over TCP, over UDP
	number map[numbered][]int
	over   map[string]*proto.Spec // SCTP: who takes messages, by name
	known  []uint16               // by port: its place in ports, plus 1; 0: no spec knows it
	ports  []uint16
	// Made so far by order, over TCP and over UDP: where one port is known, by known, and
	// where both are. Each lane has its own.
	orders [2][]*asked
	pairs  map[pair]*asked
}

// panel are those over TCP or UDP that can be asked about bytes, each with a bit of its
// own: its place.
type panel struct {
	specs  []int
	probes []func(flow.Dir, []byte) proto.Verdict
	first  [2][256]uint64 // by direction and first byte: those that may not say no
	untold [2]uint64      // by direction: those that want more of any bytes
}

// maxPanel is how many a panel has bits for.
const maxPanel = 64

// asked are the specs to probe, by their places: those that know a port, in order, and
// then the rest of those that prove enough.
type asked struct {
	*panel
	known []uint8
	rest  uint64
	all   uint64 // known and rest
}

// pair is two ports that some spec knows.
type pair struct {
	carrier proto.Transport
	a, b    uint16
}

// maxPairs bounds those that are kept: few pairs of known ports talk to each other.
const maxPairs = 1 << 10

// own is what one lane uses.
func (s *specs) own() *specs {
	c := *s
	for i := range c.orders {
		c.orders[i] = make([]*asked, len(s.ports)+1)
	}
	c.pairs = map[pair]*asked{}
	return &c
}

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
		byPort: map[uint16][]int{}, panels: [2]*panel{newPanel(all, proto.TCP), newPanel(all, proto.UDP)}, number: map[numbered][]int{},
		over: map[string]*proto.Spec{}, known: make([]uint16, 1<<16),
	}
	for i := range all {
		spec := &all[i]
		for j := range spec.Codes {
			s.defs[spec.Codes[j].Code] = &spec.Codes[j]
		}
		for _, p := range spec.Ports {
			s.byPort[p] = append(s.byPort[p], i)
			if s.known[p] == 0 {
				s.ports = append(s.ports, p)
				s.known[p] = uint16(len(s.ports))
			}
		}
		if spec.Message != nil {
			s.over[spec.Name] = spec
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

func newPanel(all []proto.Spec, carrier proto.Transport) *panel {
	p := &panel{}
	for i := range all {
		spec := &all[i]
		if spec.Carrier&carrier == 0 || spec.Probe == nil || len(p.specs) == maxPanel {
			continue
		}
		bit := uint64(1) << len(p.specs)
		p.specs, p.probes = append(p.specs, i), append(p.probes, spec.Probe)
		for dir := range p.first {
			if spec.Untold[dir] {
				p.untold[dir] |= bit
			}
			for c := range p.first[dir] {
				if spec.First == nil || spec.First(flow.Dir(dir), byte(c)) {
					p.first[dir][c] |= bit
				}
			}
		}
	}
	return p
}

// order yields the specs to probe: those that know a port first. Of the two ports of a
// conversation nearly always one is known, or none.
func (s *specs) order(carrier proto.Transport, a, b uint16) *asked {
	x, y := s.known[a], s.known[b]
	made, among := &s.orders[0], s.panels[0]
	if carrier == proto.UDP {
		made, among = &s.orders[1], s.panels[1]
	}
	if x != 0 && y != 0 && x != y {
		k := pair{carrier, a, b}
		list, ok := s.pairs[k]
		if !ok {
			list = s.inOrder(among, a, b)
			if len(s.pairs) < maxPairs {
				s.pairs[k] = list
			}
		}
		return list
	}
	list := &(*made)[max(x, y)]
	if *list == nil {
		port := uint16(0)
		if x|y != 0 {
			port = s.ports[max(x, y)-1]
		}
		*list = s.inOrder(among, port, 0)
	}
	return *list
}

func (s *specs) inOrder(among *panel, a, b uint16) *asked {
	list := asked{panel: among}
	for _, port := range [2]uint16{a, b} {
		for at, i := range among.specs {
			if s.knows(i, port) && list.all>>at&1 == 0 {
				list.known = append(list.known, uint8(at))
				list.all |= 1 << at
			}
		}
	}
	for at, i := range among.specs {
		if list.all>>at&1 == 0 && !s.all[i].Weak {
			list.rest |= 1 << at
		}
	}
	list.all |= list.rest
	return &list
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
