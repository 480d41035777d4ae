package tcp

import "math"

// any takes any segment: the long way.
func (t *Tracker) any(c *connection, from, to *half, s *Segment, v *View) Marks {
	var f, b side
	t.unfold(&f, from, to.acked, s.Dir)
	t.unfold(&b, to, from.acked, s.Dir^1)
	m := t.judged(c, &f, &b, s, v)
	t.fold(&f, b.acked)
	t.fold(&b, f.acked)
	c.view(from, to, v)
	v.Window = f.scaled()
	v.Established = c.flags&(established|midStream) != 0
	if f.flags&hasLimit != 0 && before(f.limit, f.next) {
		v.InFlight = f.next - f.limit
	}
	c.ending(v)
	c.weigh()
	return m
}

// judged judges s and learns from it.
func (t *Tracker) judged(c *connection, f, b *side, s *Segment, v *View) Marks {
	c.begin(f.half, b.half, s)
	if s.Header == HeaderLong {
		c.flags &^= reusedPorts
		c.clock(s)
		if s.Flags&FlagSYN != 0 {
			f.isn = s.Seq
		}
		return s.reset()
	}
	if f.frame != 0 && (s.Seq != f.next || s.Len > 0 || s.Flags&(FlagSYN|FlagFIN) != 0 || f.next == 0) { // next may change
		t.enlist(f.half)
	}
	m := c.judge(f, b, s)
	s.Marks = m
	t.learn(f, b, s, m, v)
	if s.Header != HeaderBogus {
		t.accept(c, f, b, s, v)
		c.progress(f, b, s)
	}
	if s.Header != HeaderWhole {
		return s.reset()
	}
	return m
}

// reset is the mark that the flags alone give.
func (s *Segment) reset() Marks {
	if s.Header != HeaderBogus && s.Flags&FlagRST != 0 {
		return Reset
	}
	return 0
}

// Reused tells whether s begins a new connection on the ports of r's.
func (t *Tracker) Reused(r Ref, s *Segment) bool {
	if s.Flags&(FlagSYN|FlagACK) != FlagSYN {
		return false
	}
	f := &t.conns.at(r).half[s.Dir&1]
	return f.flags&hasISN != 0 && f.isn != s.Seq
}

// Quoted takes a segment that an ICMP error quotes: Wireshark measures the
// handshake by it too.
func (t *Tracker) Quoted(r Ref, s *Segment) {
	c := t.conns.at(r)
	c.clock(s)
	c.weigh()
}

// begin notes where the sequence numbers of both directions start: at a SYN, or
// one before the first number that is seen or acknowledged.
func (c *connection) begin(f, b *half, s *Segment) {
	if f.flags&seen == 0 {
		f.flags |= seen
		if b.flags&seen == 0 && s.Flags&FlagSYN == 0 {
			c.flags |= midStream
		}
		if f.scale == 0 {
			f.scale = unknownScale
		}
	}
	if f.flags&hasISN == 0 {
		f.flags |= hasISN
		f.isn = s.Seq
		if s.Flags&FlagSYN == 0 {
			f.isn--
		}
	}
	if b.flags&hasISN == 0 && s.Flags&FlagACK != 0 {
		b.flags |= hasISN
		b.isn = s.Ack - 1
	}
}

// listBound is how many segments without acknowledgement Wireshark remembers of a
// direction. Beyond, it forgets that a FIN takes a sequence number.
const listBound = 10_000

