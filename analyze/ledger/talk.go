package ledger

import (
	"math"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// Times that decide. All are ns.
const (
	millisecond = 1_000_000
	second      = 1_000_000_000

	// shortWait is the shortest wait that is noted: below it nobody waits.
	shortWait = 5 * millisecond
	// quietFrom is the shortest silence of a whole connection that is remembered.
	quietFrom = 500 * millisecond
	// timerFloor is the quickest that a retransmission timer runs out: Linux waits
	// 200 ms at least (RFC 6298 asks for 1 s), its clock and the tap's differ.
	timerFloor = 150 * millisecond
	// reorderCap is the latest that an overtaken segment can be told from one sent
	// again by time alone.
	reorderCap = 50 * millisecond
	// reorderBlind is that where the round trip is unknown.
	reorderBlind = 3 * millisecond
)

// talk is what a conversation with payload, or with trouble, costs beyond its
// record. What few conversations need lies elsewhere.
type talk struct {
	last int64 // time of the last segment of either side
	rec  int64 // time of the last payload of either side
	bulk *bulk // nil until there is much data, or trouble with it
	b    *Books

	// the latest silence of the whole connection that was at least quietFrom long
	quiet      int64 // its length; 0: none
	quietEnd   int64 // time of the segment that ended it
	quietFrame uint64
	quietDir   flow.Dir

	tls    bool // the first bytes look like TLS
	v6     bool
	pastAt uint8
	mss    uint32 // largest payload that the handshake allows for; 0: unknown

	turn  turn
	voice [2]voice
	past  [2]asked // requests of earlier turns, newest at pastAt-1

	reqMin, reqMax uint32 // bytes of a request
	reqs           uint32
	reqSum         uint64
	firstThink     int64 // pause between the handshake and the first request

	*rare                    // never nil; the shared empty one until there is trouble
	own    *tally            // of turns that the books saw; never nil
	told   *tally            // of exchanges that analyzers found; never nil
	worst  [2]*conn.Exchange // of own and of told exchanges
	log    stallLog
	notes  []note
	tlsAt  [2]int64 // start and end of the TLS handshake
	lookup [2]int64 // start and end of the lookup before the connection
	synAt  int64    // time of the last SYN before the SYN-ACK
	sackAt int64    // time of the last SYN-ACK
}

// rare is what is noted of a conversation once there was trouble, or a pause.
type rare struct {
	harm   [2]harm
	copies [2]twins
	sums   [2]sums
	pauses pauses
	resets resets
	icmp   icmp
}

// hurt makes sure that there is room to note trouble. Everything that writes to
// rare or harm calls it first.
func (t *talk) hurt() {
	if t.rare != t.b.none {
		return
	}
	t.rare = t.b.rares.get()
	for d := range t.voice {
		t.voice[d].harm = &t.harm[d]
		t.voice[d].flags |= vHurt
	}
}

// odd makes the segments to come ask about what few connections have. Everything
// that counts twins, wrong checksums, resets or ICMP errors calls it first.
func (t *talk) odd() {
	t.hurt()
	for d := range t.voice {
		t.voice[d].flags |= vOdd
	}
}

// note is the proof of one code.
type note struct {
	code finding.Code
	ev   finding.Evidence
}

// evidence returns the proof of a code, made when it is first wanted.
func (t *talk) evidence(code finding.Code) *finding.Evidence {
	for i := range t.notes {
		if t.notes[i].code == code {
			return &t.notes[i].ev
		}
	}
	t.notes = append(t.notes, note{code: code})
	return &t.notes[len(t.notes)-1].ev
}

// proof returns the proof of a code, or nil.
func (t *talk) proof(code finding.Code) *finding.Evidence {
	for i := range t.notes {
		if t.notes[i].code == code {
			return &t.notes[i].ev
		}
	}
	return nil
}

func (t *talk) prove(code finding.Code, s *tcp.Segment) {
	t.evidence(code).Add(s.Frame, s.Time)
}

// clear makes a talk ready for another conversation. Slices keep their memory.
func (t *talk) clear() {
	b, notes, list := t.b, t.notes[:0], t.log.list[:0]
	*t = talk{b: b, notes: notes, log: stallLog{list: list}, rare: b.none, own: b.noTally, told: b.noTally}
	for d := range t.voice {
		t.voice[d].harm = &b.none.harm[d]
	}
}

// segment measures one segment of an established, or once established, connection.
func (t *talk) segment(r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
	if m&^tcp.WindowUpdate != 0 || s.CE {
		t.hurt()
	}
	t.silent(s)
	if s.Flags&tcp.FlagRST != 0 {
		t.reset(r, s)
		t.last = max(t.last, s.Time)
		return
	}
	var opt options
	switch {
	case s.Stamped:
		opt.value, opt.echo, opt.stamped = s.TSVal, s.TSEcr, true
	case len(s.Options) > 0:
		opt.parse(s.Options)
	}
	t.carrier(f, s)
	if s.Flags&tcp.FlagACK != 0 {
		t.acknowledge(r, s, m, v, &opt)
	}
	if s.Flags&tcp.FlagSYN != 0 && r.flags&flagFastOpen != 0 && d == flow.ToClient && o.inFlight() > 0 {
		r.flags |= flagFastOpenFailed
	}
	if opt.stamped && t.bulk != nil && s.Flags&tcp.FlagSYN == 0 {
		t.echoed(o, s, opt.value, opt.echo)
	}
	t.windows(r, s, m, v)
	switch {
	case m.Has(tcp.KeepAlive) && s.Len <= 1 && s.Flags&(tcp.FlagSYN|tcp.FlagFIN) == 0:
		t.keepAlive(s)
	case m.Has(tcp.ZeroWindowProbe):
		f.probes++
		f.probeRun++
		t.prove(ZeroWindow, s)
	case s.Len > 0:
		t.data(r, s, m, v, &opt)
	default:
		t.beyond(s, &opt)
	}
	if s.Flags&tcp.FlagFIN != 0 {
		f.flags |= vFin
		f.finAt = s.Time
		if f.next == s.Seq+s.Len { // it takes a number of its own
			f.next++
		}
	}
	if s.Len > 0 {
		t.rec = max(t.rec, s.Time)
	}
	f.heard = s.Time
	f.flags |= vHeard
	t.last = max(t.last, s.Time)
}

// echoed measures by the timestamps of a segment.
func (t *talk) echoed(o *voice, s *tcp.Segment, value, echo uint32) {
	d := s.Dir & 1
	t.bulk.dir[d].echo.leave(value, s.Time)
	l := &t.bulk.dir[d^1]
	if ns := l.echo.back(echo, s.Time); ns > 0 {
		l.sample(ns, s)
		if o.quick == 0 || ns < o.quick {
			o.quick = ns
		}
	}
}

// carrier follows what the network layer tells of the sender.
func (t *talk) carrier(f *voice, s *tcp.Segment) {
	f.vote(s.TTL)
	if s.CE {
		f.marked++
		t.prove(Congestion, s)
	}
	if s.IPv6 {
		return
	}
	if f.flags&vHeard != 0 {
		f.follows(s.IPID)
	}
	f.lastID = s.IPID
}

// vote takes the TTL of a segment.
func (f *voice) vote(ttl uint8) {
	switch {
	case f.ttl == ttl:
		if f.ttls < math.MaxUint8 {
			f.ttls++
		}
	case f.ttls == 0:
		f.ttl, f.ttls = ttl, 1
	default:
		f.ttls--
	}
}

// maxSteps bounds the counts of steps and jumps.
const maxSteps = 60_000

// follows looks whether an IP ID follows on the one before it.
func (f *voice) follows(id uint16) {
	step := id - f.lastID
	if step == 1 {
		f.jumped = false
		f.steps = min(f.steps, maxSteps) + 1
		return
	}
	f.jumped = f.numbered() && step > 1 && step < maxMissing
	f.jumps = min(f.jumps, maxSteps) + 1
}

// maxMissing is the most segments that a jump of the IP ID is taken to stand for.
const maxMissing = 64

// numbered reports whether the sender gives its segments of this connection
// successive IP IDs, as Linux does.
func (f *voice) numbered() bool { return f.steps >= 4 && f.steps >= 4*f.jumps }

// acknowledge takes what a segment acknowledges of the other direction.
func (t *talk) acknowledge(r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View, opt *options) {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
	// Whoever speaks has heard nothing of a death.
	if o.keepRun != 0 {
		o.keepRun = 0
	}
	if m.Has(tcp.LostSegment) {
		f.gaps++
	}
	if m.Has(tcp.AckLostSegment) {
		if before(o.next, s.Ack) {
			o.unseen++
			o.missing += uint64(s.Ack - o.next)
			if t.bulk != nil {
				t.mending()
				t.bulk.dir[d^1].haunt(o.next, s.Ack)
			}
		}
		if o.flags&vHasNext != 0 {
			o.next = s.Ack
		}
		t.prove(CaptureGap, s)
	}
	progress := o.flags&vHasAck == 0 || before(o.acked, s.Ack)
	took, of := v.RTT, v.RTTFrame
	if t.twice() {
		// To the tracker every frame that came twice was sent again: by Karn's rule
		// it measures nothing.
		took, of = o.timed.acked(s.Ack, s.Time)
	}
	if took > 0 && s.Flags&tcp.FlagSYN == 0 {
		t.sampled(o, d^1, s, took, of)
	}
	if opt.blocks > 0 && opt.duplicate(s.Ack) {
		t.duplicateReported(d^1, opt)
	}
	if m.Has(tcp.DuplicateAck) {
		f.dupAcks++
		r.flags |= flagDoubt
		t.prove(DuplicateAck, s)
		if t.bulk != nil {
			t.bulk.dir[d^1].dupRun = max(t.bulk.dir[d^1].dupRun, v.DupAcks)
		}
	}
	if !progress {
		if t.bulk != nil && opt.blocks > 0 && s.Ack == o.acked {
			t.bulk.dir[d^1].sacked(s, opt)
		}
		return
	}
	if t.bulk != nil {
		t.settle(d^1, s)
	}
	if o.flags&vHasAck != 0 {
		o.ackSum += uint64(s.Ack - o.acked)
	} else {
		o.ackSum += uint64(v.Acked)
		o.flags |= vHasAck
	}
	if t.sums[d^1].n > 0 {
		t.excuse(d^1, s)
	}
	t.advance(o, d^1, s)
}

// twice reports whether frames of the connection came twice.
func (t *talk) twice() bool { return t.copies[0].n+t.copies[1].n > 0 }

// inFlight is what was sent and is not yet acknowledged, at the tap.
func (f *voice) inFlight() uint32 {
	if f.flags&(vHasNext|vHasAck) != vHasNext|vHasAck || !before(f.acked, f.next) {
		return 0
	}
	return f.next - f.acked
}

// keepAlive notes a probe of an idle connection (RFC 9293, 3.8.4), or of a closed
// window: Linux probes both alike.
func (t *talk) keepAlive(s *tcp.Segment) {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
	if o.shutAt != 0 {
		f.probes++
		f.probeRun++
		t.prove(ZeroWindow, s)
		return
	}
	f.alive++
	if f.keepRun == 0 {
		f.keepAt = s.Time
		f.keepIdle = s.Time - t.last
	}
	f.keepRun++
	t.prove(KeepAliveDead, s)
}

// roundTrip is the smallest round trip of the whole path that is known, ns; 0:
// unknown.
func (t *talk) roundTrip() int64 {
	server, client := t.half(flow.ToServer), t.half(flow.ToClient)
	if server == 0 || client == 0 {
		return 0
	}
	return server + client
}

// half is the smallest round trip between the tap and the end that a direction
// leads to, ns; 0: unknown.
func (t *talk) half(d flow.Dir) int64 {
	f := &t.voice[d&1]
	// What is unknown is 0, and one less than that the most there is.
	return int64(min(uint64(f.rtt.min)-1, uint64(f.quick)-1, uint64(f.shake)-1) + 1) //nolint:gosec // as said
}

// shook takes what the record knows of the handshake.
func (t *talk) shook(r *record) {
	t.mss = r.agreed()
	for d := range t.voice {
		t.voice[d].shake = r.half(flow.Dir(d))
	}
}

// half is the handshake's part of it; 0: not seen, or distorted by repetition.
func (r *record) half(d flow.Dir) int64 {
	if r.flags&flagSYN == 0 || r.synAck == 0 {
		return 0
	}
	if d == flow.ToServer {
		if r.syns != 1 || r.synAcks != 1 {
			return 0
		}
		return max(r.synAck-r.start, 1)
	}
	if r.ready == 0 || r.synAcks != 1 {
		return 0
	}
	return max(r.ready-r.synAck, 1)
}
