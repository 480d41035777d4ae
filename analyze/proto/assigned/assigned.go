package assigned

import "math/bits"

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
	of [Transports]set
}

// set finds the entry of a port by counting the known ones below it.
type set struct {
	known [1 << 16 / 64]uint64 // a bit for each port in the table
	below [1 << 16 / 64]uint16 // known ports below the first of the word
	entry []uint16             // by the number of known ports below
}

// New makes a Ports.
func New() *Ports {
	p := &Ports{}
	for t := range Transports {
		s, table := &p.of[t], tableOf(t)
		s.entry = make([]uint16, 0, 2*len(table))
		for i := range table {
			for port := int(table[i].first); port <= int(table[i].last); port++ {
				s.known[port>>6] |= 1 << (port & 63)
				s.entry = append(s.entry, uint16(i))
			}
		}
		n := 0
		for i, word := range s.known {
			s.below[i] = uint16(n)
			n += bits.OnesCount64(word)
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

// Unknown is the number of what no port tells.
const Unknown = -1

// Number finds out what a payload is by the ports it went between: the lower one
// says first, as in Wireshark. The number is that of Names, or Unknown. sure tells
// that any payload would have it.
func (p *Ports) Number(t Transport, a, b uint16, payload []byte) (n int, sure bool) {
	if a > b {
		a, b = b, a
	}
	n, sure = p.one(t, a, payload)
	if n != Unknown {
		return n, sure
	}
	n, other := p.one(t, b, payload)
	return n, sure && other
}

func (p *Ports) one(t Transport, port uint16, payload []byte) (n int, sure bool) {
	s := &p.of[t]
	word := s.known[port>>6]
	if word>>(port&63)&1 == 0 {
		return Unknown, true
	}
	n = int(s.entry[int(s.below[port>>6])+bits.OnesCount64(word&(1<<(port&63)-1))])
	c := tableOf(t)[n].check
	sure = c.anything()
	if !sure && !c.passes(payload) {
		return Unknown, false
	}
	if t == UDP {
		n += len(tcp)
	}
	return n, sure
}

// Waits reports whether Wireshark waits for the rest of a message before it names
// what has this number: there is a name only for frames that were cut.
func Waits(n int) bool {
	if n < 0 || n >= len(tcp) {
		return false
	}
	return tcp[n].check == waits
}

// Plain reports whether any stream of what has this number is called so, and nothing else.
func Plain(n int) bool { return n >= 0 && n < len(tcp) && tcp[n].check == always }

func tableOf(t Transport) []entry {
	if t == UDP {
		return udp[:]
	}
	return tcp[:]
}
