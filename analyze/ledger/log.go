package ledger

import "netwhy/analyze/flow"

// wait is a kind of time that a wait in the log is given to.
type wait uint8

const (
	waitLoss wait = iota
	waitWindow
	waitIdle
	waits
)

// stall is a wait of one direction. Merged ones hold less than their length.
type stall struct {
	start, end int64
	ns         [waits]int64
	dir        flow.Dir
}

// maxStalls bounds the log. When it is full, neighbours are merged in pairs: the
// sums stay exact, only where within the pair's span they lie gets coarser.
const maxStalls = 64

// stallLog holds the waits of a connection in the order of their ends.
type stallLog struct {
	list []stall
}

func (g *stallLog) add(kind wait, d flow.Dir, start, end int64) {
	if end <= start {
		return
	}
	if len(g.list) == maxStalls {
		g.merge()
	}
	s := stall{start: start, end: end, dir: d}
	s.ns[kind] = end - start
	g.list = append(g.list, s)
}

// merge halves the older half of the log.
func (g *stallLog) merge() {
	out := g.list[:0]
	i := 0
	for ; i+1 < maxStalls/2; i += 2 {
		a, b := g.list[i], g.list[i+1]
		if a.dir != b.dir {
			// Directions are kept apart only as far as there is room.
			b.dir = a.dir
		}
		m := stall{start: min(a.start, b.start), end: max(a.end, b.end), dir: b.dir}
		room := m.end - m.start
		for k := range waits {
			m.ns[k] = min(a.ns[k]+b.ns[k], room)
			room -= m.ns[k]
		}
		out = append(out, m)
	}
	out = append(out, g.list[i:]...)
	g.list = out
}

// within returns how much of the interval was spent waiting, by kind. No instant
// counts twice, so the sum is at most to-from.
func (g *stallLog) within(from, to int64) (sum [waits]int64) {
	cursor := from
	for i := range g.list {
		s := &g.list[i]
		a, b := max(s.start, cursor), min(s.end, to)
		if b <= a {
			continue
		}
		part, length := b-a, s.end-s.start
		for k, ns := range s.ns {
			if ns == length {
				sum[k] += part
			} else if ns > 0 {
				// A share of a merged wait: rounded down, the rest is not waited.
				sum[k] += int64(float64(ns) / float64(length) * float64(part))
			}
		}
		cursor = b
	}
	return sum
}
