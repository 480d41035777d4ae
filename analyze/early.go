package analyze

import "netwhy/analyze/flow"

// early is what waits of a connection whose first words nobody recognised and that
// were not answered. A million connections may be so at once: without a pointer,
// each takes two thirds of a socket with its half.
type early struct {
	time  int64
	frame uint64
	ruled [2]uint64
	n     uint8
	dir   flow.Dir
	tries uint8
	first [maxEarly]byte
}

// maxEarly is how many bytes of first words are kept so: questions are short.
const maxEarly = 125 // the record has 160 bytes

const earlyBits = 10 // records in a page

// earlySlab hands out numbered records; number 0 is never given.
type earlySlab struct {
	pages [][]early
	spare []uint32
	top   uint32
}

func (s *earlySlab) at(n uint32) *early { return &s.pages[n>>earlyBits][n&(1<<earlyBits-1)] }

func (s *earlySlab) get() uint32 {
	if k := len(s.spare); k > 0 {
		n := s.spare[k-1]
		s.spare = s.spare[:k-1]
		return n
	}
	s.top++
	if int(s.top>>earlyBits) == len(s.pages) {
		s.pages = append(s.pages, make([]early, 1<<earlyBits))
	}
	return s.top
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
	n := l.early.get()
	e := l.early.at(n)
	*e = early{
		time: h.began.time, frame: h.began.frame, ruled: k.ruled, n: uint8(len(h.pending)), dir: k.first, tries: k.tries,
	}
	copy(e.first[:], h.pending)
	k.drop(l, k.first&1)
	l.free(c)
	c.print[0] = n
	c.flags |= waits
}

// wake makes a socket of an early record again.
func (l *lane) wake(c *conversation, k *socket) {
	n := l.leaveEarly(c)
	e := l.early.at(n)
	k.first, k.tries, k.ruled = e.dir, e.tries, e.ruled
	k.seen[e.dir&1] = true
	k.keep(l, e.dir&1, e.first[:e.n], mark{time: e.time, frame: e.frame})
}

// leaveEarly gives a conversation's early record back and returns its number: it
// stays as it is until another one takes it.
func (l *lane) leaveEarly(c *conversation) uint32 {
	n := c.print[0]
	l.early.spare = append(l.early.spare, n)
	c.print[0] = 0
	c.flags &^= waits
	return n
}
