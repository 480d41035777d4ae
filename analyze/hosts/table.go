package hosts

import "iter"

// Table holds a value for each key; no key is 0. Nothing of it is a pointer unless
// values have some. The zero value is ready.
type Table[V any] struct {
	places []place[V]
	n      int
	seed   uint64
}

// place has a key beside its value, since who finds the one reads the other. The
// value comes first: an empty one at the end would be given room.
type place[V any] struct {
	val V
	key uint64 // 0: free
}

const (
	leastPlaces = 16
	stride      = 64                 // places that surely have no page of memory between them: they take 64 bytes at most
	multiplier  = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
)

// Len is the number of keys.
func (t *Table[V]) Len() int { return t.n }

// home is the place where a key belongs.
func (t *Table[V]) home(k uint64) int {
	return int(fold(k^t.seed, multiplier)) & (len(t.places) - 1) //nolint:gosec // any bits will do
}

// find returns the place of a key, or the free one where it belongs.
func (t *Table[V]) find(k uint64) int {
	i := t.home(k)
	for t.places[i].key != 0 && t.places[i].key != k {
		i = (i + 1) & (len(t.places) - 1)
	}
	return i
}

// Get returns the value of a key; the zero value where there is none.
func (t *Table[V]) Get(k uint64) (v V) {
	if t.n == 0 {
		return v
	}
	return t.places[t.find(k)].val // that of a free place is zero
}

// At returns where the value of a key is, which is zero where the key is new. It is
// valid until the next change of the table.
func (t *Table[V]) At(k uint64) *V {
	if 4*t.n >= 3*len(t.places) {
		t.grow()
	}
	p := &t.places[t.find(k)]
	if p.key == 0 {
		p.key = k
		t.n++
	}
	return &p.val
}

func (t *Table[V]) grow() {
	old := t.places
	if old == nil {
		t.seed = seed()
	}
	t.places = make([]place[V], max(leastPlaces, 2*len(old)))
	for i := 0; i < len(t.places); i += stride { // or the system gives each page twice: find reads before it is written
		t.places[i].key = 0
	}
	for i := range old {
		if old[i].key != 0 {
			t.places[t.find(old[i].key)] = old[i]
		}
	}
}

// Take takes a key out of the table, closes the gap that it leaves, and returns its
// value; the zero value where there was none.
func (t *Table[V]) Take(k uint64) (v V) {
	if t.n == 0 {
		return v
	}
	i := t.find(k)
	if t.places[i].key == 0 {
		return v
	}
	v = t.places[i].val
	mask := len(t.places) - 1
	for j := (i + 1) & mask; t.places[j].key != 0; j = (j + 1) & mask {
		if home := t.home(t.places[j].key); (j-home)&mask >= (j-i)&mask {
			t.places[i] = t.places[j]
			i = j
		}
	}
	t.places[i] = place[V]{}
	t.n--
	return v
}

// All walks the table in no order that means anything.
func (t *Table[V]) All() iter.Seq2[uint64, *V] {
	return func(yield func(uint64, *V) bool) {
		for i := range t.places {
			if p := &t.places[i]; p.key != 0 && !yield(p.key, &p.val) {
				return
			}
		}
	}
}

// Clear empties the table and keeps its memory.
func (t *Table[V]) Clear() {
	clear(t.places)
	t.n = 0
}

// Set is a set of keys other than 0. The zero value is ready.
type Set struct{ of Table[struct{}] }

// Len is the number of keys.
func (s *Set) Len() int { return s.of.n }

// Add puts a key into the set; false: it was there.
func (s *Set) Add(k uint64) bool {
	n := s.of.n
	s.of.At(k)
	return s.of.n > n
}
