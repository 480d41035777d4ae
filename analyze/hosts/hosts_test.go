package hosts

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestNumbers: an address keeps its number however many come after it, and the
// number leads back to it.
func TestNumbers(t *testing.T) {
	t.Parallel()
	var n Numbers
	of := func(i int) netip.Addr {
		if i%2 == 0 {
			return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		}
		return netip.AddrFrom16([16]byte{0x20, 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)})
	}
	const many = 5000
	for i := range many {
		if got := n.Of(of(i)); got != Number(i+1) {
			t.Fatalf("%v: number %d, want %d", of(i), got, i+1)
		}
	}
	for i := range many {
		if got := n.Of(of(i)); got != Number(i+1) || n.Addr(got) != of(i) {
			t.Fatalf("%v again: number %d, which is %v", of(i), got, n.Addr(got))
		}
	}
	if n.Of(netip.Addr{}) != 0 || n.Addr(0).IsValid() || n.Addr(many+1).IsValid() {
		t.Error("no address has a number, or no number an address")
	}
	if a := netip.MustParseAddr("::ffff:10.0.0.0"); n.Of(a) != n.Of(a.Unmap()) {
		t.Error("IPv4 within IPv6 is another host")
	}
}

// TestNumbersAreBounded: who comes too late has no number, and who has one keeps it.
func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	var n Numbers
	var a netip.Addr
	for i := range Most + 2 {
		a = netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		n.Of(a)
	}
	if got := n.Of(a); got != 0 {
		t.Errorf("one too many: number %d", got)
	}
	if got := n.Of(netip.AddrFrom4([4]byte{})); got != 1 {
		t.Errorf("the first: number %d", got)
	}
}

// TestTable compares it with a map.
func TestTable(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var table Table[int]
	var set Set
	want := map[uint64]int{}
	for step := range 50000 {
		k := r.Uint64N(900) + 1
		switch r.IntN(3) {
		case 0:
			if got := table.Take(k); got != want[k] {
				t.Fatalf("step %d: took %d of key %d, want %d", step, got, k, want[k])
			}
			delete(want, k)
		default:
			*table.At(k)++
			want[k]++
		}
		if _, known := want[k]; table.Len() != len(want) || table.Get(k) != want[k] {
			t.Fatalf("step %d, key %d: %d of %d keys, want %d of %d (known: %v)", step, k, table.Get(k), table.Len(), want[k], len(want), known)
		}
		if n := set.Len(); set.Add(k) != (set.Len() > n) || set.Add(k) {
			t.Fatalf("step %d: key %d was added twice", step, k)
		}
	}
	for k := range uint64(1000) {
		if k > 0 && table.Get(k) != want[k] {
			t.Errorf("key %d: %d, want %d", k, table.Get(k), want[k])
		}
	}
	table.Clear()
	if table.Len() != 0 || table.Get(7) != 0 || set.Len() != 900 {
		t.Errorf("%d keys are left, %d in the set", table.Len(), set.Len())
	}
}

// TestList: what was found once stays where it is, and what was cut is empty when its
// place is taken again.
func TestList(t *testing.T) {
	t.Parallel()
	var l List[[2]int]
	const many = 100
	first := (*[2]int)(nil)
	for i := range many {
		l.Add(&[2]int{i, i})
		if i == 0 {
			first = l.At(0)
		}
	}
	if l.Len() != many || l.At(0) != first || l.At(many - 1)[0] != many-1 {
		t.Fatalf("%d of %d, the last is %v", l.Len(), many, *l.At(many - 1))
	}
	l.Cut(many / 3)
	n := 0
	for v := range l.All() {
		if v[0] != n {
			t.Errorf("place %d has %v", n, *v)
		}
		n++
	}
	if n != many/3 || l.Len() != n {
		t.Errorf("%d are left, %d by its length", n, l.Len())
	}
	l.Add(&[2]int{7, 7})
	if l.Len() != n+1 || l.At(n)[1] != 7 || l.At(0) != first {
		t.Errorf("after the cut: %v", *l.At(n))
	}
}
