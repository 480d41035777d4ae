package tcp

import "netwhy/analyze/flow"

// Of a calm connection nothing is rare but dups, so that edge, pos and limit move along with
// next and acked.

// Flags of connection and directions that a segment as expected must not meet, and those
// that it must.
const (
	oddConn  = reusedPorts | sawReset | refused
	oddHalf  = uneven | hasFIN | lastKeepAlive | lastProbe | overAcked
	needHalf = hasISN | seen | hasWindow | hasPos | hasLimit
)

// weigh tells of a connection, after a segment that took the long way, whether it is calm:
// it stands, no measure of its beginning is open, and in both directions all that was sent
// was handed on and may be acknowledged. Segments as expected leave it so.
func (c *connection) weigh() {
	a, b := &c.half[0], &c.half[1]
	c.flags &^= calm
	switch {
	case c.flags&oddConn != 0 || c.flags&(established|midStream) == 0,
		c.flags&(established|sawSYNACK) == sawSYNACK || c.flags&(timed|measured) == timed, // the handshake ends here
		(a.flags|b.flags)&oddHalf != 0 || a.flags&b.flags&needHalf != needHalf,
		a.next == 0 || b.next == 0 || a.window == 0 || b.window == 0:
	default:
		c.flags |= calm
	}
}

// Segment judges the next segment of a connection, hands on the bytes that are
// now in order, and fills v. v and s are not kept.
//
// Here stands the short way, of the segment that nearly every one is: the next in order of
// a calm connection, with data or a new acknowledgement of what was sent, of which Wireshark
// has nothing to say. What it does is what the long way does, whose questions all have
// their answer here (Van Jacobson's header prediction; RFC 1323, 4.2.4).
func (t *Tracker) Segment(r Ref, s *Segment, v *View) Marks {
	c := t.conns.at(r)
	f, b := &c.half[0], &c.half[1]
	if s.Dir != flow.ToServer {
		f, b = b, f
	}
	*v = View{}
	end, fresh := s.Seq+s.Len, s.Ack-f.acked
	switch {
	case c.flags&calm == 0, s.Seq != f.next, before(b.next, s.Ack), s.Window == 0, s.Header != HeaderWhole,
		before(s.Ack, f.acked), fresh > 0 && f.more != 0, // it goes back, or ends duplicates
		s.Flags&(FlagSYN|FlagFIN|FlagRST|FlagACK) != FlagACK, len(s.Options) > 0 && !s.Stamped:
		return t.any(c, f, b, s, v)
	case s.Len == 0:
		if fresh == 0 { // says something of the window, or that something is missing
			return t.any(c, f, b, s, v)
		}
	case end == 0, !after(end, b.acked) && b.acked != 0, end == b.acked+b.scaled() && b.scale != unknownScale:
		return t.any(c, f, b, s, v)
	}
	s.Marks = 0
	v.Acked = fresh
	f.window, f.acked, f.ackedAt = s.Window, s.Ack, s.Time
	f.flags &^= plainWindow
	switch { // as forgetUp, without a call
	case b.list != 0:
		t.covered(b, s, v)
	case b.frame != 0 && s.Ack == b.next:
		v.measure(s.Time-b.nextAt, uint64(b.frame))
		b.frame, b.kept = 0, 0
	}
	if s.Ack == b.next {
		b.out = 0
	}
	if s.Len > 0 {
		if f.frame != 0 {
			t.enlist(f)
		}
		f.next, f.nextAt = end, s.Time
		f.flags |= delivered
		f.out = min(f.out, listBound) + 1
		t.remember(f, s, end)
		v.New = s.Len
		switch {
		case f.flags&unwanted != 0:
		case length(s.Data) == s.Len:
			t.busy = true
			t.h.Deliver(c.conv, s, s.Data)
			t.busy = false
		default:
			t.hand(c, s, 0, s.Len)
		}
	}
	c.view(f, b, v)
	v.Window = f.scaled()
	v.Established = true
	if before(b.acked, f.next) {
		v.InFlight = f.next - b.acked
	}
	return 0
}
