package ledger

import (
	"encoding/binary"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// rtt gathers the round trips between the tap and one end: from its data's passing
// the tap to the acknowledgement's (Karn's rule applied by the tracker).
type rtt struct {
	min, max int64 // ns; min 0: no sample
	last     int64
	change   int64 // sum of the differences of successive samples, ns
	smooth   int64 // of pure ACKs, 1/8 of each new one (RFC 6298, 2.3)
	kept     kept
}

// best shows the smallest round trip: the frames of the data and of its ACK, and when
// that came.
type best struct {
	data, ack uint64
	ackAt     int64
}

const (
	fewSamples  = 4
	manySamples = 64
)

// sampled takes a round trip of direction d, above 0, which s showed by acknowledging
// what frame of brought.
func (t *talk) sampled(o *voice, d flow.Dir, s *tcp.Segment, ns int64, of uint64) {
	x := &o.rtt
	if x.min == 0 || ns < x.min {
		x.min, o.best = ns, best{of, s.Frame, s.Time}
	}
	x.max = max(x.max, ns)
	if x.kept.seen > 0 {
		x.change += max(ns-x.last, x.last-ns)
	}
	x.last = ns
	if s.Len == 0 { // it did not wait for an answer
		if x.smooth == 0 {
			x.smooth = ns
		} else {
			x.smooth += (ns - x.smooth) / 8
		}
		if t.bulk != nil {
			t.bulk.dir[d&1].acked(ns, s, o.inFlight())
		}
	}
	if x.kept.takes() {
		x.kept.put(t.samples(d), micros(ns))
	}
}

// samples returns where a direction's round trips are kept.
func (t *talk) samples(d flow.Dir) []uint32 {
	if t.bulk != nil {
		return t.bulk.dir[d&1].rtts[:]
	}
	return t.voice[d&1].few[:]
}

// trips sums up the round trips of a direction.
func (t *talk) trips(d flow.Dir) conn.RTT {
	r := &t.voice[d].rtt
	at := ranked(t.samples(d)[:r.kept.n], 0.5, 0.95)
	out := conn.RTT{
		Samples: r.kept.seen, Min: r.min, Max: r.max,
		Median: int64(at[0]) * microsecond, P95: int64(at[1]) * microsecond,
	}
	out.Median = max(min(out.Median, out.Max), out.Min) // microseconds are coarser than Min and Max
	out.P95 = max(min(out.P95, out.Max), out.Min)
	if r.kept.seen > 1 {
		out.Jitter = r.change / int64(r.kept.seen-1)
	}
	return out
}

// timed is one segment under way, timed by the books themselves.
type timed struct {
	end   uint32
	busy  bool
	at    int64
	frame uint64
}

func (x *timed) sent(end uint32, at int64, frame uint64) {
	if !x.busy {
		*x = timed{end: end, busy: true, at: at, frame: frame}
	}
}

// again forgets a segment when something up to it is sent again (Karn's rule).
func (x *timed) again(from uint32) {
	if x.busy && before(from, x.end) {
		x.busy = false
	}
}

// acked returns how long the segment took, 0 if it was not acknowledged now.
func (x *timed) acked(ack uint32, at int64) (took int64, frame uint64) {
	if !x.busy || before(ack, x.end) {
		return 0, 0
	}
	x.busy = false
	return at - x.at, x.frame
}

// echo measures round trips by TCP timestamps (RFC 7323, 4): a value that one end
// sent, until the other end returns it. It sees the round trip on the far side of
// the tap even when data flows only towards the tap. A few values are under way at
// a time, which gives some samples a round trip.
type echo struct {
	values [echoSlots]uint32
	times  [echoSlots]int64 // when they passed the tap
	head   uint8            // oldest under way
	n      uint8            // under way
	last   uint32           // latest value taken
	lastAt int64            // when it passed the tap
	space  int64            // least distance of two, ns
	heard  int64            // last segment of the other end
	gap    int64            // longest recent silence of the other end
	gapEnd int64            // when that ended
}

const echoSlots = 8

// leave notes a segment that carries the timestamp value.
func (e *echo) leave(value uint32, at int64) {
	if value == e.last || e.n == echoSlots || at-e.lastAt < e.space {
		return
	}
	i := (e.head + e.n) % echoSlots
	e.values[i], e.times[i] = value, at
	e.n++
	e.last, e.lastAt = value, at
	if e.heard == 0 {
		e.heard = at
	}
}

// back takes a segment of the other end that echoes a value and returns a sample,
// or 0. The other end answers only when it has something to send: a sample counts
// only if the other end was sending all the while, so that what it shows is the
// path and not a pause.
func (e *echo) back(echoed uint32, at int64) (took int64) {
	if gap := at - e.heard; e.heard != 0 && (gap >= e.gap || e.n > 0 && e.gapEnd < e.times[e.head]) {
		e.gap, e.gapEnd = gap, at
	}
	e.heard = at
	for e.n > 0 && !before(echoed, e.values[e.head]) {
		left := e.times[e.head]
		if echoed == e.values[e.head] {
			took = at - left
			e.space = took / echoSlots
			if e.gapEnd > left && e.gap > took/2 {
				took = 0
			}
		}
		e.head = (e.head + 1) % echoSlots
		e.n--
	}
	return took
}

// options are what the books read of a segment's options.
type options struct {
	value, echo uint32    // timestamps
	stamped     bool      // there are timestamps
	blocks      int       // SACK blocks
	block       [2]uint32 // the first of them
	second      [2]uint32 // the second of them
}

// Kinds of TCP options (IANA).
const (
	kindEnd   = 0
	kindNop   = 1
	kindMSS   = 2
	kindScale = 3
	kindSACKs = 4
	kindSACK  = 5
	kindStamp = 8
)

// parse reads timestamps and SACK blocks. The usual layout (RFC 7323, appendix A)
// comes first.
func (o *options) parse(b []byte) {
	o.stamped, o.blocks = false, 0
	if len(b) >= 12 && b[0] == kindNop && b[1] == kindNop && b[2] == kindStamp && b[3] == 10 {
		o.value, o.echo, o.stamped = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), true
		b = b[12:]
	}
	for len(b) > 0 {
		switch b[0] {
		case kindEnd:
			return
		case kindNop:
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		switch {
		case b[0] == kindStamp && b[1] == 10:
			o.value, o.echo, o.stamped = binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:]), true
		case b[0] == kindSACK && b[1] >= 10:
			o.blocks = int(b[1]-2) / 8
			o.block = [2]uint32{binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:])}
			if o.blocks > 1 {
				o.second = [2]uint32{binary.BigEndian.Uint32(b[10:]), binary.BigEndian.Uint32(b[14:])}
			}
		}
		b = b[b[1]:]
	}
}

