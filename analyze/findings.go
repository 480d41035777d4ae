package analyze

import (
	"cmp"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
)

// findings are those that are kept until the result is made, found by their keys.
type findings struct {
	hosts.List[finding.Finding]

	keys   []uint64 // by place
	places hosts.Table[uint32]
}

// get returns the place of a finding.
func (l *findings) get(key uint64) (i int, ok bool) {
	next := l.places.Get(key)
	return int(next) - 1, next > 0
}

func (l *findings) add(key uint64, f *finding.Finding) {
	l.Add(f)
	l.keys = append(l.keys, key)
	*l.places.At(key) = uint32(l.Len())
}

// drop forgets some, by their places; the others move up.
func (l *findings) drop(places []int) {
	gone := make([]bool, l.Len())
	for _, i := range places {
		gone[i] = true
	}
	kept := l.keys[:0]
	l.places.Clear()
	for i, key := range l.keys {
		if !gone[i] {
			*l.At(len(kept)) = *l.At(i)
			kept = append(kept, key)
			*l.places.At(key) = uint32(len(kept))
		}
	}
	l.keys = kept
	l.Cut(len(kept))
}

// sorted returns them in their order.
func (l *findings) sorted() []finding.Finding {
	all := make([]finding.Finding, l.Len())
	for i, r := range ranked(l.Len(), func(i int) uint64 { return l.At(i).Evidence.First }, func(a, b int) int { return compareFindings(l.At(a), l.At(b)) }) {
		all[i] = *l.At(int(r.at))
	}
	return all
}

// rank is the place of something large and what decides first where it belongs: to
// look at the things themselves at each step would wait for memory each time.
type rank struct {
	key uint64
	at  uint32
}

// ranked sorts n things by a key and, where that is the same, by comparing them; equal
// ones stay in their order.
func ranked(n int, key func(i int) uint64, compare func(a, b int) int) []rank {
	order := make([]rank, n)
	for i := range order {
		order[i] = rank{key(i), uint32(i)}
	}
	slices.SortFunc(order, func(a, b rank) int {
		if c := cmp.Compare(a.key, b.key); c != 0 { // nearly always
			return c
		}
		return cmp.Or(compare(int(a.at), int(b.at)), cmp.Compare(a.at, b.at))
	})
	return order
}
