package ledger

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// bulk is what a connection costs that carries much, or that has trouble with its
// data.
type bulk struct {
	dir   [2]load
	mends *[2]mend // nil until there is trouble
}

// bulkFrom is the number of data segments of one direction from which a connection
// counts as bulky.
const bulkFrom = 24

const (
	maxHoles   = 12
	maxRepeats = 12
	maxGhosts  = 8
	maxBins    = 32
	firstBin   = 20 * millisecond
)

// load is the bulk of one direction.
type load struct {
	rtts   [manySamples]uint32 // µs, of voice.rtt
	loaded [manySamples]uint32 // µs, round trips under load, by ACK or timestamp
	kept   kept                // of loaded
	base   int64               // smallest of those, ns; 0: none
	peak   int64               // largest, ns
	baseIn at                  // frames that show them
	peakIn at
	pairs  pairs // round trip repeatst bytes in flight
	echo   echo
	prints manyPrints // instead of voice.prints
	lateBy int64      // longest that a segment was overtaken by, ns

	*mend        // never nil, see mending
	nHoles uint8 // of mend.holes

	healFrom int64  // since when it has been recovering from loss; 0: not
	healTo   uint32 // sequence number whose acknowledgement ends the recovery
	healing  int64  // ns spent recovering
	healedAt int64  // up to when that is counted

	events    uint32 // separate losses
	run       uint32 // of the current one
	maxRun    uint32
	lostSeq   uint32 // end of the latest loss
	lostAt    int64
	byTimer   uint32 // losses that only a timer found
	beforeTap uint32
	afterTap  uint32
	dupRun    uint32
	large     uint32 // smallest payload sent again in vain for three times; 0: none

	sack    uint32 // acknowledgement above which there is a hole
	sackAt  int64  // since when; 0: none
	sackFix bool   // it was mended by sending again

	bin   int64 // width of a bin, ns
	binAt int64 // start of the first
	nowAt int64 // start of that of the latest bytes, and its number
	now   uint8
	bins  [maxBins]uint32
	dry   int64 // ns with nothing in flight while the direction was active
	dryAt int64 // since when nothing is in flight; 0: something is
}

// mend is what is remembered of one direction once something was lost, sent again or
// overtaken.
type mend struct {
	holes   [maxHoles]hole
	repeats [maxRepeats]again  // ring of segments sent again
	strays  [maxRepeats]uint32 // ring of sequence numbers that came late
	ghosts  [maxGhosts]ghost   // ring of ranges acknowledged before they were seen
	delays  [8]uint32          // µs, of overtaken segments
	late    kept               // of delays
	next    uint8              // of repeats
	strayAt uint8
	ghostAt uint8
}

// hole is a range that was not seen while later bytes were.
type hole struct {
	from, to uint32
	at       int64
	frame    uint64
	stamp    uint32
	id       uint16
	stamped  bool
	small    bool // only small segments came behind it
}

// ghost is a range that was acknowledged although it is not in the capture.
type ghost struct{ from, to uint32 }

// haunt takes a range that was acknowledged and not seen.
func (l *load) haunt(from, to uint32) {
	l.ghosts[l.ghostAt%maxGhosts] = ghost{from, to}
	l.ghostAt++
}

// appeared reports whether a segment belongs to what was acknowledged without having
// been seen: the capture holds it, in the wrong place. What was taken for missing is
// not.
func (l *load) appeared(f *voice, seq, end uint32) bool {
	for i := range l.ghosts {
		g := &l.ghosts[i]
		if before(seq, g.from) || before(g.to, end) || g.from == g.to {
			continue
		}
		f.missing -= min(f.missing, uint64(end-seq))
		f.misplaced++
		if seq == g.from {
			g.from = end
		}
		if g.from == g.to {
			f.unseen -= min(f.unseen, 1)
		}
		return true
	}
	return false
}

// again is a segment that was sent again.
type again struct {
	from, to uint32
	at       int64
	stalled  int64
	stamp    uint32 // its timestamp
	id       uint16 // its IP ID
	stamped  bool
	counted  bool // as lost
}

