package ledger

import (
	"netwhy/analyze/flow"
)

// Losses below these cost nobody time.
const (
	costlyStall = 200 * millisecond
	costlyShare = 0.005
	costlyLost  = 5
)

// loss tells of segments sent again, lost and overtaken.
func (p *report) loss() {
	t := p.t
	s, c := &t.voice[flow.ToServer], &t.voice[flow.ToClient]
	stalled := s.lossWait + c.lossWait
	if n := s.resent + c.resent; n > 0 {
		p.say(Retransmission, p.usual(Retransmission), t.proof(Retransmission),
			count(n), count(s.again+c.again), count(s.fast+c.fast), count(s.spurious+c.spurious),
			count(c.resent), count(s.resent),
			figure(max(ratio(float64(s.again), float64(s.unique+s.again)), ratio(float64(c.again), float64(c.unique+c.again)))),
			seconds(stalled))
	}
	if s.dupAcks+c.dupAcks > 0 {
		var run uint32
		if t.bulk != nil {
			run = max(t.bulk.dir[0].dupRun, t.bulk.dir[1].dupRun)
		}
		p.say(DuplicateAck, p.usual(DuplicateAck), t.proof(DuplicateAck),
			count(s.dupAcks+c.dupAcks), count(run), count(s.dsacks+c.dsacks), yes(c.dupAcks > s.dupAcks))
	}
	if n := s.timeouts + c.timeouts; n > 0 {
		d := busier(s.timerWait, c.timerWait)
		wait := s.timerWait + c.timerWait
		p.say(Timeout, p.either(Timeout, wait >= costlyStall), t.proof(Timeout),
			count(n), seconds(wait), seconds(max(s.timerMost, c.timerMost)), count(max(s.backoff, c.backoff)), words(sender(d)))
	}
	if s.lost+c.lost > 0 {
		p.lost()
	}
	if s.late+c.late > 0 && t.bulk != nil {
		d := busier(s.late, c.late)
		f, l := &t.voice[d], &t.bulk.dir[d]
		p.say(OutOfOrder, p.usual(OutOfOrder), t.proof(OutOfOrder),
			count(s.late+c.late), figure(ratio(float64(f.late), float64(f.segments))), millis(l.lateBy),
			millis(int64(median(l.delays[:l.late.n]))*microsecond),
			count(s.spurious+c.spurious), count(t.voice[d^1].dupAcks), count(s.lost+c.lost),
			words(towards(s.late, c.late)), figure(mbps(f.unique, f.extent())))
	}
}

func (p *report) lost() {
	t := p.t
	s, c := &t.voice[flow.ToServer], &t.voice[flow.ToClient]
	d := busier(s.lost, c.lost)
	f := &t.voice[d]
	var l load // an empty one: the loss was told by IP IDs alone
	if t.bulk != nil {
		l = t.bulk.dir[d]
	}
	stalled := s.lossWait + c.lossWait
	share := ratio(float64(f.lost), float64(f.segments))
	worth := stalled >= costlyStall || share >= costlyShare && f.lost >= costlyLost && l.healing*10 >= f.extent()
	kind := LossRandom
	switch {
	case t.dead(d) || t.dead(d^1):
		kind = LossAll
	case l.events > 0 && float64(f.lost)/float64(l.events) >= 2 && l.maxRun >= 3:
		kind = LossBurst
	case l.byTimer > 0 && l.byTimer*2 >= f.lost:
		kind = LossTail
	}
	where := WhereBothSides
	switch {
	case l.afterTap == 0:
		where = WhereBeforeTap
	case l.beforeTap == 0:
		where = WhereAfterTap
	}
	p.say(Loss, p.either(Loss, worth), t.proof(Loss),
		count(s.lost+c.lost), figure(share), count(l.events), count(l.maxRun),
		words(towards(s.lost, c.lost)), words(kind), words(where),
		seconds(stalled), seconds(max(s.lossMost, c.lossMost)), seconds(l.healing), seconds(f.extent()),
		figure(mbps(f.unique, f.extent())), count(s.timeouts+c.timeouts), count(f.segments), count(c.lost), count(s.lost))
}

// dead reports whether data of a direction was sent again and again and nothing was
// heard of the other side any more.
func (t *talk) dead(d flow.Dir) bool {
	f, o := &t.voice[d], &t.voice[d^1]
	return f.tries >= 3 && (f.inFlight() > 0 || o.flags&vHeard == 0) && o.heard < f.tryAt
}
