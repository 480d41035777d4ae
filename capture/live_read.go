package capture

import (
	"slices"
	"time"

	"netwhy/capture/packet"
)

// read is the loop: it takes frames from the rings into batches, and does
// nothing else that could take time.
func (l *Live) read() {
	defer func() {
		if l.taps != nil {
			close(l.taps)
		}
		close(l.out)
	}()
	defer packet.Rescue("the capture", l.fail) // before Next learns of the end
	for !l.done {
		moved := l.round(time.Now())
		if l.wake.wait(l.waiting(moved), l.pause(moved)) {
			l.drain()
			return
		}
	}
	l.flush()
}

// round moves what is there, and does what is due at its time. It reports how
// much it moved.
func (l *Live) round(now time.Time) (moved int) {
	if l.clock.jumped(now) {
		l.flush()
		l.broken = true
	}
	b := l.room(now)
	switch {
	case b == nil && l.opt.Tap == nil:
		moved = l.throwAway()
	case b == nil: // the recording is behind: the kernel's ring has to hold
	case l.ports[0].stage != nil || l.spareUsed():
		moved = l.merge(now)
	default:
		moved = l.single(now)
	}
	if moved == 0 {
		l.idle(now)
	}
	if now.Sub(l.asked) >= statsEvery {
		l.asked = now
		l.ask()
	}
	if now.Sub(l.looked) >= lookEvery {
		l.looked = now
		l.look()
	}
	return moved
}

// waiting are the ports whose frames wake the loop. Frames that are held back
// keep a ring readable: then time alone wakes it.
func (l *Live) waiting(moved int) []*port {
	if moved == 0 && l.held() {
		return nil
	}
	return l.ports
}

// pause is how long the loop may sleep.
func (l *Live) pause(moved int) time.Duration {
	switch {
	case moved > 0:
		return 0
	case l.held():
		return 2 * time.Millisecond
	case l.cur == nil && l.pool.Free() == 0:
		return time.Millisecond // a batch may come back
	case l.cur != nil && len(l.cur.batch.Frames) > 0, l.spareUsed():
		return flushAfter
	}
	return heartbeat
}

// room returns the batch at hand, a new one if there is none; nil: no batch is
// free.
func (l *Live) room(now time.Time) *packet.Batch {
	if l.cur != nil {
		return l.cur.batch
	}
	b, ok := l.pool.TryGet()
	if !ok {
		if l.only == nil {
			return nil
		}
		if b, ok = l.only.TryGet(); !ok {
			return nil
		}
	}
	if b.Frames == nil {
		b.Frames = make([]packet.Frame, 0, framesEach/4)
	}
	b.Break = l.broken
	l.broken = false
	l.cur = &l.slot
	*l.cur = filling{batch: b, spare: !l.pool.Owns(b), since: now}
	return b
}

// single moves frames of the only interface straight into the batch.
func (l *Live) single(now time.Time) int {
	p := l.ports[0]
	if p.gone {
		return 0
	}
	b := l.cur.batch
	before := len(b.Frames)
	if n := p.spilled(); n > cap(b.Buf) && before == 0 {
		b.Buf = make([]byte, 0, n) // one giant frame; the pool takes it back smaller
	}
	var err error
	if b.Buf, b.Frames, err = p.take(b.Buf, b.Frames); err != nil {
		l.lose(p, err)
	}
	moved := len(b.Frames) - before
	if before == 0 && moved > 0 {
		l.cur.since = now
	}
	if len(b.Frames) == framesEach || !p.gone && p.spilled() > 0 || now.Sub(l.cur.since) >= flushAfter && len(b.Frames) > 0 {
		l.flush()
	}
	return moved
}

// idle lets a batch go that has waited long enough, and tells the time where
// there is no traffic.
func (l *Live) idle(now time.Time) {
	if l.cur == nil || l.held() {
		return
	}
	age := now.Sub(l.cur.since)
	if n := len(l.cur.batch.Frames); n > 0 && age >= flushAfter || n == 0 && age >= heartbeat {
		// The rings were empty: all frames but those of the kernel's open block
		// have been handed on.
		l.cur.batch.Clock = now.Add(-2 * holdBack).UnixNano()
		l.flush()
	}
}

// flush hands the batch at hand to the tap and to the analysis.
func (l *Live) flush() {
	if l.cur == nil {
		return
	}
	b, spare := l.cur.batch, l.cur.spare
	l.cur = nil
	if left := l.opt.MaxPackets - l.packets.Load(); l.opt.MaxPackets > 0 && uint64(len(b.Frames)) >= left {
		b.Frames = b.Frames[:left]
		l.done = true
	}
	for i := range b.Frames {
		l.number++
		b.Frames[i].Number = l.number
	}
	l.mu.Lock()
	c := &l.info.Counters
	if n := len(b.Frames); spare && n > 0 {
		c.DroppedQueue += uint64(n)
		l.info.lost(b.Frames[0].Time, b.Frames[n-1].Time, uint64(n))
	} else if !spare {
		l.info.count(b.Frames, false)
	}
	b.Counters = *c
	l.mu.Unlock()
	l.packets.Store(b.Counters.Packets)
	l.bytes.Store(b.Counters.Bytes)
	if l.taps != nil && len(b.Frames) > 0 {
		b.Retain(1)
		l.taps <- b // never blocks: it has room for every batch there is
	}
	if spare {
		b.Release()
		return
	}
	l.out <- b // the same
}

