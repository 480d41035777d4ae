package capture

import (
	"encoding/binary"
	"time"

	"netwhy/capture/packet"
)

// stage holds frames of one of several interfaces until their turn in time.
type stage struct {
	buf    []byte
	frames []packet.Frame
	at     int // the next
}

func newStage(bytes int) *stage {
	return &stage{buf: make([]byte, 0, bytes), frames: make([]packet.Frame, 0, framesEach)}
}

func (s *stage) rest() int { return len(s.frames) - s.at }

func (s *stage) clear() { s.buf, s.frames, s.at = s.buf[:0], s.frames[:0], 0 }

// head is the next frame; nil: there is none.
func (s *stage) head() *packet.Frame {
	if s.at == len(s.frames) {
		return nil
	}
	return &s.frames[s.at]
}

// held reports whether frames wait for those of other interfaces.
func (l *Live) held() bool {
	for _, p := range l.all() {
		if p.stage != nil && p.stage.rest() > 0 {
			return true
		}
	}
	return false
}

// all are the ports, with the standby where it is in use.
func (l *Live) all() []*port {
	if l.spareUsed() {
		return l.withSpare
	}
	return l.ports
}

// merge moves frames of several interfaces into the batch, in the order of
// their times. The kernel hands out an interface's frames in blocks of up to
// some milliseconds, so a frame waits until all others have shown a later one,
// or can no longer have an earlier one.
func (l *Live) merge(now time.Time) (moved int) {
	ports := l.all()
	for _, p := range ports {
		l.refill(p)
	}
	horizon := now.Add(-holdBack).UnixNano()
	for moved < framesEach {
		p, complete := earliest(ports)
		if p == nil {
			break
		}
		f := p.stage.head()
		if !complete && f.Time > horizon {
			break
		}
		b := l.room(now)
		if b == nil {
			break
		}
		if len(b.Frames) == 0 {
			l.cur.since = now
		}
		if len(b.Frames) == framesEach || !b.Append(*f, p.stage.buf[f.Offset:f.Offset+f.CapLen]) {
			l.flush()
			continue
		}
		moved++
		if p.stage.at++; p.stage.rest() == 0 {
			p.stage.clear()
			l.refill(p)
		}
	}
	if l.cur != nil && len(l.cur.batch.Frames) > 0 && now.Sub(l.cur.since) >= flushAfter {
		l.flush()
	}
	return moved
}

// earliest returns the port whose next frame is the first in time, and whether
// every port has one.
func earliest(ports []*port) (first *port, complete bool) {
	complete = true
	for _, p := range ports {
		f := p.stage.head()
		switch {
		case f == nil && p.gone:
		case f == nil:
			complete = false
		case first == nil || f.Time < first.stage.head().Time:
			first = p
		}
	}
	return first, complete
}

func (l *Live) refill(p *port) {
	if p.gone || p.stage.rest() > 0 {
		return
	}
	s := p.stage
	s.clear()
	if n := p.spilled(); n > cap(s.buf) {
		s.buf = make([]byte, 0, n)
	}
	var err error
	s.buf, s.frames, err = p.take(s.buf, s.frames)
	if p == l.spare {
		l.attribute(s)
	}
	if err != nil {
		l.lose(p, err)
	}
}

// attribute tells frames of the standby apart by the interface's index, which
// stands in their header (LINKTYPE_LINUX_SLL2, bytes 4 to 7).
func (l *Live) attribute(s *stage) {
	const from, to = 4, 8
	for i := range s.frames {
		f := &s.frames[i]
		if f.CapLen < to {
			continue
		}
		index := int(binary.BigEndian.Uint32(s.buf[f.Offset+from : f.Offset+to]))
		for _, p := range l.ports {
			if p.returned == index {
				f.Interface = p.index
			}
		}
	}
}
