package hosts

// Set is a set of keys other than 0. The zero value is ready.
type Set struct {
	keys []uint64 // by place: 0 is free
	n    int
	seed uint64
}

const (
	leastPlaces = 16
	multiplier  = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
)

// Len is the number of keys.
func (s *Set) Len() int { return s.n }

// Has reports whether a key is in the set.
func (s *Set) Has(k uint64) bool { return s.n > 0 && s.keys[s.find(k)] == k }

// Add puts a key into the set; false: it was there.
func (s *Set) Add(k uint64) bool {
	if s.crowded() {
		old := s.keys
		s.widen()
		for _, k := range old {
			if k != 0 {
				s.keys[s.find(k)] = k
			}
		}
	}
	i := s.find(k)
	if s.keys[i] == k {
		return false
	}
	s.keys[i] = k
	s.n++
	return true
}

// home is the place where a key belongs.
func (s *Set) home(k uint64) int {
	return int(fold(k^s.seed, multiplier)) & (len(s.keys) - 1) //nolint:gosec // any bits will do
}

// find returns the place of a key, or the free one where it belongs.
func (s *Set) find(k uint64) int {
	i := s.home(k)
	for s.keys[i] != 0 && s.keys[i] != k {
		i = (i + 1) & (len(s.keys) - 1)
	}
	return i
}

// crowded reports whether there is no room for one more.
func (s *Set) crowded() bool { return 4*s.n >= 3*len(s.keys) }

func (s *Set) widen() {
	if s.keys == nil {
		s.seed = seed()
	}
	s.keys = make([]uint64, max(leastPlaces, 2*len(s.keys)))
	clear(s.keys) // or the system gives each page twice: find reads before it is written
}

// Table holds a value for each key; no key is 0. The zero value is ready.
type Table[V any] struct {
	set  Set
	vals []V // by place
}

// Len is the number of keys.
func (t *Table[V]) Len() int { return t.set.n }

// Get returns the value of a key; the zero value where there is none.
func (t *Table[V]) Get(k uint64) (v V) {
	if t.set.n == 0 {
		return v
	}
	return t.vals[t.set.find(k)] // that of a free place is zero
}

// At returns where the value of a key is, which is zero where the key is new. It is
// valid until the next change of the table.
func (t *Table[V]) At(k uint64) *V {
	if t.set.crowded() {
		t.grow()
	}
	i := t.set.find(k)
	if t.set.keys[i] == 0 {
		t.set.keys[i] = k
		t.set.n++
	}
	return &t.vals[i]
}

func (t *Table[V]) grow() {
	keys, vals := t.set.keys, t.vals
	t.set.widen()
	t.vals = make([]V, len(t.set.keys))
	for i, k := range keys {
		if k != 0 {
			at := t.set.find(k)
			t.set.keys[at], t.vals[at] = k, vals[i]
		}
	}
}

// Take takes a key out of the table, closes the gap that it leaves, and returns its
// value; the zero value where there was none.
func (t *Table[V]) Take(k uint64) (v V) {
	if t.set.n == 0 {
		return v
	}
	s := &t.set
	i := s.find(k)
	if s.keys[i] == 0 {
		return v
	}
	v = t.vals[i]
	mask := len(s.keys) - 1
	for j := (i + 1) & mask; s.keys[j] != 0; j = (j + 1) & mask {
		if home := s.home(s.keys[j]); (j-home)&mask >= (j-i)&mask {
			s.keys[i], t.vals[i] = s.keys[j], t.vals[j]
			i = j
		}
	}
	var none V
	s.keys[i], t.vals[i] = 0, none
	s.n--
	return v
}

// Clear empties the table and keeps its memory.
func (t *Table[V]) Clear() {
	clear(t.set.keys)
	clear(t.vals)
	t.set.n = 0
}