// learn takes what the segment tells into the state.
func (t *Tracker) learn(f, b *side, s *Segment, m Marks, v *View) {
	size := s.Len
	if f.out < listBound {
		size += phantom(s.Flags)
	}
	end := s.Seq + size
	f.flags &^= lastKeepAlive | lastProbe
	switch {
	case m.Has(KeepAlive):
		f.flags |= lastKeepAlive
	case m.Has(ZeroWindowProbe):
		f.flags |= lastProbe
	}
	switch {
	case s.Flags&FlagSYN != 0:
		f.handshake(b.half, s)
		f.isn = s.Seq
	case len(s.Options) > 0 && !s.Stamped:
		f.offer(s) // Wireshark takes a scale from any segment
	}
	if m.Has(LostSegment) {
		v.Missing = s.Seq - f.next
	}
	if m.Has(AckLostSegment) && before(b.edge, b.next) {
		b.edge = b.next
	}
	inEdge := f.edge == 0 || s.Seq == f.edge
	if m&ZeroWindowProbe == 0 && (f.next == 0 || before(f.next, end)) { // a probe's byte is not taken
		f.next, f.nextAt = end, s.Time
	}
	if inEdge {
		f.edge = f.next
	}
	switch {
	case m.Has(DuplicateAck):
		f.dups = min(f.dups, math.MaxUint16-1) + 1
		f.flags &^= overAcked
		v.DupAcks = f.dups
	case s.Ack != f.acked:
		f.dups = 0
		f.flags &^= overAcked
	}
	if s.Flags&(FlagACK|FlagRST) == FlagACK { // the number of a reset may be anything (RFC 9293, 3.5.2)
		t.acknowledge(b, s, v)
	}
	f.window, f.acked, f.ackedAt = s.Window, s.Ack, s.Time
	switch {
	case s.Flags&FlagSYN != 0:
		f.flags |= plainWindow
	case s.Flags&FlagACK != 0:
		f.flags &^= plainWindow
	}
	f.flags |= hasWindow
	if size > 0 {
		f.out = min(f.out, listBound) + 1
		if m.Has(Again | OutOfOrder | KeepAlive) {
			t.sentAgain(f.half, s)
		} else {
			t.remember(f.half, s, end)
		}
	}
}

// acknowledge takes the acknowledgement number: what it covers of the other direction is
// forgotten.
func (t *Tracker) acknowledge(b *side, s *Segment, v *View) {
	if b.flags&hasLimit == 0 || before(b.limit, s.Ack) {
		if b.flags&hasLimit != 0 {
			v.Acked = s.Ack - b.limit
		}
		b.limit = s.Ack
		b.flags |= hasLimit
	}
	t.forgetUp(b.half, s, v)
}

// forgetUp forgets the segments that an acknowledgement covers. The youngest of them gives
// a round trip, unless one was sent again (Karn's rule) or time went back.
func (t *Tracker) forgetUp(b *half, s *Segment, v *View) {
	switch {
	case b.list != 0:
		t.covered(b, s, v)
	case b.frame != 0 && !before(s.Ack, b.next):
		v.measure(s.Time-b.nextAt, uint64(b.frame))
		b.dropYoungest()
	}
	if s.Ack == b.next {
		b.out = 0
	}
}

// dropYoungest forgets the segment that the half itself remembers.
func (h *half) dropYoungest() {
	h.frame = 0
	h.kept--
	h.out -= min(h.out, 1)
}

// measure takes a round trip, unless time went back.
func (v *View) measure(rtt int64, frame uint64) {
	if rtt > 0 {
		v.RTT, v.RTTFrame = rtt, frame
	}
}

// covered is forgetUp where there is a list.
func (t *Tracker) covered(b *half, s *Segment, v *View) {
	tail := t.nodes.at(b.list)
	var last *node
	i, again, count := tail.next, uint32(0), uint8(0)
	for last != tail {
		n := t.nodes.at(i)
		if before(s.Ack, n.end) {
			break
		}
		last = n
		again |= n.block
		count++
		i = n.next
	}
	if last == nil {
		return
	}
	b.kept -= count
	b.out -= min(b.out, uint16(count))
	at, frame, first := last.time, last.frame, tail.next
	tail.next = i
	t.nodes.putAll(first, last, int(count))
	if last == tail {
		b.list = 0
		if b.frame != 0 && !before(s.Ack, b.next) {
			at, frame = b.nextAt, uint64(b.frame)
			b.dropYoungest()
		}
	}
	if again&nodeAgain == 0 {
		v.measure(s.Time-at, frame)
	}
}

