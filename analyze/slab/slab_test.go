package slab_test

import (
	"testing"

	"netwhy/analyze/slab"
)

// Numbers begin at 1, stand for one item each, and what was put back is used first, as it was.
func TestSlab(t *testing.T) {
	t.Parallel()
	const n = 100
	var s slab.Slab[uint32]
	for i := uint32(1); i <= n; i++ {
		k, x := s.Get()
		if k != i || *x != 0 {
			t.Fatalf("item %d has number %d and holds %d", i, k, *x)
		}
		*x = i
	}
	for i := uint32(1); i <= n; i++ {
		if *s.At(i) != i {
			t.Fatalf("item %d holds %d", i, *s.At(i))
		}
	}
	s.Put(7)
	if k, x := s.Get(); k != 7 || *x != 7 {
		t.Errorf("number %d with %d, want what was put back", k, *x)
	}
}

// An emptied slab keeps what is still out, whatever was put back before and after.
func TestEmpty(t *testing.T) {
	t.Parallel()
	const n, kept = 100, 50
	var none, s slab.Slab[uint32]
	none.Empty()
	for range n {
		k, x := s.Get()
		*x = k
	}
	s.Put(1)
	s.Empty()
	for i := uint32(2); i <= n; i++ {
		if i != kept {
			s.Put(i)
		}
	}
	if *s.At(kept) != kept {
		t.Errorf("item %d holds %d", kept, *s.At(kept))
	}
}
