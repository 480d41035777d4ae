package flow

import (
	"testing"
)

// TestHashSpreadsPorts: the connections of two hosts differ in their ports only.
// Tables and lanes take the lower half of the hash with the upper one folded in.
func TestHashSpreadsPorts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		key  func(i int) Key
	}{
		{"client's port", func(i int) Key { return Key{PortA: uint16(1024 + i), PortB: 80, Proto: TCP} }},
		{"server's port", func(i int) Key { return Key{PortA: 40000, PortB: uint16(1 + i), Proto: TCP} }},
		{"last byte of both addresses", func(i int) Key {
			return Key{A: From4([]byte{10, 0, byte(i >> 8), byte(i)}), B: From4([]byte{10, 1, 0, 1}), PortB: 53, Proto: UDP}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const n, buckets = 1 << 14, 1 << 12
			var count [buckets]int
			var ones [32]int
			for i := range n {
				k := tt.key(i)
				h := k.Hash()
				folded := uint32(h ^ h>>32)
				count[folded%buckets]++
				for b := range ones {
					ones[b] += int(folded >> b & 1)
				}
			}
			most := 0
			for _, c := range count {
				most = max(most, c)
			}
			if most > 6*n/buckets {
				t.Errorf("%d of %d keys in one of %d buckets", most, n, buckets)
			}
			for b, c := range ones {
				if c < n*2/5 || c > n*3/5 {
					t.Errorf("bit %d is set in %d of %d", b, c, n)
				}
			}
		})
	}
}
