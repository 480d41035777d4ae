package proto

import "hash/maphash"

// kept is what the analyzers of one lane remember from conversation to
// conversation so as not to work it out again: what is said never depends on it.
// It comes into being with its lane's Scope and belongs to that goroutine.
type kept struct {
	things map[any]any // by type
	words  [maxWords]string
	seed   maphash.Seed
	facts  map[step]*fact
}

// Bounds of what is remembered in a lane. A word makes room for another at its place;
// facts, when they are too many, are begun anew.
const (
	maxWords    = 1 << 11
	maxWordLen  = 256
	maxKeptFact = 1 << 12
)

func (s *Scope) kept() *kept {
	if s.keeps == nil {
		s.keeps = &kept{things: map[any]any{}, seed: maphash.MakeSeed(), facts: map[step]*fact{}}
	}
	return s.keeps
}

// Kept returns the lane's only T, which is zero at first: room to work in, records
// that can be used again, results worth remembering. Who keeps results bounds them.
func Kept[T any](s *Scope) *T {
	k := s.kept()
	if x, ok := k.things[(*T)(nil)].(*T); ok {
		return x
	}
	x := new(T)
	k.things[(*T)(nil)] = x
	return x
}

// Page hands out records that live about as long as each other: some are made at once.
type Page[T any] struct{ left []T }

const pageLen = 16

// Next returns a record that is zero.
func (p *Page[T]) Next() *T {
	if len(p.left) == 0 {
		p.left = make([]T, pageLen)
	}
	x := &p.left[0]
	p.left = p.left[1:]
	return x
}

// Word returns b as a text: the same one for the same bytes, as long as the lane
// remembers it. It is for what many conversations say alike.
func (s *Scope) Word(b []byte) string {
	if len(b) == 0 || len(b) > maxWordLen {
		return string(b)
	}
	k := s.kept()
	w := &k.words[maphash.Bytes(k.seed, b)%maxWords]
	if *w != string(b) {
		*w = string(b)
	}
	return *w
}

// fact is a set of attributes: those of rest and one more. Conversations of the
// same software with the same server have the same ones, which are kept once: an
// open connection costs a pointer for them.
type fact struct {
	rest       *fact
	next       *fact // the last one made of it
	key, value string
	n          int
	all        map[string]string // made when it is asked for
}

// step leads from one set to the next.
type step struct {
	from       *fact
	key, value string
}

func (f *fact) has(key string) bool {
	for ; f != nil; f = f.rest {
		if f.key == key {
			return true
		}
	}
	return false
}

// leadsTo reports whether next is the set that has this attribute more: it is what
// conversations do that resemble each other.
func (f *fact) leadsTo(key, value string) bool {
	return f.next != nil && f.next.key == key && f.next.value == value
}

// with returns the set that has one attribute more, which f does not have.
func (k *kept) with(f *fact, key, value string) *fact {
	at := step{f, key, value}
	next := k.facts[at]
	if next == nil {
		next = &fact{rest: f, key: key, value: value, n: 1}
		if f != nil {
			next.n += f.n
		}
		if len(k.facts) >= maxKeptFact {
			clear(k.facts)
		}
		k.facts[at] = next
	}
	if f != nil {
		f.next = next
	}
	return next
}

// Attrs are the attributes found so far, nil for none: to be read only, since
// conversations share them.
func (f *Facts) Attrs() map[string]string {
	if f.attrs == nil {
		return nil
	}
	if f.attrs.all == nil {
		f.attrs.all = make(map[string]string, f.attrs.n)
		for a := f.attrs; a != nil; a = a.rest {
			f.attrs.all[a.key] = a.value
		}
	}
	return f.attrs.all
}
