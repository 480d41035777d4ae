package assigned

import "slices"

// Data is what Wireshark calls bytes that nobody reads.
const Data = "data"

// Transport is one of those that have ports.
type Transport uint8

// Transports.
const (
	TCP Transport = iota
	UDP
	Transports // number of transports
)

// entry names what speaks on some ports.
type entry struct {
	first, last uint16
	name        string // several: one in the other, with spaces between; empty: Wireshark shows none
	check       check  // what its first bytes must pass
}

// Ports tells which protocols are spoken on a port. The zero value knows none;
// New makes one. It is not changed afterwards.
type Ports struct {
	known [Transports][1 << 16 / 64]uint64 // a bit for each port in the table
}

// New makes a Ports.
func New() *Ports {
	p := &Ports{}
	for t := range Transports {
		for i, table := 0, tableOf(t); i < len(table); i++ {
			for port := int(table[i].first); port <= int(table[i].last); port++ {
				p.known[t][port>>6] |= 1 << (port & 63)
			}
		}
	}
	return p
}

// Names yields every list of names that Number can answer, by number.
func Names() []string {
	list := make([]string, 0, len(tcp)+len(udp))
	for t := range Transports {
		for _, e := range tableOf(t) {
			list = append(list, e.name)
		}
	}
	return list
}

// Number finds out what a payload is by the ports it went between: the lower one
// says first, as in Wireshark. The number is that of Names.
func (p *Ports) Number(t Transport, a, b uint16, payload []byte) (int, bool) {
	if a > b {
		a, b = b, a
	}
	if n, ok := p.one(t, a, payload); ok {
		return n, true
	}
	return p.one(t, b, payload)
}

func (p *Ports) one(t Transport, port uint16, payload []byte) (int, bool) {
	if p.known[t][port>>6]>>(port&63)&1 == 0 {
		return 0, false
	}
	table := tableOf(t)
	i, _ := slices.BinarySearchFunc(table, port, func(e entry, port uint16) int { return int(e.last) - int(port) })
	if !table[i].check.passes(payload) {
		return 0, false
	}
	if t == UDP {
		i += len(tcp)
	}
	return i, true
}

func tableOf(t Transport) []entry {
	if t == UDP {
		return udp[:]
	}
	return tcp[:]
}
