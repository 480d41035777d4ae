package ledger

import (
	"math/rand/v2"
	"testing"
)

// TestTagsMissNothing: a hash that is among the prints is never overlooked, and of the
// others few are looked for.
func TestTagsMissNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	var x manyPrints
	inVain := 0
	const n = 10_000
	for i := range n {
		hash := r.Uint32()
		if r.IntN(2) == 0 {
			hash = hash<<8>>8 | uint32(r.IntN(2))<<31 // tags that borrow
		}
		x.set(uint8(i%bulkSlots), hash, 0, 0)
		for _, known := range x.hash {
			if !x.holds(known) {
				t.Fatalf("%x is overlooked among %x", known, x.hash)
			}
		}
	}
	for i := range n {
		x.set(uint8(i%bulkSlots), r.Uint32(), 0, 0)
		if x.holds(r.Uint32()) {
			inVain++
		}
	}
	if inVain > n/10 {
		t.Errorf("%d of %d were looked for in vain", inVain, n)
	}
}
