package analyze

import (
	"encoding/binary"

	"netwhy/analyze/flow"
)

// early is what waits of a connection whose first words nobody recognised and that
// were not answered. A million connections may be so at once: it is kept as bytes,
// in a record that is hardly longer than the words.
type early struct {
	time  int64
	frame uint64
	dir   flow.Dir
	tries uint8
	first []byte
}

const (
	earlyHead = 19 // bytes of a record before the words
	earlyBits = 9  // records in a page
	earlyStep = 16 // from one size of record to the next
	earlyLow  = 48 // the smallest
	earlyLong = 8  // sizes
	maxEarly  = earlyLow + (earlyLong-1)*earlyStep - earlyHead

	earlyClass = 29 // bits of a number below the class of its size
)

// earlySlab hands out numbered records; number 0 is never given.
type earlySlab [earlyLong]struct {
	pages [][]byte
	spare []uint32
	top   uint32
}

// size is that of the records of a class.
func (*earlySlab) size(class uint32) int { return earlyLow + int(class)*earlyStep }

func (s *earlySlab) record(n uint32) []byte {
	class, i := n>>earlyClass, n&(1<<earlyClass-1)
	size := s.size(class)
	return s[class].pages[i>>earlyBits][int(i&(1<<earlyBits-1))*size:][:size]
}

// put keeps what waits and returns its number.
func (s *earlySlab) put(e *early) uint32 {
	class := uint32(max(earlyHead+len(e.first)-earlyLow+earlyStep-1, 0) / earlyStep)
	k := &s[class]
	var n uint32
	if free := len(k.spare); free > 0 {
		n = k.spare[free-1]
		k.spare = k.spare[:free-1]
	} else {
		k.top++
		if int(k.top>>earlyBits) == len(k.pages) {
			k.pages = append(k.pages, make([]byte, s.size(class)<<earlyBits))
		}
		n = class<<earlyClass | k.top
	}
	b := s.record(n)
	binary.LittleEndian.PutUint64(b, uint64(e.time))
	binary.LittleEndian.PutUint64(b[8:], e.frame)
	b[16], b[17], b[18] = byte(len(e.first)), byte(e.dir), e.tries
	copy(b[earlyHead:], e.first)
	return n
}

// at reads a record; its words are valid until the next put.
func (s *earlySlab) at(n uint32) early {
	b := s.record(n)
	return early{
		time: int64(binary.LittleEndian.Uint64(b)), frame: binary.LittleEndian.Uint64(b[8:]),
		dir: flow.Dir(b[17]), tries: b[18], first: b[earlyHead:][:b[16]],
	}
}

// leave makes a record free.
func (s *earlySlab) leave(n uint32) {
	k := &s[n>>earlyClass]
	k.spare = append(k.spare, n)
}

// settleDown puts a socket that only waits for an answer away, as an early record.
func (l *lane) settleDown(c *conversation) {
	if c.socket == 0 {
		return
	}
	k := l.sockets[c.socket]
	h := k.half[k.first&1]
	if k.spec != nil || k.facts != nil || k.more != nil || k.bad || k.seen[0] == k.seen[1] ||
		h == nil || len(h.pending) == 0 || len(h.pending) > maxEarly || len(h.at) > 0 || h.began.offset != 0 {
		return
	}
	n := l.early.put(&early{time: h.began.time, frame: h.began.frame, dir: k.first, tries: k.tries, first: h.pending})
	k.drop(l, k.first&1)
	l.free(c)
	c.print[0] = n
	c.flags |= waits
}

// wake makes a socket of an early record again.
func (l *lane) wake(c *conversation, k *socket) {
	n := l.leaveEarly(c)
	e := l.early.at(n)
	k.first, k.tries = e.dir, e.tries
	k.seen[e.dir&1] = true
	k.keep(l, e.dir&1, e.first, &mark{time: e.time, frame: e.frame})
}

// leaveEarly gives a conversation's early record back and returns its number: it
// stays as it is until another one takes it.
func (l *lane) leaveEarly(c *conversation) uint32 {
	n := c.print[0]
	l.early.leave(n)
	c.print[0] = 0
	c.flags &^= waits
	return n
}