// throwAway empties the rings where no batch is free: what the analysis cannot
// take is counted here, and not by the kernel.
func (l *Live) throwAway() int {
	total := uint64(0)
	for _, p := range l.ports {
		if p.stage != nil {
			total += uint64(p.stage.rest()) //nolint:gosec // not negative
			p.stage.clear()
		}
		if p.gone {
			continue
		}
		n, _, err := p.shed(framesEach)
		total += n
		if err != nil {
			l.lose(p, err)
		}
	}
	if total > 0 {
		l.number += total
		now := time.Now()
		l.mu.Lock()
		l.info.Counters.DroppedQueue += total
		l.info.lost(now.Add(-heartbeat).UnixNano(), now.UnixNano(), total)
		l.mu.Unlock()
	}
	return int(total)
}

// drain empties the rings at the end: all that the kernel had taken when the end
// was asked for, also in the block that it has not handed out yet. What cannot be
// moved in time is counted.
func (l *Live) drain() {
	began := time.Now()
	moved := began
	for _, p := range l.all() {
		p.due()
	}
	for !l.done {
		now := time.Now()
		if now.Sub(began) >= drainLimit {
			for now.Sub(began) < 2*drainLimit && l.throwAway() > 0 {
				now = time.Now()
			}
			l.leave()
			break
		}
		if l.round(now) > 0 {
			moved = now
			continue
		}
		if !l.held() && (l.emptied() || now.Sub(moved) >= quietAfter) {
			break
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // the loop was told to stop: waiting for frames would return at once
	}
	l.ask()
	l.flush()
}

// leave counts what is still in the rings when there is no more time for it: the
// kernel took it, and nobody has it.
func (l *Live) leave() {
	now := time.Now().UnixNano()
	for _, p := range l.ports {
		if !p.gone && p.owed > 0 {
			l.missed(p, uint64(p.owed), 0, now-int64(2*drainLimit), now)
		}
	}
}

// emptied reports whether all frames have come that were due.
func (l *Live) emptied() bool {
	for _, p := range l.all() {
		if !p.gone && p.owed > 0 {
			return false
		}
	}
	return true
}

// ask renews the counters of drops.
func (l *Live) ask() {
	for _, p := range l.ports {
		l.dropped(p)
	}
	if l.spare != nil {
		l.dropped(l.spare)
	}
}

func (l *Live) dropped(p *port) {
	kernel, nic := p.drops()
	since := p.asked
	p.asked = time.Now().UnixNano()
	if kernel > 0 || nic > 0 {
		l.missed(p, kernel, nic, since, p.asked)
	}
}

// missed counts frames that a port lost between two times.
func (l *Live) missed(p *port, kernel, nic uint64, from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := &l.info.Interfaces[p.index]
	i.DroppedKernel += kernel
	i.DroppedInterface += nic
	l.info.Counters.DroppedKernel += kernel
	l.info.Counters.DroppedInterface += nic
	l.info.lost(from, to, kernel+nic)
}

const (
	maxLosses = 1000
	sameLoss  = time.Second // losses that are closer are one
)

// lost notes frames that were lost between two times.
func (i *Info) lost(from, to int64, frames uint64) {
	if n := len(i.Losses); n > 0 && from <= i.Losses[n-1].To+int64(sameLoss) {
		x := &i.Losses[n-1]
		x.From, x.To, x.Frames = min(x.From, from), max(x.To, to), x.Frames+frames
		return
	}
	if len(i.Losses) == maxLosses {
		i.Losses = slices.Delete(i.Losses, 0, 1)
	}
	i.Losses = append(i.Losses, Loss{from, to, frames})
}

// clockWatch tells when the wall clock was set, or the machine slept: the
// monotonic clock does neither (Go's, on Linux, stands still in a suspension).
type clockWatch struct {
	began time.Time
	wall  int64         // ns, of the latest look
	mono  time.Duration // since began, of the same
}

func newClockWatch(now time.Time) clockWatch { return clockWatch{began: now, wall: now.UnixNano()} }

func (c *clockWatch) jumped(now time.Time) bool {
	wall, mono := now.UnixNano(), now.Sub(c.began)
	walled, went := time.Duration(wall-c.wall), mono-c.mono
	c.wall, c.mono = wall, mono
	return apart(walled, went)
}

func apart(wall, mono time.Duration) bool { return (wall - mono).Abs() > clockJump }