// grow gives a connection its bulk.
func (t *talk) grow() *bulk {
	if t.bulk == nil {
		t.bulk = t.b.bulks.get()
		t.bulk.dir[0].mend, t.bulk.dir[1].mend = t.b.noMend, t.b.noMend
		for d := range t.voice {
			f, l := &t.voice[d], &t.bulk.dir[d]
			copy(l.rtts[:], f.few[:f.rtt.kept.n])
			l.prints.begin(&f.prints)
		}
	}
	return t.bulk
}

// mending makes sure that there is room to remember what has to be mended. Everything
// that writes to mend calls it first.
func (t *talk) mending() {
	x := t.bulk
	if x.mends == nil {
		x.mends = t.b.mends.get()
		x.dir[0].mend, x.dir[1].mend = &x.mends[0], &x.mends[1]
	}
}

// sample notes a round trip under load, that a segment showed.
func (l *load) sample(ns int64, s *tcp.Segment) {
	if l.base == 0 || ns < l.base {
		l.base, l.baseIn = ns, at{s.Frame, s.Time}
	}
	if ns > l.peak {
		l.peak, l.peakIn = ns, at{s.Frame, s.Time}
	}
	if l.kept.takes() {
		l.kept.put(l.loaded[:], micros(ns))
	}
}

// acked notes a round trip of data and its pure ACK, with the bytes in flight.
func (l *load) acked(ns int64, s *tcp.Segment, inFlight uint32) {
	l.sample(ns, s)
	l.pairs.add(float64(inFlight), float64(ns))
}

// fresh takes n bytes of s that nobody had seen before.
func (l *load) fresh(s *tcp.Segment, n uint32) {
	if l.nHoles > 0 && s.Len > smallSegment {
		for i := range l.holes[:min(l.nHoles, maxHoles)] {
			l.holes[i].small = false
		}
	}
	if l.dryAt != 0 {
		l.dry += max(0, s.Time-l.dryAt)
		l.dryAt = 0
	}
	if in := s.Time - l.nowAt; in >= 0 && in < l.bin {
		l.bins[l.now%maxBins] += n
	} else {
		l.count(s.Time, n)
	}
}

// count adds new bytes to the bin of their time, which is not that of the latest. When
// the bins are used up they are joined in pairs.
func (l *load) count(at int64, n uint32) {
	if l.bin == 0 {
		l.bin, l.binAt = firstBin, at
	}
	i := (at - l.binAt) / l.bin
	for i >= maxBins {
		for k := range maxBins / 2 {
			l.bins[k] = l.bins[2*k] + l.bins[2*k+1]
		}
		clear(l.bins[maxBins/2:])
		l.bin *= 2
		i = (at - l.binAt) / l.bin
	}
	if i >= 0 {
		l.bins[i] += n
		l.now, l.nowAt = uint8(i), l.binAt+i*l.bin
	}
}

// heal counts a time of recovery; none counts twice.
func (l *load) heal(from, to int64) {
	from = max(from, l.healedAt)
	if to > from {
		l.healing += to - from
		l.healedAt = to
	}
}

// stuck reports whether the direction waits for something to be sent again.
func (t *talk) stuck(d flow.Dir) bool {
	if t.bulk == nil {
		return false
	}
	l := &t.bulk.dir[d]
	return l.nHoles > 0 || l.healFrom != 0
}

// open notes a hole before the segment.
func (l *load) open(f *voice, s *tcp.Segment, opt *options) {
	if l.nHoles == maxHoles {
		copy(l.holes[:], l.holes[1:])
		l.nHoles--
	}
	l.holes[l.nHoles] = hole{
		from: f.next, to: s.Seq, at: s.Time, frame: s.Frame, id: s.IPID,
		stamp: opt.value, stamped: opt.stamped, small: true,
	}
	l.nHoles++
}

