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
func (t *talk) calm(r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View) bool {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
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
		if mss := r.agreed(); mss > 0 && s.Len > mss || before(s.Seq, f.headSeq+uint32(f.headLen)) {
			return false
		}
	}
	t.silent(s)
	f.vote(s.TTL)
	if !s.IPv6 {
		f.follows(s.IPID)
		f.lastID = s.IPID
	}
	if o.flags&vHurt != 0 {
		o.keepRun = 0
	}
	if v.RTT > 0 {
		t.sampled(o, d^1, s, v.RTT, v.RTTFrame)
	}
	if before(o.acked, s.Ack) {
		t.progress(o, d^1, s, v)
	}
	if s.Stamped && t.bulk != nil {
		t.echoed(s, s.TSVal, s.TSEcr)
	}
	t.announced(f, o, r, s, v)
	if s.Len > 0 {
		if r.packets[d] <= fewSegments && int(s.Len) <= len(s.Data) {
			f.sound++
		}
		f.counts(s, v)
		if t.bulk == nil && f.segments >= bulkFrom {
			t.grow()
		}
		f.starts(s, s.Seq)
		t.took(f, o, r, s, s.Seq+s.Len, s.Len)
		f.lastAt = max(f.lastAt, s.Time)
		f.optBytes, t.v6 = uint8(min(len(s.Options), maxOptions)), s.IPv6
		t.rec = max(t.rec, s.Time)
	}
	f.heard = s.Time
	t.last = max(t.last, s.Time)
	return true
}

// silent notes the latest silence of the whole connection, before s.
func (t *talk) silent(s *tcp.Segment) {
	if s.Time-t.last >= quietFrom && t.last != 0 {
		t.quiet, t.quietEnd, t.quietFrame, t.quietDir = s.Time-t.last, s.Time, s.Frame, s.Dir&1
	}
}

// progress takes the first acknowledgement of some of direction d's data.
func (t *talk) progress(o *voice, d flow.Dir, s *tcp.Segment, v *tcp.View) {
	if t.bulk != nil {
		t.settle(d, s)
	}
	if o.flags&vHasAck != 0 {
		o.ackSum += uint64(s.Ack - o.acked)
	} else {
		o.ackSum += uint64(v.Acked)
	}
	if o.flags&vOdd != 0 && t.sums[d&1].n > 0 {
		t.excuse(d, s)
	}
	o.acked = s.Ack
	o.flags |= vHasAck
	o.ackAt = s.Time
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
	if x := &t.turn; x.state == turnRequest && x.ackFrame == 0 && d == flow.ToServer && !before(s.Ack, x.reqSeq) {
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
