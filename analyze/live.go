package analyze

import (
	"cmp"
	"maps"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
)

// What is here runs in live mode only: a file's result is complete at its end,
// and needs none of it.

// watching is what a lane remembers of open conversations for those who do not
// want to wait until they end.
type watching struct {
	told    map[uint32]struct{} // open conversations that have findings
	early   []earlier           // by slot
	hand    uint32              // the next slot to look at
	asked   uint64              // moments that were answered
	pressed bool                // payload is left out: the analysis does not keep up
	heavy   []uint32            // scratch
}

// earlier is when a conversation was told of last.
type earlier struct {
	latest uint64 // its last frame then
	at     int64
}

// Bounds of what is looked at for one batch or one moment.
const (
	lookStep   = 256
	lookPart   = 32 // at least the 32nd part of the table a batch
	maxScanned = 1 << 16
	maxHeavy   = 32
)

// letGo forgets the bytes of the batch, which goes back to its pool: the next
// one may have no frame that takes the place of the last.
func (l *lane) letGo() {
	if l.frame != nil {
		l.past = *l.frame
		l.frame = &l.past
	}
	l.pkt, l.raw = nil, nil
}

// restart folds every conversation: the clock jumped, or the machine slept, and
// waits that span the jump are nobody's.
func (l *lane) restart() {
	for _, slot := range l.bySerial() {
		l.fold(slot, proto.Evicted)
	}
}

// passOver leaves the payload of a segment unread: under pressure that is shed
// first. An analyzer is told of a gap, as if the bytes had not been captured; a
// conversation that has none yet gets none.
func (l *lane) passOver(conv uint32, c *conversation, s *tcp.Segment, n int) {
	l.d.unread++
	if c.socket != 0 || c.flags&waits != 0 {
		l.listen(c).gap(l, conv, c, s, uint32(n))
		return
	}
	c.flags |= deaf
	l.tracker.Want(c.tcp, flow.ToServer, false)
	l.tracker.Want(c.tcp, flow.ToClient, false)
}

// tellOpen emits what stands of open conversations: of those that had frames
// since, and of silent ones ever more seldom.
func (l *lane) tellOpen(now int64) {
	w := &l.watching
	n := int(l.table.top) - 1
	for len(w.early) <= n {
		w.early = append(w.early, earlier{})
	}
	l.letGo()
	for range min(n, max(lookStep, n/lookPart)) {
		if w.hand++; w.hand >= l.table.top {
			w.hand = 1
		}
		c := l.table.at(w.hand)
		e := &w.early[w.hand]
		if c.flags&inUse == 0 || c.flags&(quotedOnly|retired) != 0 || c.book == 0 {
			continue
		}
		if c.latest == e.latest && now-c.last < 2*(e.at-c.last)+second {
			continue
		}
		*e = earlier{c.latest, now}
		l.books.Early(c.book)
	}
}

// answerMoment adds the summaries of open conversations to the delta, if
// somebody has asked for the result so far: those with findings, and the largest.
func (l *lane) answerMoment() {
	w := &l.watching
	asked := l.pipe.moments.Load()
	if asked == w.asked {
		return
	}
	w.asked = asked
	l.d.moment, l.d.live = asked, uint64(l.table.live)
	for _, slot := range slices.Sorted(maps.Keys(w.told)) {
		l.openSummary(slot)
	}
	for _, slot := range l.heaviest() {
		if _, told := w.told[slot]; !told {
			l.openSummary(slot)
		}
	}
}

// heaviest are the open conversations with most bytes; none where there are too
// many to look at all.
func (l *lane) heaviest() []uint32 {
	if l.table.top > maxScanned {
		return nil
	}
	w := &l.watching
	w.heavy = w.heavy[:0]
	for slot := uint32(1); slot < l.table.top; slot++ {
		if c := l.table.at(slot); c.flags&inUse != 0 && c.flags&(quotedOnly|retired) == 0 && c.book != 0 {
			w.heavy = append(w.heavy, slot)
		}
	}
	slices.SortFunc(w.heavy, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(l.books.Bytes(l.table.at(b).book), l.books.Bytes(l.table.at(a).book)), cmp.Compare(a, b))
	})
	return w.heavy[:min(len(w.heavy), maxHeavy)]
}

// openSummary is sumUp without an end.
func (l *lane) openSummary(slot uint32) {
	c := l.table.at(slot)
	if c.flags&inUse == 0 || c.flags&(quotedOnly|retired) != 0 || c.book == 0 {
		return
	}
	sum := new(conn.Summary)
	c.describe(sum)
	l.known(c, sum)
	l.books.Peek(c.book, sum)
	l.d.open = append(l.d.open, closed{slot: slot, sum: sum})
}

// ask notes who wants the result so far, and lets the lanes know.
func (c *collector) ask() {
	for {
		select {
		case f, ok := <-c.opt.Moments:
			if !ok {
				c.opt.Moments = nil
				return
			}
			c.asking = append(c.asking, f)
			if len(c.asking) == 1 {
				c.stands = c.stands[:0]
				c.live, c.answers = 0, 0
				c.moments = c.pipe.moments.Add(1)
			}
		default:
			return
		}
	}
}

// gather takes what the lanes say of open conversations, and answers when all
// have.
func (c *collector) gather() {
	for i, d := range c.deltas {
		if d == nil || d.moment == 0 || d.moment != c.moments {
			continue
		}
		c.answers++
		c.live += d.live
		for k := range d.open {
			s := d.open[k].sum
			s.ID = c.number(i, d.open[k].slot)
			if s.Name == "" {
				s.Name = c.res.Names[s.Server.Addr.Addr()]
			}
			s.CommunityID = flow.CommunityID(s.ID.Proto, s.Client.Addr, s.Server.Addr)
			c.stands = append(c.stands, s)
		}
	}
	if len(c.asking) == 0 || c.answers < len(c.deltas) {
		return
	}
	r := c.result()
	r.Open, r.Standing = c.live, slices.Clone(c.stands)
	r.Connections = append(r.Connections, c.stands...)
	r.ids = nil
	slices.SortStableFunc(r.Connections, byID)
	r.Connections = slices.CompactFunc(r.Connections, func(a, b *conn.Summary) bool { return a.ID == b.ID })
	r.own()
	for _, f := range c.asking {
		f(r)
	}
	c.asking, c.answers = c.asking[:0], 0
}

// own gives the result maps of its own: the collector goes on with its.
func (r *Result) own() {
	r.Protocols, r.Names, r.Malformed = maps.Clone(r.Protocols), maps.Clone(r.Names), maps.Clone(r.Malformed)
	r.quoted = maps.Clone(r.quoted)
	for i := range r.Keyed {
		r.Keyed[i] = maps.Clone(r.Keyed[i])
	}
}
