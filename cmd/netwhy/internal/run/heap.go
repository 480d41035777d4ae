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
	mostHeadroom  = 18 << 20
	// What lives in a larger one costs more to mark: it may grow by a quarter.
	largeShare    = 4
	largeHeadroom = 24 << 20
	// A still larger heap is nearly all plain numbers, which cost the collector little.
	headroomShare = 10
	leastPercent  = 10
	mostPercent   = 200

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

type tuner struct{ over atomic.Bool }

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
func (*tuner) pace() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	n := int64(1 << 20)
	if live[0].Value.Kind() == metrics.KindUint64 {
		n = max(n, int64(live[0].Value.Uint64())) //nolint:gosec // a heap is below 2^63
	}
	debug.SetGCPercent(percent(n))
}

// percent is the collector's pace for a heap with so many live bytes.
func percent(live int64) int {
	headroom := max(min(max(leastHeadroom, 2*live), mostHeadroom), min(live/largeShare, largeHeadroom), live/headroomShare)
	return int(min(max((100*headroom+live-1)/live, leastPercent), mostPercent))
}
