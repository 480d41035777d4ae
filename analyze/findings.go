package analyze

import (
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

// stride is so many findings that surely have no page of memory between them.
const stride = 16

// sorted returns them in their order.
func (l *findings) sorted() []finding.Finding {
	order := ranked(l.Len(), func(i int) uint64 { return l.At(i).Evidence.First }, func(a, b int) int { return compareFindings(l.At(a), l.At(b)) })
	all := make([]finding.Finding, len(order))
	for i := 0; i < len(all); i += stride { // or the system gives each page twice: the garbage collector reads before it is written
		all[i].Severity = 0
	}
	for i, r := range order {
		all[i] = *l.At(int(r.At))
	}
	return all
}

// ranked sorts n things by a key and, where that is the same, by comparing them; equal
// ones stay in their order. To look at the things themselves at each step would wait
// for memory each time.
func ranked(n int, key func(i int) uint64, compare func(a, b int) int) []hosts.Rank {
	order := make([]hosts.Rank, n)
	for i := range order {
		order[i] = hosts.Rank{Key: key(i), At: uint32(i)}
	}
	order = hosts.Ordered(order)
	for from, i := 0, 1; i <= n; i++ {
		if i < n && order[i].Key == order[from].Key {
			continue
		}
		if i > from+1 {
			slices.SortStableFunc(order[from:i], func(a, b hosts.Rank) int { return compare(int(a.At), int(b.At)) })
		}
		from = i
	}
	return order
}
