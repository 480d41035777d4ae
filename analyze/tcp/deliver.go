package tcp

import "bytes"

// farthest is how far ahead of the delivered bytes a segment may lie: the
// largest window there is (RFC 7323, 2.3). What lies beyond is no part of the
// stream.
const farthest = 1 << 30

// accept takes the payload of a segment: in order it goes on at once, beyond a
// hole it waits, below what was delivered it is dropped.
func (t *Tracker) accept(c *connection, f, b *side, s *Segment, v *View) {
	if s.Flags&FlagRST != 0 {
		return // its bytes, if any, are a text about the reset (RFC 9293, 3.10.7.3)
	}
	if s.Flags&FlagACK != 0 {
		t.giveUp(c, b, f, s)
	}
	seq := s.Seq
	if s.Flags&FlagSYN != 0 {
		seq++
		if f.flags&delivered == 0 {
			f.flags &^= hasPos // whatever was seen before the SYN
		}
	}
	if f.flags&hasPos == 0 {
		f.pos = seq
		if s.Len == 1 && f.flags&hasLimit != 0 && f.limit == seq+1 {
			f.pos++ // a keep-alive is the first thing captured: its byte is garbage
		}
		f.flags |= hasPos
	}
	if s.Len == 0 {
		return
	}
	f.flags |= delivered
	end := seq + s.Len
	if before(f.pos, seq) && seq-f.pos > farthest {
		v.Astray = true
		return
	}
	for before(f.pos, end) {
		if !before(f.pos, seq) {
			v.New += t.inOrder(c, f, s, seq, end, v)
			return
		}
		first := seq
		if f.wait != 0 && before(t.nodes.at(f.wait).seq, seq) {
			first = t.nodes.at(f.wait).seq
		}
		known := f.flags&hasLimit != 0 && !before(f.limit, first)
		if !known && t.room(c, s.Len) {
			v.New += t.hold(c, f, s, seq, end, v)
			return
		}
		t.skip(c, f, first, s)
	}
}

// giveUp gives up holes of f that the other side acknowledges: their bytes arrived
// there, so they will not come again.
func (t *Tracker) giveUp(c *connection, f, by *side, s *Segment) {
	if f.flags&hasPos == 0 || !before(f.pos, s.Ack) || by.astray(s.Seq) {
		return
	}
	for f.wait != 0 && !before(s.Ack, t.nodes.at(f.wait).seq) {
		t.skip(c, f, t.nodes.at(f.wait).seq, s)
	}
	// Without anything that waits a bare acknowledgement may be ahead of its
	// data in the capture. An answer is not: its request is missing.
	if s.Len > 0 && f.wait == 0 && before(f.pos, s.Ack) && before(f.next, s.Ack) {
		t.skip(c, f, s.Ack, s)
	}
}

// astray reports whether a segment at seq is no part of a direction's stream. Its
// acknowledgement says nothing then: a box that numbers connections anew was captured on
// both sides, and it is of the other.
func (f *side) astray(seq uint32) bool {
	return f.flags&hasPos != 0 && min(seq-f.pos, f.pos-seq) > farthest
}

// room tells whether a segment of n bytes may wait.
func (t *Tracker) room(c *connection, n uint32) bool {
	k := int((n + blockSize - 1) / blockSize)
	return (int(c.held)+k)*blockSize <= t.limit.Connection &&
		t.bytes.used+k <= t.bytes.most && t.nodes.used+k+1 <= t.nodes.most
}

// inOrder hands on the bytes of s from the delivered ones up, and what waited
// for them. Where bytes already wait the first copy wins.
func (t *Tracker) inOrder(c *connection, f *side, s *Segment, seq, end uint32, v *View) (fresh uint32) {
	for i := f.wait; i != 0 && !v.Conflict; {
		n := t.nodes.at(i)
		if !before(n.seq, end) {
			break
		}
		v.Conflict = t.differs(n, s, seq, n.seq, min32(n.end, end))
		i = n.next
	}
	for before(f.pos, end) {
		stop := end
		if f.wait != 0 {
			stop = min32(stop, t.nodes.at(f.wait).seq)
		}
		from, to := f.pos-seq, stop-seq
		fresh += to - from
		f.pos = stop
		if f.flags&unwanted == 0 {
			t.hand(c, s, from, to)
		}
		t.flush(c, f)
	}
	return fresh
}

// hand gives the handler bytes from..to of the payload of s.
func (t *Tracker) hand(c *connection, s *Segment, from, to uint32) {
	have := min(to, captured(s))
	t.busy = true
	if from < have {
		t.h.Deliver(c.conv, s, s.Data[from:have:have])
	}
	if lost := max(from, have); lost < to {
		t.h.Gap(c.conv, s, to-lost)
	}
	t.busy = false
}

// flush hands on what waits right after the delivered bytes.
func (t *Tracker) flush(c *connection, f *side) {
	for f.wait != 0 {
		i := f.wait
		n := *t.nodes.at(i)
		if n.seq != f.pos {
			return
		}
		f.wait, f.pos = n.next, n.end
		if f.wait == 0 {
			f.last = 0
		}
		t.nodes.put(i)
		c.held--
		if f.flags&unwanted == 0 {
			t.given = Segment{Frame: n.frame, Time: n.time, Dir: f.dir, Seq: n.seq, Len: n.end - n.seq}
			t.busy = true
			if n.block == 0 {
				t.h.Gap(c.conv, &t.given, n.end-n.seq)
			} else {
				t.h.Deliver(c.conv, &t.given, t.bytes.at(n.block).b[:n.end-n.seq])
			}
			t.busy = false
		}
		if n.block != 0 {
			t.bytes.put(n.block)
		}
	}
}