// fill takes a range out of the holes and returns the hole that it was in.
func (l *load) fill(from, to uint32) (h hole, hit bool) {
	for i := 0; i < int(l.nHoles); i++ {
		g := &l.holes[i]
		if !before(from, g.to) || !before(g.from, to) {
			continue
		}
		h, hit = *g, true
		switch {
		case !before(g.from, from) && !before(to, g.to): // all of it
			copy(l.holes[i:], l.holes[i+1:l.nHoles])
			l.nHoles--
			i--
		case !before(g.from, from):
			g.from = to
		case !before(to, g.to):
			g.to = from
		case int(l.nHoles) < maxHoles:
			rest := *g
			rest.from = to
			g.to = from
			copy(l.holes[i+2:], l.holes[i+1:l.nHoles])
			l.holes[i+1] = rest
			l.nHoles++
			i++
		default:
			g.to = from
		}
	}
	return h, hit
}

// settle takes an acknowledgement of the direction's data, before it is noted:
// holes below it are no network losses any more, recovery may be over, and what
// overtook what behind the tap shows.
func (t *talk) settle(d flow.Dir, s *tcp.Segment) {
	l, f := &t.bulk.dir[d], &t.voice[d]
	for l.nHoles > 0 && !before(s.Ack, l.holes[0].to) {
		// Acknowledged without having been seen: missing in the capture.
		t.hurt()
		f.unseen++
		f.missing += uint64(l.holes[0].to - l.holes[0].from)
		l.haunt(l.holes[0].from, l.holes[0].to)
		t.prove(CaptureGap, s)
		copy(l.holes[:], l.holes[1:l.nHoles])
		l.nHoles--
	}
	if l.healFrom != 0 && !before(s.Ack, l.healTo) {
		l.heal(l.healFrom, s.Time)
		l.healFrom = 0
	}
	if l.sackAt != 0 && before(l.sack, s.Ack) {
		if !l.sackFix && s.Time-l.sackAt < reorderCap {
			// The hole behind the tap closed by itself.
			t.overtaken(d, s, s.Time-l.sackAt)
		}
		l.sackAt = 0
	}
	if s.Ack == f.next && l.dryAt == 0 {
		l.dryAt = s.Time
	}
}

// sacked notes that the receiver reports a hole.
func (l *load) sacked(s *tcp.Segment, opt *options) {
	if l.sackAt != 0 || !before(s.Ack, opt.block[0]) {
		return
	}
	for i := range l.repeats {
		if a := &l.repeats[i]; a.at != 0 && !before(s.Ack, a.from) && before(s.Ack, a.to) {
			return // it is being mended already
		}
	}
	l.sack, l.sackAt, l.sackFix = s.Ack, s.Time, false
}

// overtaken counts a segment of direction d that came late.
func (t *talk) overtaken(d flow.Dir, s *tcp.Segment, by int64) {
	t.hurt()
	l := &t.bulk.dir[d]
	t.mending()
	t.voice[d].late++
	if l.late.takes() {
		l.late.put(l.delays[:], micros(by))
	}
	l.lateBy = max(l.lateBy, by)
	t.prove(OutOfOrder, s)
}

// duplicateReported takes a D-SACK for data of direction d: the latest segment sent
// again in that range was not lost after all.
func (t *talk) duplicateReported(d flow.Dir, opt *options) {
	t.hurt()
	f := &t.voice[d]
	f.dsacks++
	if t.bulk == nil {
		t.copies[d].reactions++
		return
	}
	l := &t.bulk.dir[d]
	for i := range l.repeats {
		a := &l.repeats[i]
		if a.at == 0 || !before(opt.block[0], a.to) || !before(a.from, opt.block[1]) {
			continue
		}
		a.at = 0
		f.spurious++
		if a.counted {
			t.unlose(d)
		}
		return
	}
	t.copies[d].reactions++
}

// unlose takes back a loss that was none.
func (t *talk) unlose(d flow.Dir) {
	f, l := &t.voice[d], &t.bulk.dir[d]
	f.lost -= min(f.lost, 1)
	l.afterTap -= min(l.afterTap, 1)
	l.events -= min(l.events, 1)
	if f.lost == 0 {
		l.maxRun = 0
	}
}
