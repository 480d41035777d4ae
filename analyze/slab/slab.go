// Package slab holds records of one kind by number, without a pointer to any of them.
package slab

// Items of a page: a short run stays small, a long one never copies. One size, known to
// the compiler, for all of them: an item is found without a bound to look up.
const (
	pageBits = 4
	pageSize = 1 << pageBits
)

// Slab hands out numbered items of one kind and takes them back. Number 0 is never given.
// What Get returns is as it was put back: the user clears it. The zero Slab is empty.
type Slab[T any] struct {
	pages []*[pageSize]T
	free  []uint32
	next  uint32
	gone  []uint8 // while emptied: items of each page that were put back
}

// At finds an item. Items never move.
func (s *Slab[T]) At(n uint32) *T { return &s.pages[n>>pageBits][n%pageSize] }

// Get hands an item out.
func (s *Slab[T]) Get() (uint32, *T) {
	if k := len(s.free); k > 0 {
		n := s.free[k-1]
		s.free = s.free[:k-1]
		return n, s.At(n)
	}
	s.next = max(s.next, 1)
	if int(s.next>>pageBits) == len(s.pages) {
		page := new([pageSize]T)
		clear(page[:]) // memory that is read before it is written is had from the system twice
		s.pages = append(s.pages, page)
	}
	n := s.next
	s.next++
	return n, s.At(n)
}

// Put takes an item back.
func (s *Slab[T]) Put(n uint32) {
	if s.gone == nil {
		s.free = append(s.free, n)
		return
	}
	p := n >> pageBits
	if s.gone[p]++; s.gone[p] == pageSize {
		s.pages[p] = nil
	}
}

// Empty begins to give pages back to the collector when all of their items were put
// back: there is no Get any more.
func (s *Slab[T]) Empty() {
	if len(s.pages) == 0 {
		return
	}
	s.gone = make([]uint8, len(s.pages))
	s.gone[0]++ // number 0
	for n := s.next; int(n>>pageBits) < len(s.pages); n++ {
		s.gone[n>>pageBits]++ // never used
	}
	for _, n := range s.free {
		s.Put(n)
	}
	s.free = nil
}
