package analyze

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// delivery is the lane as the TCP tracker sees it.
type delivery lane

// Deliver hands in-order bytes to the conversation's socket.
func (d *delivery) Deliver(conv uint32, s *tcp.Segment, b []byte) {
	l := (*lane)(d)
	c := l.table.at(conv)
	x := &l.scope
	x.Held, x.Overdue, x.Stale, x.Vain = l.reading && s.Frame != l.seg.Frame, false, false, false
	if !x.Held {
		l.prompt = s.Frame
	}
	if m := l.seg.Marks; m != 0 && l.reading && stale(m) && (len(l.twins) == 0 || l.twin(c) == 0) {
		x.Overdue, x.Stale = true, !x.Held
		x.Vain = x.Stale && m.Has(tcp.Again)
	}
	switch {
	case c.flags&deaf != 0:
		return
	case l.watching.pressed:
		l.passOver(conv, c, s, len(b))
		return
	}
	k := l.listen(c)
	k.bytes(l, conv, c, s.Dir, b, &mark{time: s.Time, frame: s.Frame})
	if c.flags&deaf != 0 {
		l.tracker.Want(c.tcp, flow.ToServer, false)
		l.tracker.Want(c.tcp, flow.ToClient, false)
		l.forget(c)
	} else if k.spec == nil {
		l.settleDown(c)
	}
}

// Gap tells the socket that bytes are missing.
func (d *delivery) Gap(conv uint32, s *tcp.Segment, n uint32) {
	l := (*lane)(d)
	c := l.table.at(conv)
	if c.flags&deaf == 0 && (c.socket != 0 || c.flags&waits != 0) {
		l.listen(c).gap(l, conv, c, s, n)
	}
}
