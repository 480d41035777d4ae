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
// ones stay in their order. Keys are numbers of frames or of conversations: a few
// rounds of dealing them out by some bits each take a tenth of what comparing does.
func ranked(n int, key func(i int) uint64, compare func(a, b int) int) []rank {
	const bits, piles = 11, 1 << 11
	order, other := make([]rank, n), make([]rank, n)
	var differ uint64
	for i := range order {
		order[i] = rank{key(i), uint32(i)}
		differ |= order[i].key ^ order[0].key
	}
	var ends [piles]uint32
	for shift := 0; differ>>shift != 0; shift += bits {
		if differ>>shift%piles == 0 {
			continue
		}
		clear(ends[:])
		for i := range order {
			ends[order[i].key>>shift%piles]++
		}
		sum := uint32(0)
		for i, n := range ends {
			ends[i] = sum
			sum += n
		}
		for i := range order {
			at := &ends[order[i].key>>shift%piles]
			other[*at] = order[i]
			*at++
		}
		order, other = other, order
	}
	for from, i := 0, 1; i <= n; i++ {
		if i < n && order[i].key == order[from].key {
			continue
		}
		if i > from+1 {
			slices.SortStableFunc(order[from:i], func(a, b rank) int { return compare(int(a.at), int(b.at)) })
		}
		from = i
	}
	return order
}
