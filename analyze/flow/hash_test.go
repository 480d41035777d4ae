package flow

import (
	"testing"
)

// TestHashSpreadsPorts: the connections of two hosts differ in their ports only.
// Lanes take the highest bits of the hash, tables what a product makes of it.
func TestHashSpreadsPorts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		key  func(i int) Key
	}{
		{"client's port", func(i int) Key { return Key{PortA: uint16(1024 + i), PortB: 80, Proto: TCP} }},
		{"server's port", func(i int) Key { return Key{PortA: 40000, PortB: uint16(1 + i), Proto: TCP} }},
		{"client's port over IPv4", func(i int) Key {
			return Key{A: From4([]byte{10, 0, 0, 1}), B: From4([]byte{10, 1, 0, 1}), PortA: uint16(1024 + i), PortB: 80, Proto: TCP}
		}},
		{"both ports over IPv4", func(i int) Key {
			return Key{A: From4([]byte{10, 0, 0, 1}), B: From4([]byte{10, 1, 0, 1}), PortA: uint16(1024 + i), PortB: uint16(1024 + i), Proto: TCP}
		}},
		{"client over IPv4", func(i int) Key {
			return Key{A: From4([]byte{10, byte(i >> 8), byte(i), 1}), B: From4([]byte{192, 168, 0, 1}), PortA: 40000, PortB: 443, Proto: TCP}
		}},
		{"realm", func(i int) Key {
			return Key{A: From4([]byte{10, 0, 0, 1}), B: From4([]byte{10, 1, 0, 1}), PortA: 1024, PortB: 80, Realm: uint32(i), Proto: TCP}
		}},
		{"last byte of both addresses", func(i int) Key {
			return Key{A: From4([]byte{10, 0, byte(i >> 8), byte(i)}), B: From4([]byte{10, 1, 0, 1}), PortB: 53, Proto: UDP}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const n, buckets = 1 << 14, 1 << 12
			var count, top [buckets]int
			var ones [32]int
			for i := range n {
				k := tt.key(i)
				h := k.Hash32()
				count[h%buckets]++
				top[h>>20]++
				for b := range ones {
					ones[b] += int(h >> b & 1)
				}
			}
			most := 0
			for i := range count {
				most = max(most, count[i], top[i])
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
