package analyze

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"netwhy/analyze/flow"
)

// The table against a map: inserts, look-ups and removals in random order, with
// hashes that collide on purpose.
func TestTableAgainstMap(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	tab, want := newTable(), map[flow.Key]uint32{}
	key := func(n uint32) (flow.Key, uint32) {
		var k flow.Key
		binary.BigEndian.PutUint32(k.A[12:], n)
		return k, n % 701 // far fewer hashes than keys
	}
	for range 50_000 {
		k, h := key(rnd.Uint32N(4000))
		slot, there := want[k]
		if got := tab.find(h, &k); got != slot {
			t.Fatalf("find: got slot %d, want %d", got, slot)
		}
		switch {
		case !there:
			want[k] = tab.insert(h, &k)
		case rnd.IntN(2) == 0:
			tab.unlink(slot)
			tab.recycle(slot)
			delete(want, k)
		}
		if tab.live != len(want) {
			t.Fatalf("live: got %d, want %d", tab.live, len(want))
		}
	}
	for k, slot := range want {
		if got := tab.find(binary.BigEndian.Uint32(k.A[12:])%701, &k); got != slot {
			t.Fatalf("at the end: got slot %d, want %d", got, slot)
		}
	}
}

// Eviction takes one that is long idle, and never one that is not in use.
func TestTableIdlest(t *testing.T) {
	t.Parallel()
	tab := newTable()
	if tab.idlest() != 0 {
		t.Fatal("an empty table has an idlest conversation")
	}
	for n := range uint32(10) {
		var k flow.Key
		k.A[15] = byte(n)
		slot := tab.insert(n, &k)
		tab.at(slot).last = int64(100 - n)
		if n == 9 {
			tab.unlink(slot)
		}
	}
	if got := tab.at(tab.idlest()).last; got != 92 {
		t.Errorf("idlest: last frame at %d, want 92", got)
	}
}
