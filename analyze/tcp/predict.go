package tcp

// Flags of connection and directions that a segment as expected must not meet, and those
// that it must.
const (
	oddConn  = reusedPorts | sawReset | refused
	oddHalf  = hasFIN | plainWindow | lastKeepAlive | lastProbe | overAcked
	needHalf = hasISN | seen | hasWindow | hasPos
)

// expected handles the segment that nearly every one is: the next in order of a
// connection that stands, with data or a new acknowledgement of what was sent, of which
// Wireshark has nothing to say. It reports whether s was one; if not, nothing was changed.
// What it does is what the long way does, whose questions all have their answer here (Van
// Jacobson's header prediction; RFC 1323, 4.2.4).
func (t *Tracker) expected(c *connection, f, b *half, s *Segment, v *View) bool {
	switch {
	case s.Flags&(FlagSYN|FlagFIN|FlagRST|FlagACK) != FlagACK || s.Header != HeaderWhole,
		len(s.Options) > 0 && !s.Stamped,
		c.flags&oddConn != 0 || c.flags&(established|midStream) == 0,
		c.flags&(established|sawSYNACK) == sawSYNACK || c.flags&timed != 0 && c.irtt == 0, // the handshake ends here
		(f.flags|b.flags)&oddHalf != 0 || f.flags&b.flags&needHalf != needHalf,
		s.Seq != f.next || f.edge != f.next || f.next == 0,
		b.edge != b.next || b.edge == 0 || before(b.edge, s.Ack),
		s.Window == 0 || b.window == 0,
		f.wait != 0 || before(b.pos, s.Ack):
		return false
	}
	end := s.Seq + s.Len
	if s.Len == 0 {
		if s.Ack == f.acked {
			return false // says something of the window, or that something is missing
		}
	} else if f.pos != s.Seq || b.acked != 0 && !after(end, b.acked) || b.scale != unknownScale && end == b.acked+b.scaled() {
		return false
	}
	s.Marks = 0
	if s.Len > 0 {
		f.next, f.nextAt, f.edge = end, s.Time, end
	}
	if s.Ack != f.acked {
		f.dups = 0
	}
	t.acknowledge(b, s, v)
	f.window, f.acked, f.ackedAt = s.Window, s.Ack, s.Time
	if s.Len > 0 {
		f.out = min(f.out, listBound) + 1
		t.remember(f, s, end, 0)
		f.flags |= delivered
		f.pos = end
		v.New = s.Len
		if f.flags&unwanted == 0 {
			t.hand(c, s, 0, s.Len)
		}
	}
	c.view(f, b, 0, v)
	return true
}
