package hosts

import "iter"

// perPage is the number of things that there is made room for at once.
const perPage = 32

// List is a list of records. A slice that grows by being copied touches twice the
// memory, and what of it is empty the garbage collector reads before it is written:
// each page of memory then faults twice. What At returns stays where it is. The zero
// value is ready.
type List[T any] struct {
	pages []*[perPage]T
	n     int
	none  []T // a page of nothing
}

// Len is the number of records.
func (l *List[T]) Len() int { return l.n }

// At is the record at a place, from 0.
func (l *List[T]) At(i int) *T { return &l.pages[uint(i)/perPage][uint(i)%perPage] }

// Add appends one.
func (l *List[T]) Add(v *T) {
	if l.n == len(l.pages)*perPage {
		l.pages = append(l.pages, l.page())
	}
	l.n++
	*l.At(l.n - 1) = *v
}

// page returns an empty one that was written: memory that is read before it is written is
// had from the system twice. To clear it would read it first, for the sake of pointers, as
// long as the garbage collector marks. What is made and copied to at once is not read.
func (l *List[T]) page() *[perPage]T {
	if l.none == nil {
		l.none = make([]T, perPage)
	}
	none := l.none
	page := make([]T, len(none))
	copy(page, none)
	return (*[perPage]T)(page)
}

// Cut leaves the first n.
func (l *List[T]) Cut(n int) {
	var none T
	for i := n; i < l.n; i++ {
		*l.At(i) = none
	}
	left := (n + perPage - 1) / perPage
	clear(l.pages[left:])
	l.pages, l.n = l.pages[:left], n
}

// All walks the list in its order.
func (l *List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range l.n {
			if !yield(l.At(i)) {
				return
			}
		}
	}
}
