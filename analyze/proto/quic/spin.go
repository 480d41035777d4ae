package quic

import "slices"

// Bounds of the measurement with the spin bit.
const (
	maxSamples = 64
	minSamples = 4
)

// spin measures the round trip by the latency spin bit (RFC 9000, 17.4): a
// client inverts what it got, a server repeats it, so that each direction shows
// one edge a round trip. Who does not take part sends one value, or random ones.
type spin struct {
	seen    bool
	bit     bool
	edge    int64 // time of the last edge; 0: none
	edges   int
	packets int
	samples [maxSamples]int64
	n       int
}

func (p *spin) take(bit bool, now int64) {
	p.packets++
	if !p.seen {
		p.seen, p.bit = true, bit
		return
	}
	if bit == p.bit {
		return
	}
	p.bit = bit
	p.edges++
	if p.edge != 0 && p.n < maxSamples {
		p.samples[p.n] = now - p.edge
		p.n++
	}
	p.edge = now
}

// median is the round trip; ok is false when the bit does not look like one that
// spins: with random values every second packet has an edge.
func (p *spin) median() (rtt int64, ok bool) {
	if p.n < minSamples || p.edges*3 > p.packets {
		return 0, false
	}
	s := slices.Clone(p.samples[:p.n])
	slices.Sort(s)
	return s[len(s)/2], true
}
