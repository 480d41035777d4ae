package tcp

import "netwhy/analyze/flow"

// Flags of connection and directions that a segment as expected must not meet, and those
// that it must.
const (
	oddConn  = reusedPorts | sawReset | refused
	oddHalf  = hasFIN | lastKeepAlive | lastProbe | overAcked
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
		!a.even() || !b.even():
	default:
		c.flags |= calm
	}
}

// even tells that a direction has no hole, and that its window is open.
func (f *half) even() bool {
	return f.next != 0 && f.edge == f.next && f.pos == f.next && f.wait == 0 && f.window != 0
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
	end := s.Seq + s.Len
	switch {
	case c.flags&calm == 0, s.Seq != f.next, before(b.next, s.Ack), s.Window == 0, s.Header != HeaderWhole,
		s.Flags&(FlagSYN|FlagFIN|FlagRST|FlagACK) != FlagACK, len(s.Options) > 0 && !s.Stamped:
		return t.any(c, f, b, s, v)
	case s.Len == 0:
		if s.Ack == f.acked { // says something of the window, or that something is missing
			return t.any(c, f, b, s, v)
		}
	case end == 0, !after(end, b.acked) && b.acked != 0, end == b.acked+b.scaled() && b.scale != unknownScale:
		return t.any(c, f, b, s, v)
	}
	s.Marks = 0
	if s.Ack != f.acked {
		f.acked, f.dups = s.Ack, 0
	}
	f.window, f.ackedAt = s.Window, s.Time
	f.flags &^= plainWindow
	t.acknowledge(b, s, v)
	if s.Len > 0 {
		f.next, f.edge, f.pos, f.nextAt = end, end, end, s.Time
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
	return 0
}
