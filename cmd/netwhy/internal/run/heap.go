package run

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// The heap may grow between two collections by twice of what lives, within these
	// bounds: with as much again as lives however large that is, as the runtime has it by
	// itself, a large capture takes twice its memory, and with less a small one, or a
	// large one while it is begun, is collected too often.
	leastHeadroom = 8 << 20
	mostHeadroom  = 24 << 20
	// A larger heap gets a share of it, or marking it would cost too much. It is
	// nearly all plain numbers, which cost the collector little.
	headroomShare = 10
	leastPercent  = 10
	mostPercent   = 200
	// What the heap had once it may have again, within this: the peak stays where it is,
	// and the end of a run, which makes less than the run held, is not collected.
	mostAgain = 1000

	defaultPercent = 100 // of the runtime, without GOGC
)

// tuneHeap sets the collector's pace after each collection, until the function that
// it returns is called. An explicit GOGC is respected.
func tuneHeap(getenv func(string) string) func() {
	if getenv("GOGC") != "" {
		return func() {}
	}
	t := &tuner{}
	t.arm()
	t.pace()
	return func() {
		t.over.Store(true)
		debug.SetGCPercent(defaultPercent)
	}
}

type tuner struct {
	over    atomic.Bool
	highest int64 // that the heap was allowed to grow to; of pace, which is never called twice at a time
}

// arm leaves an object for the next collection to find dead. What is done then is
// done after that collection.
func (t *tuner) arm() {
	type sentinel struct{ _ [16]byte }
	runtime.AddCleanup(&sentinel{}, func(t *tuner) {
		if !t.over.Load() {
			t.pace()
			t.arm()
		}
	}, t)
}

// pace sets the percentage that gives the heap its headroom.
func (t *tuner) pace() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	n := int64(1 << 20)
	if live[0].Value.Kind() == metrics.KindUint64 {
		n = max(n, int64(live[0].Value.Uint64())) //nolint:gosec // a heap is below 2^63
	}
	p := percent(n, t.highest)
	t.highest = max(t.highest, n+n*int64(p)/100)
	debug.SetGCPercent(p)
}

// percent is the collector's pace for a heap with so many live bytes, which was allowed
// to grow to the highest before.
func percent(live, highest int64) int {
	headroom := max(min(max(leastHeadroom, 2*live), mostHeadroom), live/headroomShare)
	p := min(max((100*headroom+live-1)/live, leastPercent), mostPercent)
	return int(max(p, min((100*(highest-live))/live, mostAgain)))
}
