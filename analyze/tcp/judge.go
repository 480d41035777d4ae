package tcp

// Times that decide between kinds of a segment sent again (Wireshark User's
// Guide, "TCP Analysis").
const (
	fastWindow    = 20_000_000 // ns after the last duplicate acknowledgement
	reorderWindow = 3_000_000  // ns after the highest segment, where the round trip is unknown
)

// judge says of a segment what Wireshark would, before it changes what is known.
func (t *Tracker) judge(c *connection, f, b *half, s *Segment) Marks {
	var m Marks
	if c.flags&reusedPorts != 0 {
		c.flags &^= reusedPorts
		m |= ReusedPorts
	}
	control := s.Flags & (FlagSYN | FlagFIN | FlagRST)
	if s.Flags&FlagRST != 0 {
		m |= Reset
	}
	if s.Window == 0 && control == 0 {
		m |= ZeroWindow
	}
	size := s.Len + phantom(s.Flags)
	end := s.Seq + size
	if f.flags&hasNext != 0 {
		switch {
		case s.Len == 1 && s.Seq == f.next && b.flags&hasAck != 0 && b.window == 0:
			return m | ZeroWindowProbe
		case before(f.next, s.Seq) && s.Flags&FlagRST == 0:
			m |= LostSegment
		case s.Len <= 1 && s.Seq == f.next-1 && control == 0:
			m |= KeepAlive
		}
	}
	sameAck := f.flags&hasAck != 0 && s.Seq == f.next && s.Ack == f.acked && control == 0 && s.Len == 0
	if sameAck && s.Window != 0 && s.Window != f.window {
		m |= WindowUpdate
	}
	if s.Len > 0 && control == 0 && f.scale >= 0 && b.scale >= 0 && b.flags&hasAck != 0 &&
		end == b.acked+uint32(b.window)<<b.scale {
		m |= WindowFull
	}
	if sameAck && s.Window != 0 && s.Window == f.window && b.flags&lastKeepAlive != 0 {
		return m | KeepAliveAck
	}
	if sameAck && s.Window == 0 && f.window == 0 && b.flags&lastProbe != 0 {
		return m | ZeroWindowProbeAck
	}
	if sameAck && s.Window != 0 && s.Window == f.window {
		m |= DuplicateAck
	}
	if s.Flags&FlagACK != 0 && b.flags&hasNext != 0 && before(b.edge, s.Ack) {
		m |= AckLostSegment
	}
	if size > 0 && f.flags&hasNext != 0 && before(s.Seq, f.next) && m&KeepAlive == 0 {
		m |= c.again(f, b, s, end)
	}
	return m
}

// again tells the kinds of a segment below the highest one apart.
func (c *connection) again(f, b *half, s *Segment, end uint32) Marks {
	window := c.irtt
	if window == 0 {
		window = reorderWindow
	}
	switch {
	case s.Len > 0 && b.flags&hasAck != 0 && !before(b.acked, end):
		return SpuriousRetransmission
	case b.dups >= 2 && b.acked == s.Seq && s.Time-b.ackedAt < fastWindow:
		return FastRetransmission | Retransmission
	case s.Time-f.nextAt < window && end != f.next:
		return OutOfOrder
	}
	return Retransmission
}
