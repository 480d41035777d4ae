package hosts

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"
)

// Number stands for an address; 0 stands for none, and for those without a number.
type Number uint32

// Bits is the width of a Number, and Most bounds the addresses that get one: what
// they take is 6 MiB at most.
const (
	Bits = 18
	Most = 1<<Bits - 1
)

// Numbers gives addresses their numbers, from 1 and in the order in which it meets
// them. An IPv4 address within IPv6 is that IPv4 address, and zones are left out:
// packets have none. The zero value is ready.
type Numbers struct {
	index []Number  // by place: 0 is free
	known []address // of number n: n-1
	seed  [2]uint64
}

type address struct{ hi, lo uint64 }

const leastIndex = 1 << 8

// Of returns the number of an address, which may be new; 0: it is not valid, or
// there is no room.
func (n *Numbers) Of(a netip.Addr) Number {
	if !a.IsValid() {
		return 0
	}
	if 4*len(n.known) >= 3*len(n.index) {
		n.grow()
	}
	k := addressOf(a)
	i := n.find(k)
	if n.index[i] == 0 && len(n.known) < Most {
		n.known = append(n.known, k)
		n.index[i] = Number(len(n.known)) //nolint:gosec // at most Most
	}
	return n.index[i]
}

// Addr is the address of a number.
func (n *Numbers) Addr(x Number) netip.Addr {
	if x == 0 || int(x) > len(n.known) {
		return netip.Addr{}
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], n.known[x-1].hi)
	binary.BigEndian.PutUint64(b[8:], n.known[x-1].lo)
	return netip.AddrFrom16(b).Unmap()
}

// Mix makes one key of two words, With one of a word and an address, and Pair one of
// two addresses that need no numbers. The seed makes it as good as certain that no
// others have it, whoever chose them.
func (n *Numbers) Mix(a, b uint64) uint64 {
	if n.index == nil {
		n.grow()
	}
	return max(fold(a^n.seed[0], b^n.seed[1]), 1)
}

// With is described at Mix.
func (n *Numbers) With(k uint64, a netip.Addr) uint64 {
	x := addressOf(a)
	return n.Mix(n.Mix(k, x.hi), x.lo)
}

// Pair is described at Mix.
func (n *Numbers) Pair(a, b netip.Addr) uint64 {
	x := addressOf(a)
	return n.With(n.Mix(x.hi, x.lo), b)
}

func addressOf(a netip.Addr) address {
	b := a.As16()
	return address{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// find returns the place of an address, or the free one where it belongs.
func (n *Numbers) find(k address) int {
	mask := len(n.index) - 1
	i := int(fold(k.hi^n.seed[0], k.lo^n.seed[1])) & mask //nolint:gosec // any bits will do
	for n.index[i] != 0 && n.known[n.index[i]-1] != k {
		i = (i + 1) & mask
	}
	return i
}

func (n *Numbers) grow() {
	if n.index == nil {
		n.seed = [2]uint64{seed(), seed()}
	}
	n.index = make([]Number, max(leastIndex, 2*len(n.index)))
	clear(n.index) // or the system gives each page twice: find reads before it is written
	for i := range n.known {
		n.index[n.find(n.known[i])] = Number(i + 1)
	}
}

// fold mixes two words into one: a product whose halves are put together.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func seed() uint64 { return maphash.String(maphash.MakeSeed(), "hosts") }