// duplicate reports whether the first SACK block tells of bytes received twice
// (RFC 2883, 4): they are below the acknowledgement or inside the second block.
func (o *options) duplicate(ack uint32) bool {
	if o.blocks == 0 {
		return false
	}
	if before(o.block[0], ack) {
		return true
	}
	return o.blocks > 1 && !before(o.block[0], o.second[0]) && !before(o.second[1], o.block[1])
}

// handshakeOptions reads what a SYN or SYN-ACK offers.
func (r *record) handshakeOptions(s *tcp.Segment) {
	d := s.Dir & 1
	r.scale[d] = -1
	defer func() {
		if s.Header == tcp.HeaderCut && r.scale[d] < 0 {
			r.flags |= flagUnscaled
		}
	}()
	for b := s.Options; len(b) > 0; {
		switch b[0] {
		case kindEnd:
			return
		case kindNop:
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		switch {
		case b[0] == kindMSS && b[1] == 4:
			r.mss[d] = binary.BigEndian.Uint16(b[2:])
		case b[0] == kindScale && b[1] == 3:
			r.scale[d] = int8(min(b[2], 14)) // RFC 7323, 2.3
		case b[0] == kindSACKs && b[1] == 2:
			r.flags |= side(flagSACK, d)
		}
		b = b[b[1]:]
	}
}

// before reports whether a comes before b in sequence space (RFC 9293, 3.4).
func before(a, b uint32) bool { return a-b > 1<<31-1 }
