package correlate

import (
	"iter"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
)

// pages is a list whose places count from 1.
type pages[T any] struct{ list hosts.List[T] }

func (p *pages[T]) len() int { return p.list.Len() }

// add returns the place of one more.
func (p *pages[T]) add(v T) uint32 {
	p.list.Add(&v)
	return uint32(p.list.Len()) //nolint:gosec // bounded by who adds
}

func (p *pages[T]) at(place uint32) *T { return p.list.At(int(place) - 1) }

func (p *pages[T]) each() iter.Seq[*T] { return p.list.All() }

// cases are the records of hosts, pairs or services.
type cases[V any] struct {
	places hosts.Table[uint32] // in all
	all    pages[V]
}

// get returns the record of a key and its place; nil: there is none.
func (c *cases[V]) get(k uint64) (v *V, at uint32) {
	if at = c.places.Get(k); at == 0 {
		return nil, 0
	}
	return c.all.at(at), at
}

// entry is get, with a record made where there is none, of at most so many. A key of
// 0 is of nobody who has a number.
func (c *cases[V]) entry(k uint64, most int) (v *V, at uint32) {
	if v, at = c.get(k); at != 0 || k == 0 || c.all.len() >= most {
		return v, at
	}
	var fresh V
	at = c.all.add(fresh)
	*c.places.At(k) = at
	return c.all.at(at), at
}

// healthy counts, by key, what speaks against a case: mostly there is nothing else,
// and a number is a tenth of a record.
type healthy struct{ n hosts.Table[uint32] }

// count adds one; false: there is no room for another key.
func (h *healthy) count(k uint64) bool {
	if h.n.Len() >= maxPairs && h.n.Get(k) == 0 {
		return false
	}
	*h.n.At(k)++
	return true
}

// unsure reports whether there may be some of a key that were not counted.
func (h *healthy) unsure(k uint64) bool { return h.n.Len() >= maxPairs && h.n.Get(k) == 0 }

// pace counts by the second.
type pace struct {
	second         int64 // that is being counted
	inSecond, peak uint64
}

func (p *pace) tick(at int64) {
	if sec := at / second; sec != p.second {
		p.second, p.inSecond = sec, 0
	}
	p.inSecond++
	p.peak = max(p.peak, p.inSecond)
}

// portBits is the width of a port in a key.
const portBits = 16

// pair is the key of a host or of the place of a record, and a host.
func pair[T ~uint32](a T, b hosts.Number) uint64 {
	if a == 0 || b == 0 {
		return 0
	}
	return uint64(a)<<hosts.Bits | uint64(b)
}

// service is the key of a host or of the place of a record, and a port.
func service[T ~uint32](a T, port uint16) uint64 {
	if a == 0 {
		return 0
	}
	return uint64(a)<<portBits | uint64(port)
}

// stationKey is the key of a hardware address.
func stationKey(mac [6]byte) uint64 {
	return 1<<48 | uint64(mac[0])<<40 | uint64(mac[1])<<32 | uint64(mac[2])<<24 | uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
}

// stationOf is its inverse.
func stationOf(k uint64) (mac [6]byte) {
	for i := range mac {
		mac[i] = byte(k >> (40 - 8*i)) //nolint:gosec // one byte of six
	}
	return mac
}

// maxTrail bounds the frames that one correlator remembers for all its evidence.
const maxTrail = 1 << 21

// trail holds the frames of many evidences of one correlator, each of which knows
// the latest of its own: most have one or two, and a slice for each would be a
// pointer for each.
type trail struct{ frames pages[step] }

// step is a frame, and the place of the one noted before it for the same evidence.
type step struct {
	frame  uint64
	before uint32
}

// evidence gathers frames that come in no order.
type evidence struct {
	first, last uint64 // frames
	start, end  int64
	count       uint64
	latest      uint32 // place in the trail; 0: none
	noted       uint32 // frames in the trail
}

func (e *evidence) add(t *trail, frame uint64, start, stop int64) {
	if e.count == 0 || frame < e.first {
		e.first, e.start = frame, start
	}
	if e.count == 0 || frame >= e.last {
		e.last, e.end = frame, max(start, stop)
	}
	e.count++
	if e.noted < 4*finding.MaxFrames && t.frames.len() < maxTrail {
		e.latest = t.frames.add(step{frame, e.latest})
		e.noted++
	}
}

func (e *evidence) seconds() float64 { return float64(e.end-e.start) / 1e9 }

// done is the evidence in the order of frames, within its bounds.
func (e *evidence) done(t *trail) finding.Evidence {
	frames := append(make([]uint64, 0, e.noted+2), e.first, e.last)
	for at := e.latest; at != 0; {
		s := t.frames.at(at)
		frames = append(frames, s.frame)
		at = s.before
	}
	slices.Sort(frames)
	frames = slices.Compact(frames)
	if n := len(frames); n > finding.MaxFrames {
		frames[finding.MaxFrames-1] = frames[n-1]
		frames = frames[:finding.MaxFrames]
	}
	return finding.Evidence{
		First: e.first, Start: e.start, Last: e.last, End: e.end, Count: e.count, Frames: slices.Clone(frames),
	}
}
