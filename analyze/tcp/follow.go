package tcp

import (
	"math"

	"netwhy/analyze/conn"
)

// Segment judges the next segment of a connection, hands on the bytes that are
// now in order, and fills v. v and s are not kept.
func (t *Tracker) Segment(r Ref, s *Segment, v *View) Marks {
	c := t.conns.at(r)
	f, b := &c.half[s.Dir&1], &c.half[s.Dir&1^1]
	*v = View{}
	c.frame = s.Frame
	if t.expected(c, f, b, s, v) {
		return 0
	}
	c.begin(f, b, s)
	if s.Header == HeaderLong {
		c.flags &^= reusedPorts
		c.clock(s)
		if s.Flags&FlagSYN != 0 {
			f.isn = s.Seq
		}
		c.view(f, b, 0, v)
		return s.reset()
	}
	m := c.judge(f, b, s)
	s.Marks = m
	t.learn(f, b, s, m, v)
	if s.Header != HeaderBogus {
		t.accept(c, s, v)
		c.progress(s)
	}
	c.view(f, b, m, v)
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
func (t *Tracker) Quoted(r Ref, s *Segment) { t.conns.at(r).clock(s) }

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
func (t *Tracker) learn(f, b *half, s *Segment, m Marks, v *View) {
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
		f.handshake(b, s)
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
		v.DupAcks = uint32(f.dups)
	case s.Ack != f.acked:
		f.dups = 0
		f.flags &^= overAcked
	}
	if s.Flags&FlagACK != 0 {
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
		t.remember(f, s, end, m)
	}
}

// acknowledge takes the acknowledgement number: what it covers of the other
// direction is forgotten, and the youngest segment of that gives a round trip,
// unless one of them was sent again or waited for one that was (Karn's rule).
func (t *Tracker) acknowledge(b *half, s *Segment, v *View) {
	if s.Flags&FlagRST != 0 {
		return // its number may be anything (RFC 9293, 3.5.2)
	}
	if b.flags&hasLimit == 0 || before(b.limit, s.Ack) {
		if b.flags&hasLimit != 0 {
			v.Acked = s.Ack - b.limit
		}
		b.limit = s.Ack
		b.flags |= hasLimit
	}
	again := uint32(0)
	for i := b.head; i != 0; {
		n := t.nodes.at(i)
		if before(s.Ack, n.end) {
			break
		}
		again |= n.block
		v.RTT, v.RTTFrame = s.Time-n.time, n.frame
		b.head = n.next
		t.nodes.put(i)
		b.kept--
		b.out = max(b.out, 1) - 1
		i = b.head
	}
	if again&nodeAgain != 0 || v.RTT <= 0 { // 0 or less: time went back
		v.RTT, v.RTTFrame = 0, 0
	}
	if b.head == 0 {
		b.tail = 0
	}
	if s.Ack == b.next {
		b.out = 0
	}
}

// remember keeps a segment until it is acknowledged.
func (t *Tracker) remember(f *half, s *Segment, end uint32, m Marks) {
	if m.Has(Again | OutOfOrder | KeepAlive) {
		for i := f.head; i != 0; {
			n := t.nodes.at(i)
			if before(s.Seq, n.end) {
				n.block |= nodeAgain
			}
			i = n.next
		}
		return
	}
	if int(f.kept) >= t.limit.Segments {
		return
	}
	i, n := t.nodes.get()
	if i == 0 {
		return
	}
	*n = node{time: s.Time, frame: s.Frame, seq: s.Seq, end: end}
	f.kept++
	if f.tail == 0 {
		f.head = i
	} else {
		t.nodes.at(f.tail).next = i
	}
	f.tail = i
}

// forget gives the remembered segments of a direction back.
func (t *Tracker) forget(f *half) {
	for i := f.head; i != 0; {
		next := t.nodes.at(i).next
		t.nodes.put(i)
		i = next
	}
	f.head, f.tail, f.kept = 0, 0, 0
}

// view tells how the connection stands.
func (c *connection) view(f, b *half, m Marks, v *View) {
	v.Window = f.scaled()
	v.PeerWindow = b.scaled()
	v.ScaleKnown = f.scale != unknownScale && b.scale != unknownScale
	v.Established = c.flags&(established|midStream) != 0
	v.MidStream = c.flags&midStream != 0
	v.ClientKnown = c.flags&(sawSYN|sawSYNACK) != 0
	if f.flags&hasLimit != 0 && before(f.limit, f.next) {
		v.InFlight = f.next - f.limit
	}
	if !m.Has(DuplicateAck) {
		v.DupAcks = 0
	}
	switch {
	case c.flags&refused != 0:
		v.State, v.Done = conn.EndRefused, true
	case c.flags&sawReset != 0:
		v.State, v.Done = conn.EndReset, true
	case f.flags&b.flags&hasFIN != 0:
		v.State = conn.EndFin
		v.Done = f.finished() && b.finished()
	case (f.flags|b.flags)&hasFIN != 0:
		v.State = conn.EndHalf
	default:
		v.State = conn.EndOpen
	}
}

// finished tells that all up to the FIN was handed on.
func (f *half) finished() bool { return f.flags&hasFIN != 0 && f.pos+1 == f.fin }

// progress follows handshake and end.
func (c *connection) progress(s *Segment) {
	f := &c.half[s.Dir&1]
	b := &c.half[s.Dir&1^1]
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
		c.opened = s.Time
		c.flags |= timed
	case FlagACK:
		if c.flags&timed != 0 && c.irtt == 0 {
			c.irtt = s.Time - c.opened
		}
	}
}
