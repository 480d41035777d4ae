package ledger

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// standing is what both directions of a connection have that is under way.
const standing = vHasNext | vHasAck | vHeard

// calm measures the segment that nearly every one is: the next in order of a connection
// that stands, of which the tracker has nothing to say. It reports whether s was one; if
// not, nothing was changed. What it does is what the long way (segment) does, whose
// questions all have their answer here.
func (t *talk) calm(f, o *voice, r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View) bool {
	d := s.Dir & 1
	switch {
	case m&^tcp.WindowUpdate != 0 || s.CE,
		s.Flags&(tcp.FlagSYN|tcp.FlagFIN|tcp.FlagRST|tcp.FlagACK) != tcp.FlagACK,
		!s.Stamped && len(s.Options) > 0,
		r.flags&(flagSYN|flagEstablished|flagUnscaled) != flagSYN|flagEstablished,
		f.flags&o.flags&(standing|vOdd) != standing,
		s.Seq != f.next:
		return false
	}
	if s.Len > 0 { // larger than agreed, or bytes that were there before
		if s.Len > t.mss || before(s.Seq, f.headSeq+uint32(f.headLen)) {
			return false
		}
	}
	r.last, r.stop = s.Frame, max(r.stop, s.Time)
	r.packets[d]++
	r.wire[d] += uint64(s.WireLen)
	t.silent(s)
	t.last = max(t.last, s.Time)
	f.heard = s.Time
	f.vote(s.TTL)
	if !s.IPv6 {
		f.follows(s.IPID)
		f.lastID = s.IPID
	}
	if s.Len > 0 {
		r.bytes[d] += uint64(s.Len)
		if int(s.Len) > len(s.Data) {
			r.flags |= flagSnapped
		} else if r.packets[d] <= fewSegments {
			f.sound++
		}
		f.counts(s, v)
		f.starts(s, s.Seq)
		f.optBytes, t.v6 = uint8(min(len(s.Options), maxOptions)), s.IPv6
	}
	if o.flags&vHurt != 0 {
		o.keepRun = 0
	}
	if v.RTT > 0 {
		t.sampled(o, d^1, s, v.RTT, v.RTTFrame)
	}
	if before(o.acked, s.Ack) {
		if t.bulk != nil {
			t.settle(d^1, s)
		}
		o.ackSum += uint64(s.Ack - o.acked)
		t.advance(o, d^1, s)
	}
	if s.Stamped && t.bulk != nil {
		t.echoed(o, s, s.TSVal, s.TSEcr)
	}
	// As soon as there may be something to say of the window: what is in flight is at
	// most the distance of the two numbers.
	if v.Window != f.window || f.shutAt|o.block != 0 || o.most == 0 || uint64(v.Window) < uint64(o.next-o.acked)+uint64(o.most) {
		t.announced(f, o, s, v)
	}
	if s.Len > 0 {
		if t.bulk == nil && f.segments >= bulkFrom {
			t.grow()
		}
		t.took(f, o, r, s, s.Seq+s.Len, s.Len)
	}
	return true
}

// silent notes the latest silence of the whole connection, before s.
func (t *talk) silent(s *tcp.Segment) {
	if s.Time-t.last >= quietFrom && t.last != 0 {
		t.quiet, t.quietEnd, t.quietFrame, t.quietDir = s.Time-t.last, s.Time, s.Frame, s.Dir&1
	}
}

// advance takes what is acknowledged of o's data, those of direction d.
func (t *talk) advance(o *voice, d flow.Dir, s *tcp.Segment) {
	o.acked, o.ackAt = s.Ack, s.Time
	if o.pendBy != 0 && !before(s.Ack, o.pend) {
		o.passed = max(o.passed, o.pendBy)
		o.pendBy = 0
	}
	if o.flags&vHurt != 0 {
		o.backoffRun = 0
		if o.tries > 0 && before(o.trySeq, s.Ack) {
			o.tries = 0
		}
	}
	if x := &t.turn; d == flow.ToServer && x.state == turnRequest && x.ackFrame == 0 && !before(s.Ack, x.reqSeq) {
		x.ackFrame, x.ackTime, x.ackPure = s.Frame, s.Time, s.Len == 0
	}
}

// counts takes the size of a segment with payload.
func (f *voice) counts(s *tcp.Segment, v *tcp.View) {
	f.segments++
	f.most = max(f.most, s.Len)
	f.flight = max(f.flight, v.InFlight)
	if f.firstAt == 0 {
		f.firstAt = s.Time
	}
}