// skip declares the bytes up to seq missing, and hands on what waited for them.
// s is the segment that showed it.
func (t *Tracker) skip(c *connection, f *side, seq uint32, s *Segment) {
	n := seq - f.pos
	t.given = Segment{Frame: s.Frame, Time: s.Time, Dir: f.dir, Seq: f.pos, Len: n}
	f.pos = seq
	if f.flags&unwanted == 0 && n > 0 {
		t.busy = true
		t.h.Gap(c.conv, &t.given, n)
		t.busy = false
	}
	t.flush(c, f)
}

// hold lets the bytes of s from seq to end wait, but for those that already do.
func (t *Tracker) hold(c *connection, f *side, s *Segment, seq, end uint32, v *View) (fresh uint32) {
	start := seq
	prev, i := uint32(0), f.wait
	if f.last != 0 && !before(seq, t.nodes.at(f.last).end) {
		prev, i = f.last, 0
	}
	for before(seq, end) {
		stop := end
		if i != 0 {
			n := t.nodes.at(i)
			if !before(seq, n.end) {
				prev, i = i, n.next
				continue
			}
			if !before(seq, n.seq) {
				stop = min32(n.end, end)
				v.Conflict = v.Conflict || t.differs(n, s, start, seq, stop)
				seq = stop
				continue
			}
			stop = min32(n.seq, end)
		}
		fresh += stop - seq
		prev = t.keep(c, f, prev, s, start, seq, stop)
		seq = stop
	}
	return fresh
}

// keep puts the bytes seq..end of s, whose payload begins at start, behind prev
// into the list of those that wait, in nodes of at most a block. Without memory
// for them they stay a hole.
func (t *Tracker) keep(c *connection, f *side, prev uint32, s *Segment, start, seq, end uint32) uint32 {
	for before(seq, end) {
		var data []byte
		if at := seq - start; at < captured(s) && f.flags&unwanted == 0 {
			data = s.Data[at:min(captured(s), end-start, at+blockSize)]
		}
		stop := seq + length(data)
		if len(data) == 0 {
			stop = end
			if prev != 0 { // ranges without bytes grow together
				if p := t.nodes.at(prev); p.block == 0 && p.end == seq {
					p.end = stop
					return prev
				}
			}
		}
		if (int(c.held)+1)*blockSize > t.limit.Connection {
			return prev
		}
		i, n := t.nodes.get()
		if i == 0 {
			return prev
		}
		*n = node{time: s.Time, frame: s.Frame, seq: seq, end: stop}
		if len(data) > 0 {
			k, b := t.bytes.get()
			if k == 0 {
				t.nodes.put(i)
				return prev
			}
			n.block = k
			copy(b.b[:], data)
		}
		c.held++
		if prev == 0 {
			n.next, f.wait = f.wait, i
		} else {
			p := t.nodes.at(prev)
			n.next, p.next = p.next, i
		}
		if n.next == 0 {
			f.last = i
		}
		prev, seq = i, stop
	}
	return prev
}

// differs tells whether the bytes from..to of s are not those that wait in n.
func (t *Tracker) differs(n *node, s *Segment, start, from, to uint32) bool {
	if n.block == 0 || from-start >= captured(s) {
		return false
	}
	a := s.Data[from-start : min(captured(s), to-start)]
	b := t.bytes.at(n.block).b[from-n.seq : to-n.seq]
	return !bytes.Equal(a, b[:len(a)])
}

// drain hands on all that waits, with its gaps, at the end of a connection.
func (t *Tracker) drain(c *connection, f *side, frame uint64) {
	last := Segment{Frame: frame, Time: f.nextAt}
	for f.wait != 0 {
		t.skip(c, f, t.nodes.at(f.wait).seq, &last)
	}
	if f.flags&hasPos == 0 {
		return
	}
	end := f.pos
	switch {
	case f.flags&hasFIN != 0:
		end = f.fin - 1
	case f.flags&hasLimit != 0 && f.limit-f.pos != 1: // one more may be a FIN that was not captured
		end = f.limit
	}
	if before(f.pos, end) && end-f.pos <= farthest {
		t.skip(c, f, end, &last)
	}
}

// release frees what waits; its place in the stream is kept.
func (t *Tracker) release(h *half) {
	if h.more == 0 {
		return
	}
	for i := t.rares.At(h.more).wait; i != 0; {
		n := t.nodes.at(i)
		if n.block != 0 {
			t.bytes.put(n.block)
			n.block = 0
		}
		i = n.next
	}
}

// min32 returns the earlier of two sequence numbers.
func min32(a, b uint32) uint32 {
	if before(a, b) {
		return a
	}
	return b
}

// captured is the number of payload bytes that are there.
func captured(s *Segment) uint32 { return length(s.Data) }

func length(b []byte) uint32 {
	return uint32(len(b)) //nolint:gosec // a packet is far below 4 GiB
}
