package ledger

import (
	"bytes"
	"encoding/binary"
	"slices"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// data measures a segment with payload.
func (t *talk) data(r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View, opt *options) {
	d := s.Dir & 1
	f := &t.voice[d]
	seq, end := s.Seq, s.Seq+s.Len
	if s.Flags&tcp.FlagSYN != 0 {
		seq, end = seq+1, end+1
	}
	if t.sums[d].verified(r, s) {
		f.sound++
	}
	f.counts(s, v)
	if t.mss > 0 && s.Len > t.mss {
		t.hurt()
		f.larges++
		t.prove(LargeSegments, s)
	}
	if t.bulk == nil && (f.segments >= bulkFrom || m.Has(tcp.Again|tcp.OutOfOrder|tcp.LostSegment)) {
		t.grow()
	}
	if f.headLen > 0 && f.contradicts(s) && (t.sums[d].n == 0 || t.offloaded(d)) && !m.Has(tcp.KeepAlive|tcp.ZeroWindowProbe) {
		t.hurt()
		f.conflicts++
		t.prove(Overlap, s)
	}
	f.starts(s, seq)
	if f.flags&vHasNext == 0 && m.Has(tcp.LostSegment) && v.Missing > 0 {
		f.next = seq - v.Missing
		f.flags |= vHasNext
	}
	isNew := f.flags&vHasNext == 0 || before(f.next, end)
	switch {
	case isNew && f.flags&vHasNext != 0 && before(seq, f.next) && f.next-seq >= 1:
		seq = f.next // the part that is new
		fallthrough
	case isNew:
		t.fresh(r, s, opt, seq, end)
	default:
		t.repeated(r, s, m, opt, seq, end)
		f.lastAt = max(f.lastAt, s.Time)
	}
	f.optBytes = uint8(min(len(s.Options), maxOptions))
	t.v6 = s.IPv6
}

// starts notes where a data segment begins, and its first bytes.
func (f *voice) starts(s *tcp.Segment, seq uint32) {
	f.headSeq, f.headLen, f.head = seq, uint8(min(len(s.Data), headSize)), s.Head
}

// contradicts reports whether a segment has other bytes where the one before it had
// its first.
func (f *voice) contradicts(s *tcp.Segment) bool {
	var head [headSize]byte
	binary.LittleEndian.PutUint64(head[:], f.head)
	have, data := head[:min(f.headLen, headSize)], s.Data
	if ahead := int(s.Seq - f.headSeq); ahead < len(have) {
		have = have[ahead:]
	} else if behind := int(f.headSeq - s.Seq); behind < len(data) {
		data = data[behind:]
	} else {
		return false
	}
	n := min(len(have), len(data))
	return n > 0 && !bytes.Equal(have[:n], data[:n])
}

// headSize is what of a segment's payload is remembered.
const headSize = 8

// maxOptions is the most that a header has room for (RFC 9293, 3.1).
const maxOptions = 40

// agreed is the largest payload that the handshake allows for; 0: unknown.
func (r *record) agreed() uint32 {
	if r.mss[0] == 0 || r.mss[1] == 0 {
		return 0
	}
	return uint32(min(r.mss[0], r.mss[1]))
}

// fresh takes bytes that nobody had seen before.
func (t *talk) fresh(r *record, s *tcp.Segment, opt *options, seq, end uint32) {
	d := s.Dir & 1
	f := &t.voice[d]
	if t.bulk != nil && f.flags&vHasNext != 0 && before(f.next, seq) {
		t.mending()
		t.bulk.dir[d].open(f, s, opt)
	}
	if f.tries != 0 && t.voice[d^1].flags&vHeard == 0 {
		f.tries = 0 // it went on, so somebody answered whom the tap does not see
	}
	if t.twice() {
		f.timed.sent(end, s.Time, s.Frame)
	}
	t.took(f, &t.voice[d^1], r, s, end, end-seq)
}

// took takes the n new bytes of a segment, which end it, of f for o.
func (t *talk) took(f, o *voice, r *record, s *tcp.Segment, end, n uint32) {
	d := s.Dir & 1
	if t.bulk != nil {
		t.bulk.dir[d].fresh(s, n)
	}
	// The gap that this segment ends. What waited, waited since the last of its own
	// direction's segments or since the last news from the other end.
	gap := s.Time - f.lastAt
	if f.lastAt == 0 {
		gap = 0
	}
	f.unique += uint64(n)
	if f.pendBy == 0 && s.Len > f.passed {
		f.pend, f.pendBy = end, s.Len
	}
	idle := int64(0)
	if gap < shortWait {
		if f.block != 0 {
			t.unblock(d)
		}
		f.burst += n
	} else {
		if t.speaking(d) {
			idle = t.explain(r, s, d, gap)
		} else if f.block != 0 {
			t.unblock(d)
		}
		f.burst = n
	}
	f.next = end
	f.flags |= vHasNext
	f.newAt = s.Time
	if uint64(o.window) < uint64(end-f.acked)+uint64(f.most) { // at least what is in flight
		t.filled(r, d, s.Time)
	}
	if d == flow.ToServer {
		t.clientSpoke(r, s, n, idle)
	} else {
		t.serverSpoke(r, s, n, gap, idle)
	}
	f.lastBy, f.push = s.Len, s.Flags&tcp.FlagPSH != 0
	f.lastAt = max(f.lastAt, s.Time)
	t.rec = max(t.rec, s.Time)
}

// smallSegment is a payload that any path passes: the smallest IPv6 MTU less the
// headers (RFC 8200, 5).
const smallSegment = 1280 - 40 - 20 - 12

// speaking reports whether the direction is in the middle of its turn, so that a
// gap in it is a wait within the turn.
func (t *talk) speaking(d flow.Dir) bool {
	if d == flow.ToServer {
		return t.turn.state == turnRequest
	}
	return t.turn.state == turnResponse
}

// explain gives the gap before new data of a turn to what it was waited for, and
// returns how long the sender was idle.
func (t *talk) explain(r *record, s *tcp.Segment, d flow.Dir, gap int64) (idle int64) {
	t.hurt()
	f := &t.voice[d]
	since, now := max(f.lastAt, f.ackAt), s.Time
	switch {
	case f.block != 0:
		return t.explainBlocked(s, d)
	case t.stuck(d):
		t.lossStall(d, since, now)
		return 0
	case numberMissing(f, s) && gap >= timerFloor:
		// IP IDs were used up during the silence: what they numbered was lost
		// before the tap.
		f.lost++
		t.lossStall(d, since, now)
		t.prove(Loss, s)
		if t.bulk != nil {
			l := &t.bulk.dir[d]
			l.events++
			l.beforeTap++
			l.byTimer++
			l.maxRun = max(l.maxRun, 1)
		}
		return 0
	case t.windowLimited(r, d, gap):
		t.log.add(waitWindow, d, since, now)
		f.winWait += now - since
		f.winMost = max(f.winMost, now-since)
		f.winTimes++
		t.prove(WindowFull, s)
		return 0
	case f.inFlight() > 0:
		return 0 // acknowledgements are on their way: the path's time
	}
	// Everything sent was acknowledged and there was room. The sender learned of
	// it half a round trip after the tap, and its data took as long to come.
	half := t.half(d ^ 1)
	if half == 0 && r.flags&flagMid != 0 {
		half = t.voice[d].rtt.max
	}
	start := since + half
	if now-start < shortWait || now-start < half/2 {
		return 0
	}
	idle = now - start
	t.log.add(waitIdle, d, start, now)
	f.idleWait += idle
	return idle
}

// windowLimited reports whether a gap of about a round trip came after a burst of
// the size of the window. At the receiver's side of the path that is all that shows:
// its acknowledgements pass the tap at once, and the sender waits for them.
func (t *talk) windowLimited(r *record, d flow.Dir, gap int64) bool {
	f, o := &t.voice[d], &t.voice[d^1]
	trip := t.roundTrip()
	if r.flags&flagSYN == 0 || o.window == 0 || trip == 0 || gap < trip/2 || gap > trip*3/2+shortWait {
		return false
	}
	return f.burst+f.most > o.maxWin && f.burst < o.maxWin+2*f.most
}

// numberMissing reports whether the sender's IP IDs tell that segments before this
// one did not reach the tap.
func numberMissing(f *voice, s *tcp.Segment) bool {
	// carrier has taken this segment's ID already and counted a jump.
	return !s.IPv6 && f.jumped
}

// lossStall notes a wait for something to be sent again.
func (t *talk) lossStall(d flow.Dir, from, to int64) {
	if to-from < shortWait {
		return
	}
	f := &t.voice[d]
	t.log.add(waitLoss, d, from, to)
	f.lossWait += to - from
	f.lossMost = max(f.lossMost, to-from)
}

// repeated takes a segment whose bytes lie below the highest seen: it came late, or
// was sent again.
func (t *talk) repeated(r *record, s *tcp.Segment, m tcp.Marks, opt *options, seq, end uint32) {
	d := s.Dir & 1
	f := &t.voice[d]
	if t.bulk == nil { // a keep-alive with more than one byte, at most
		return
	}
	t.hurt()
	t.mending()
	r.flags |= flagDoubt
	l := &t.bulk.dir[d]
	since := max(f.lastAt, f.ackAt)
	f.timed.again(seq)
	if t.sums[d].n > 0 {
		t.confirm(d, s, seq, end)
	}
	if h, hit := l.fill(seq, end); hit {
		f.unique += uint64(end - seq)
		if t.cameLate(f, s, opt, &h) {
			t.overtaken(d, s, s.Time-h.at)
			l.strays[l.strayAt%maxRepeats] = seq
			l.strayAt++
			return
		}
		if l.sackAt != 0 && before(l.sack, end) {
			l.sackFix = true
		}
		f.resent++
		t.prove(Retransmission, s)
		t.lose(s, opt, d, seq, end, true, since)
		l.heal(h.at, s.Time)
		return
	}
	f.again += uint64(s.Len)
	f.resent++
	t.prove(Retransmission, s)
	if m.Has(tcp.FastRetransmission) {
		f.fast++
	}
	if l.sackAt != 0 && before(l.sack, end) {
		l.sackFix = true
	}
	if f.pendBy != 0 && before(seq, f.pend) && s.Len < f.pendBy {
		f.pendBy = 0 // cut into smaller ones: nobody knows which passed
	}
	switch {
	case l.appeared(f, seq, end):
		f.resent-- // it is there once
		t.prove(CapturedLate, s)
		return
	case t.lateOriginal(f, s, opt, d, seq), l.strayed(seq):
		f.spurious++
		return
	case f.flags&vHasAck != 0 && !before(f.acked, end):
		// Acknowledged before: needless, unless the acknowledgement got lost on
		// its way and the sender waited for its timer.
		f.spurious++
		if t.speaking(d) && s.Time-since >= timerFloor {
			t.lossStall(d, since, s.Time)
		}
		return
	case f.block != 0 && f.shutBy:
		f.probes++
		f.probeRun++
		t.prove(ZeroWindow, s)
		return
	}
	t.attempt(s, d, seq)
	t.lose(s, opt, d, seq, end, false, since)
	if d == flow.ToClient && t.turn.state == turnResponse {
		t.turn.respEnd, t.turn.respLast = s.Time, s.Frame // the answer was not over
	}
	if l.healFrom == 0 {
		l.healFrom = s.Time
	}
	l.healTo = f.next
}

// cameLate tells a segment that was overtaken from one that was sent again: by its
// IP ID, its timestamp, or by having come too soon for a retransmission.
func (t *talk) cameLate(f *voice, s *tcp.Segment, opt *options, h *hole) bool {
	if !s.IPv6 && f.numbered() {
		return s.IPID-h.id > 1<<15-1
	}
	if back := h.id - s.IPID; !s.IPv6 && back > 0 && back <= maxMissing && s.IPID != 0 {
		return true // numbers are mixed up by the path only: a new one would be higher
	}
	if opt.stamped && h.stamped && opt.value != h.stamp {
		return before(opt.value, h.stamp)
	}
	limit := int64(reorderBlind)
	if trip := t.roundTrip(); trip > 0 {
		limit = min(trip*3/4, reorderCap)
	}
	return s.Time-h.at < limit
}

// lateOriginal reports whether a segment is one that was given up for lost and sent
// again, and that arrives after all: by its IP ID or timestamp it was sent before.
// The loss is taken back.
func (t *talk) lateOriginal(f *voice, s *tcp.Segment, opt *options, d flow.Dir, seq uint32) bool {
	l := &t.bulk.dir[d]
	for i := range l.repeats {
		a := &l.repeats[i]
		if a.at == 0 || !a.counted || before(seq, a.from) || !before(seq, a.to) {
			continue
		}
		switch {
		case !s.IPv6 && f.numbered():
			if a.id-s.IPID > 1<<15-1 || a.id == s.IPID {
				return false
			}
		case !s.IPv6 && s.IPID != a.id && a.id-s.IPID <= maxMissing && s.IPID != 0:
		case !opt.stamped || !a.stamped || !before(opt.value, a.stamp):
			return false
		}
		a.counted = false
		t.unlose(d)
		t.overtaken(d, s, s.Time-a.at)
		return true
	}
	return false
}

// strayed reports whether the segment at seq came late a while ago: what was sent
// again in the meantime is needless.
func (l *load) strayed(seq uint32) bool {
	return slices.Contains(l.strays[:], seq)
}

// attempt counts how often one segment was sent without any answer.
func (t *talk) attempt(s *tcp.Segment, d flow.Dir, seq uint32) {
	f := &t.voice[d]
	if f.tries == 0 || f.trySeq != seq {
		f.tries, f.trySeq, f.tryBytes = 1, seq, s.Len
		f.tryAt, f.tryIdle = f.lastAt, 0
		if t.quiet > 0 && t.quietDir == d && t.quietEnd <= f.lastAt {
			f.tryIdle = t.quiet
		}
	}
	f.tries++
	f.tryBytes = min(f.tryBytes, s.Len)
	t.prove(Unanswered, s)
	if f.tries > 3 && s.Len > smallSegment && t.bulk != nil {
		if l := &t.bulk.dir[d]; l.large == 0 || s.Len < l.large {
			l.large = s.Len
		}
		t.prove(PMTUBlackHole, s)
	}
}

// lose counts a lost segment and what it cost.
func (t *talk) lose(s *tcp.Segment, opt *options, d flow.Dir, seq, end uint32, beforeTap bool, since int64) {
	f, l := &t.voice[d], &t.bulk.dir[d]
	f.lost++
	t.prove(Loss, s)
	if beforeTap {
		l.beforeTap++
	} else {
		l.afterTap++
	}
	if l.lostAt != 0 && l.lostSeq == seq && s.Time-l.lostAt < second {
		l.run++
	} else {
		l.run = 1
		l.events++
	}
	l.maxRun = max(l.maxRun, l.run)
	l.lostSeq, l.lostAt = end, s.Time
	a := &l.repeats[l.next%maxRepeats]
	l.next++
	*a = again{from: seq, to: end, at: s.Time, counted: true, id: s.IPID, stamp: opt.value, stamped: opt.stamped}
	if s.Time-since >= shortWait {
		a.stalled = s.Time - since
		t.lossStall(d, since, s.Time)
	}
	if quiet := s.Time - max(f.lastAt, t.voice[d^1].heard); quiet >= timerFloor {
		f.timeouts++
		f.backoffRun++
		f.backoff = max(f.backoff, f.backoffRun)
		f.timerWait += quiet
		f.timerMost = max(f.timerMost, quiet)
		l.byTimer++
		t.prove(Timeout, s)
	}
}

// beyond looks at a segment without payload: it too shows that bytes are missing.
func (t *talk) beyond(s *tcp.Segment, opt *options) {
	f := &t.voice[s.Dir&1]
	if f.flags&vHasNext == 0 || s.Flags&tcp.FlagSYN != 0 {
		if s.Flags&tcp.FlagSYN == 0 {
			f.next = s.Seq
			f.flags |= vHasNext
		}
		return
	}
	if !before(f.next, s.Seq) {
		return
	}
	l := &t.grow().dir[s.Dir&1]
	t.mending()
	l.open(f, s, opt)
	f.next = s.Seq
}
