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
// they take is 8 MiB at most.
const (
	Bits = 18
	Most = 1<<Bits - 1
)

// Numbers gives addresses their numbers, from 1 and in the order in which it meets
// them. An IPv4 address within IPv6 is that IPv4 address, and zones are left out:
// packets have none. The zero value is ready.
type Numbers struct {
	v4    []uint64 // by place: an address and, in the lower half, its number; 0: free
	v6    []Number // by place; 0: free
	n4    int      // IPv4 addresses
	known []address
	seed  [2]uint64
}

type address struct{ hi, lo uint64 }

const (
	leastIndex = 1 << 6
	mapped     = 0xffff << 32 // what stands before an IPv4 address in IPv6 (RFC 4291, 2.5.5.2)
)

// Of returns the number of an address, which may be new; 0: it is not valid, or
// there is no room.
func (n *Numbers) Of(a netip.Addr) Number {
	if a.Is4() {
		b := a.As4()
		return n.of4(binary.BigEndian.Uint32(b[:]))
	}
	if !a.IsValid() {
		return 0
	}
	k := addressOf(a)
	if k.hi == 0 && k.lo>>32 == mapped>>32 {
		return n.of4(uint32(k.lo)) //nolint:gosec // the lower half is meant
	}
	return n.of6(k)
}

// of4 finds an IPv4 address with one look into memory.
func (n *Numbers) of4(a uint32) Number {
	if 4*n.n4 >= 3*len(n.v4) {
		n.grow4()
	}
	i := n.find4(a)
	if n.v4[i] == 0 && len(n.known) < Most {
		n.known = append(n.known, address{lo: mapped | uint64(a)})
		n.v4[i] = uint64(a)<<32 | uint64(len(n.known))
		n.n4++
	}
	return Number(n.v4[i]) //nolint:gosec // the lower half is meant
}

func (n *Numbers) find4(a uint32) int {
	mask := len(n.v4) - 1
	i := int(fold(uint64(a)^n.seed[0], multiplier)) & mask //nolint:gosec // any bits will do
	for n.v4[i] != 0 && uint32(n.v4[i]>>32) != a {
		i = (i + 1) & mask
	}
	return i
}

func (n *Numbers) grow4() {
	n.sow()
	old := n.v4
	n.v4 = make([]uint64, max(leastIndex, 2*len(old)))
	clear(n.v4) // or the system gives each page twice: find reads before it is written
	for _, x := range old {
		if x != 0 {
			n.v4[n.find4(uint32(x>>32))] = x
		}
	}
}

func (n *Numbers) of6(k address) Number {
	if 4*(len(n.known)-n.n4) >= 3*len(n.v6) {
		n.grow6()
	}
	i := n.find6(k)
	if n.v6[i] == 0 && len(n.known) < Most {
		n.known = append(n.known, k)
		n.v6[i] = Number(len(n.known)) //nolint:gosec // at most Most
	}
	return n.v6[i]
}

func (n *Numbers) find6(k address) int {
	mask := len(n.v6) - 1
	i := int(fold(k.hi^n.seed[0], k.lo^n.seed[1])) & mask //nolint:gosec // any bits will do
	for n.v6[i] != 0 && n.known[n.v6[i]-1] != k {
		i = (i + 1) & mask
	}
	return i
}

func (n *Numbers) grow6() {
	n.sow()
	old := n.v6
	n.v6 = make([]Number, max(leastIndex, 2*len(old)))
	clear(n.v6) // see grow4
	for _, x := range old {
		if x != 0 {
			n.v6[n.find6(n.known[x-1])] = x
		}
	}
}

// sow makes the seeds, once.
func (n *Numbers) sow() {
	if n.seed == [2]uint64{} {
		n.seed = [2]uint64{seed(), seed()}
	}
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
	n.sow()
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

// fold mixes two words into one: a product whose halves are put together.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func seed() uint64 { return maphash.String(maphash.MakeSeed(), "hosts") }
