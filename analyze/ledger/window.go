package ledger

import (
	"math"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// windows follows the window that a segment announces, and so the room that the
// other side has to send.
func (t *talk) windows(r *record, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
	if m.Has(tcp.WindowFull) {
		f.fulls++
		t.prove(WindowFull, s)
	}
	if s.Flags&tcp.FlagSYN != 0 || s.Flags&tcp.FlagACK == 0 {
		return
	}
	if m.Has(tcp.ZeroWindow) {
		f.zeros++
		t.prove(ZeroWindow, s)
	}
	unseen := !v.ScaleKnown && (r.flags&flagMid != 0 || r.scale[0]&r.scale[1] < 0) && r.flags&flagSYN == 0
	if s.Window != 0 && (unseen || r.flags&flagUnscaled != 0) {
		// Without both SYNs only a window of 0 means what it says.
		f.window = max(f.maxWin, v.Window)
		f.maxWin = f.window
		t.opened(d, s)
		return
	}
	t.announced(f, o, s, v)
}

// announced takes the window that a segment of f announces to o, which is known to be
// exact.
func (t *talk) announced(f, o *voice, s *tcp.Segment, v *tcp.View) {
	if v.Window != f.window || f.maxWin == 0 {
		if f.maxWin == 0 || v.Window < f.minWin {
			f.minWin = v.Window
		}
		f.window, f.maxWin = v.Window, max(f.maxWin, v.Window)
	}
	if s.Ack != o.acked || o.flags&vHasNext == 0 {
		return // an old acknowledgement: its window no longer counts
	}
	if v.Window < o.inFlight()+o.ample() {
		t.narrow(s, v)
	} else if f.shutAt|o.block != 0 {
		t.opened(s.Dir&1, s)
	}
}

// narrow takes a window that may not be enough for the next segment.
func (t *talk) narrow(s *tcp.Segment, v *tcp.View) {
	d := s.Dir & 1
	f, o := &t.voice[d], &t.voice[d^1]
	room, enough := t.room(d ^ 1)
	switch {
	case v.Window == 0 || int64(v.Window) < enough && o.inFlight() == 0:
		if f.shutAt == 0 {
			t.hurt()
			f.shutAt = s.Time
			o.probeRun = 0
		}
		t.blocked(d^1, s.Time, true)
	case room < enough:
		t.reopened(d, s)
		t.blocked(d^1, s.Time, false)
	default:
		t.opened(d, s)
	}
}

// room is what direction d may still send, and what it needs to send at all: a
// window below a segment is as good as none (RFC 9293, 3.8.6.2.1: the sender waits
// for a full segment or half of the largest window).
func (t *talk) room(d flow.Dir) (room, enough int64) {
	f, o := &t.voice[d], &t.voice[d^1]
	least := t.mss
	if least == 0 {
		least = defaultMSS
	}
	if f.most > 0 {
		least = min(least, f.most)
	}
	return int64(o.window) - int64(f.inFlight()), int64(max(1, min(least, o.maxWin/2)))
}

// ample is room that is enough in any case: that for the largest segment there was, or,
// before there was one, for any, since an MSS has 16 bits.
func (f *voice) ample() uint32 {
	if f.most > 0 {
		return f.most
	}
	return math.MaxUint16
}

// defaultMSS is what a host may send without an MSS option (RFC 9293, 3.7.1).
const defaultMSS = 536

// filled notes whether direction d used up its room with what it just sent, where it is
// not ample.
func (t *talk) filled(r *record, d flow.Dir, at int64) {
	o := &t.voice[d^1]
	if r.flags&flagSYN == 0 || o.flags&vHeard == 0 || o.maxWin == 0 {
		return
	}
	if room, enough := t.room(d); room < enough {
		t.blocked(d, at, o.shutAt != 0)
	}
}

// blocked notes that direction d has no room to send.
func (t *talk) blocked(d flow.Dir, at int64, shut bool) {
	f := &t.voice[d]
	if f.block == 0 {
		f.block, f.shutBy = at, shut
	}
	f.shutBy = f.shutBy || shut
	f.openAt = 0
}

// reopened ends the time for which the window of side d was shut.
func (t *talk) reopened(d flow.Dir, s *tcp.Segment) {
	if f := &t.voice[d]; f.shutAt != 0 {
		f.shutTotal += s.Time - f.shutAt
		f.shutAt = 0
	}
}

// opened notes that the other side of d has room to send.
func (t *talk) opened(d flow.Dir, s *tcp.Segment) {
	t.reopened(d, s)
	if o := &t.voice[d^1]; o.block != 0 && o.openAt == 0 {
		o.openAt = s.Time
	}
}

// unblock forgets that direction d had no room.
func (t *talk) unblock(d flow.Dir) {
	f := &t.voice[d]
	if f.block != 0 && f.openAt != 0 {
		f.block, f.openAt, f.shutBy = 0, 0, false
		if f.probeRun != 0 {
			f.probeRun = 0
		}
	}
}

// explainBlocked gives the gap before new data of direction d, which had no room to
// send, to the window, and what is left after the window opened to the sender.
func (t *talk) explainBlocked(s *tcp.Segment, d flow.Dir) (idle int64) {
	f := &t.voice[d]
	from, to := max(f.lastAt, f.block), s.Time
	if f.openAt != 0 {
		// News of the window needs half a round trip to the sender, its data as
		// much to come back.
		reach := f.openAt + t.half(d^1)*3/2 + shortWait
		if reach < to && f.openAt >= from {
			idle = to - reach
			to = reach
		}
	}
	if to-from >= shortWait {
		t.log.add(waitWindow, d, from, to)
		if f.shutBy {
			f.shutWait += to - from
			f.shutMost = max(f.shutMost, to-from)
			f.shutTimes++
			t.prove(ZeroWindow, s)
		} else {
			f.winWait += to - from
			f.winMost = max(f.winMost, to-from)
			f.winTimes++
			t.prove(WindowFull, s)
		}
	}
	if idle >= shortWait {
		t.log.add(waitIdle, d, to, s.Time)
		f.idleWait += idle
	} else {
		idle = 0
	}
	t.unblock(d)
	if f.openAt == 0 && f.block != 0 {
		f.block = s.Time // it sent all the same: a probe, or less than a segment
	}
	return idle
}
