package tcp

// Times that decide between kinds of a segment sent again (Wireshark User's
// Guide, "TCP Analysis").
const (
	fastWindow    = 20_000_000 // ns after the last duplicate acknowledgement
	reorderWindow = 3_000_000  // ns after the highest segment, where the round trip is unknown
)

// judge says of a segment what Wireshark would, before it changes what is known.
func (c *connection) judge(f, b *side, s *Segment) Marks {
	var m Marks
	if c.flags&reusedPorts != 0 {
		c.flags &^= reusedPorts
		m |= ReusedPorts
	}
	if s.Flags&(FlagSYN|FlagACK) == FlagSYN|FlagACK && s.Seq != f.isn {
		m |= ReusedPorts // another answer, though no conversation begins
	}
	if s.Flags&(FlagSYN|FlagACK) == FlagSYN {
		f.next = f.edge // what was sent beyond a hole is forgotten
	}
	control := s.Flags & (FlagSYN | FlagFIN | FlagRST)
	m |= s.reset()
	size := s.Len + phantom(s.Flags)
	end := s.Seq + size
	switch { // Wireshark asks only for a gap whether next is known
	case s.Len == 1 && s.Seq == f.next && b.flags&hasWindow != 0 && b.window == 0:
		m |= ZeroWindowProbe
	case f.next != 0 && before(f.next, s.Seq) && s.Flags&FlagRST == 0:
		m |= LostSegment
	case s.Len <= 1 && s.Seq == f.next-1 && control == 0:
		m |= KeepAlive
	}
	if s.Window == 0 && control == 0 && m&ZeroWindowProbe == 0 {
		m |= ZeroWindow
	}
	sameAck := s.Seq == f.next && s.Ack == f.acked && control == 0 && s.Len == 0
	if sameAck && s.Window != 0 && s.Window != f.window {
		m |= WindowUpdate
	}
	if s.Len > 0 && control == 0 && m&ZeroWindowProbe == 0 && b.scale != unknownScale &&
		b.flags&hasWindow != 0 && end == b.acked+b.scaled() {
		m |= WindowFull
	}
	if sameAck && s.Window != 0 && s.Window == f.window && b.flags&lastKeepAlive != 0 {
		m |= KeepAliveAck
	}
	if sameAck && s.Window == 0 && f.window == 0 && b.flags&lastProbe != 0 {
		m |= ZeroWindowProbeAck
	}
	if sameAck && s.Window != 0 && s.Window == f.window && m&KeepAliveAck == 0 {
		m |= DuplicateAck
	}
	if s.Flags&FlagACK != 0 && b.beyond(s.Ack) {
		m |= AckLostSegment
	}
	if s.Flags&FlagACK != 0 && b.edge != 0 && !before(b.edge, b.next) && before(b.edge, s.Ack) {
		b.flags |= overAcked
		b.dups = 0
	}
	if size > 0 && m&KeepAlive == 0 {
		m |= c.again(f, b, s, end)
	}
	return m
}

// again tells the kinds of a segment below the highest one apart.
func (c *connection) again(f, b *side, s *Segment, end uint32) Marks {
	window := int64(reorderWindow)
	if c.flags&measured != 0 {
		window = c.irtt
	}
	switch {
	case s.Len > 0 && b.acked != 0 && !after(s.Seq+s.Len, b.acked):
		return SpuriousRetransmission | Retransmission
	case f.next == 0 || !before(s.Seq, f.next) || s.Len > 1 && s.Seq == f.next-1:
		return 0
	case (b.dups >= 2 || b.flags&overAcked != 0) && b.acked == s.Seq && within(s.Time-b.ackedAt, fastWindow):
		return FastRetransmission | Retransmission
	case within(s.Time-f.nextAt, window) && end != f.next:
		return OutOfOrder
	}
	return Retransmission
}

// beyond tells whether an acknowledgement covers bytes that this direction was
// not seen to send.
func (f *side) beyond(ack uint32) bool {
	return f.edge != 0 && before(f.edge, ack) && (before(f.edge, f.next) || f.dups == 0 && f.flags&overAcked == 0)
}

// within compares times as Wireshark does: where time goes back it takes the
// difference, and a negative round trip, for a very long time.
func within(d, window int64) bool {
	return uint64(d) < uint64(window) //nolint:gosec // the wrap is meant
}