// sentAgain notes a segment that was sent again, or late: what was sent before its end is
// no measure any more.
func (t *Tracker) sentAgain(f *half, s *Segment) {
	if f.list == 0 {
		return
	}
	for i := t.nodes.at(f.list).next; ; {
		n := t.nodes.at(i)
		if before(s.Seq, n.end) {
			n.block |= nodeAgain
		}
		if i == f.list {
			return
		}
		i = n.next
	}
}

// remember keeps a segment until it is acknowledged. What the half itself remembers has
// to be in the list.
func (t *Tracker) remember(f *half, s *Segment, end uint32) {
	switch {
	case int(f.kept) >= t.limit.Segments:
		return
	case end == f.next && s.Time == f.nextAt && s.Frame-1 < math.MaxUint32:
		f.frame = uint32(s.Frame) //nolint:gosec // it was asked
		f.kept++
	default:
		t.push(f, s.Time, s.Frame, end)
	}
}

// enlist puts the segment that the half itself remembers into the list, before next or
// nextAt may change.
func (t *Tracker) enlist(f *half) {
	f.kept--
	t.push(f, f.nextAt, uint64(f.frame), f.next)
	f.frame = 0
}

// push appends to the list, if there is memory.
func (t *Tracker) push(f *half, at int64, frame uint64, end uint32) {
	i, n := t.nodes.get()
	if i == 0 {
		return
	}
	n.time, n.frame, n.end, n.next, n.block = at, frame, end, i, 0
	if f.list != 0 {
		tail := t.nodes.at(f.list)
		n.next, tail.next = tail.next, i
	}
	f.list = i
	f.kept++
}

// forget gives all that is remembered of a direction back.
func (t *Tracker) forget(f *half) {
	if f.list != 0 {
		tail := t.nodes.at(f.list)
		n := int(f.kept)
		if f.frame != 0 {
			n--
		}
		t.nodes.putAll(tail.next, tail, n)
	}
	f.list, f.frame, f.kept = 0, 0, 0
	if f.more != 0 {
		t.rares.Put(f.more)
		f.more = 0
	}
}

// view tells how a connection began.
func (c *connection) view(f, b *half, v *View) {
	v.ScaleKnown = (f.scale|b.scale)&unknownScale == 0
	v.MidStream = c.flags&midStream != 0
	v.ClientKnown = c.flags&(sawSYN|sawSYNACK) != 0
}

// ending tells what has ended.
func (c *connection) ending(v *View) {
	a, b := &c.half[0], &c.half[1]
	switch {
	case c.flags&refused != 0:
		v.State = Refused
	case c.flags&sawReset != 0:
		v.State = Aborted
	case a.flags&b.flags&hasFIN != 0:
		v.State = Finished
	case (a.flags|b.flags)&hasFIN != 0:
		v.State = Half
	}
}

// progress follows handshake and end.
func (c *connection) progress(f, b *side, s *Segment) {
	switch {
	case s.Flags&FlagRST != 0:
		if c.flags&(sawSYN|sawSYNACK|established|midStream) == sawSYN && b.flags&sentSYN != 0 {
			c.flags |= refused
		}
		c.flags |= sawReset
	case s.Flags&FlagSYN != 0 && s.Flags&FlagACK != 0:
		c.flags |= sawSYNACK
	case s.Flags&FlagSYN != 0:
		c.flags |= sawSYN
	case c.flags&sawSYNACK != 0 && c.flags&established == 0 && s.Flags&FlagACK != 0 && b.flags&sentSYN != 0:
		c.flags |= established
	}
	c.clock(s)
	if s.Flags&FlagFIN != 0 {
		f.flags |= hasFIN
		f.fin = s.Seq + s.Len + phantom(s.Flags)
	}
}

// clock measures the handshake.
func (c *connection) clock(s *Segment) {
	switch s.Flags & (FlagSYN | FlagACK) {
	case FlagSYN:
		if c.flags&measured == 0 {
			c.irtt = s.Time
			c.flags |= timed
		}
	case FlagACK:
		if c.flags&(timed|measured) == timed && s.Time != c.irtt {
			c.irtt = s.Time - c.irtt
			c.flags |= measured
		}
	}
}
