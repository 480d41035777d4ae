package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

const (
	// delayedAck is the longest that a receiver holds an ACK back in practice
	// (RFC 9293, 3.8.6.3 allows 500 ms; Linux 40 to 200 ms, Windows 200 ms).
	delayedAck = 200 * millisecond
	// contiguous is the longest pause of the client before its first request for
	// which connecting counts as a part of that request.
	contiguous = second
	// slowThink is the shortest think time that is told as slow.
	slowThink = 200 * millisecond
	// pollThink is a wait that looks like a long poll.
	pollThink = 20 * second

	protoDNS = "dns"

	// An exchange that lost less and took less is not kept as a connection's worst.
	worthKeeping = 5 * millisecond
	worthTotal   = 200 * millisecond
)

// account splits an exchange's time and adds it to a tally.
func (t *talk) account(r *record, e *conn.Exchange, told, greeting bool) {
	if told { // the books' own know all
		t.complete(e)
	}
	if e.Protocol == protoTLS {
		t.tlsAt[1] = max(t.tlsAt[1], e.RespEnd)
		t.split(r, e, true)
		return
	}
	y := t.tallied(told)
	rtt := t.split(r, e, !y.any)
	y.any = true
	y.n++
	if e.Failed {
		y.failed++
	}
	y.incomplete = !e.Complete
	l := &e.Ledger
	think := l.Part[conn.ServerThink]
	lost := avoidable(l)
	if !told {
		// Who sends at his own pace, without long pauses, keeps nobody waiting as
		// far as anybody can tell without knowing the protocol.
		lost -= max(0, l.Part[conn.SenderIdle]-t.pauses.request.total-t.pauses.answer.total)
	}
	y.lost += lost
	if l.Part[conn.Path] > 0 {
		y.trips++
	}
	join(&y.parts, l)
	if y.kept.takes() {
		y.kept.put(y.think[:], micros(think))
	}
	if think >= slowThink && think >= 4*t.roundTrip() && e.RespStart != 0 {
		y.slow++
		y.slowly += think
		if think >= pollThink {
			y.polls++
		}
		t.proveThink(e)
	}
	if w := &y.worst; think > w.think && e.RespStart != 0 {
		*w = slowest{
			think: think, wait: e.RespStart - e.ReqEnd, rtt: rtt, greeting: greeting,
			reqBytes: e.ReqBytes, respBytes: e.RespBytes, reqLast: e.ReqLast, answer: e.RespFrame,
			reqAt: e.ReqEnd, answerAt: e.RespStart,
		}
		if e.AckFrame != 0 && e.AckFrame != e.RespFrame {
			w.ackFrame, w.ack = e.AckFrame, e.AckTime-e.ReqEnd
		}
	}
	t.keepWorst(e, y, told, lost)
}

// join adds a ledger to another. Written out: as a loop it would be half of what an
// exchange costs.
func join(to, l *conn.Ledger) {
	to.Total += l.Total
	to.Part[conn.DNS] += l.Part[conn.DNS]
	to.Part[conn.Connect] += l.Part[conn.Connect]
	to.Part[conn.TLS] += l.Part[conn.TLS]
	to.Part[conn.ClientThink] += l.Part[conn.ClientThink]
	to.Part[conn.RequestSend] += l.Part[conn.RequestSend]
	to.Part[conn.Path] += l.Part[conn.Path]
	to.Part[conn.ServerThink] += l.Part[conn.ServerThink]
	to.Part[conn.LossStall] += l.Part[conn.LossStall]
	to.Part[conn.WindowStall] += l.Part[conn.WindowStall]
	to.Part[conn.SenderIdle] += l.Part[conn.SenderIdle]
	to.Part[conn.Transfer] += l.Part[conn.Transfer]
}

// keepWorst remembers the exchange that lost most.
func (t *talk) keepWorst(e *conn.Exchange, y *tally, told bool, lost int64) {
	i := 0
	if told {
		i = 1
	}
	if !notable(e, lost) {
		return
	}
	if t.worst[i] != nil && lost <= y.longest {
		return
	}
	y.longest = lost
	if t.worst[i] == nil {
		t.worst[i] = new(conn.Exchange)
	}
	*t.worst[i] = *e
}

// notable reports whether an exchange is worth keeping as the worst: most are well,
// and their number is large.
func notable(e *conn.Exchange, lost int64) bool {
	return lost >= worthKeeping || e.Ledger.Total >= worthTotal || e.Failed || !e.Complete
}

// tallied is the tally of analyzers' or of the books' own exchanges, to write to.
func (t *talk) tallied(told bool) *tally {
	y := &t.own
	if told {
		y = &t.told
	}
	if *y == t.b.noTally {
		*y = t.b.tallies.get()
	}
	return *y
}

// avoidable is what nobody should have had to wait for.
func avoidable(l *conn.Ledger) int64 {
	return l.Part[conn.ServerThink] + l.Part[conn.LossStall] + l.Part[conn.WindowStall] + l.Part[conn.SenderIdle]
}

// proveThink notes the frames that show that the server thought.
func (t *talk) proveThink(e *conn.Exchange) {
	ev := t.evidence(SlowServer)
	n := ev.Count + 1
	rising(ev, e.ReqLast, e.ReqEnd)
	if e.AckFrame < e.RespFrame {
		rising(ev, e.AckFrame, e.AckTime)
	}
	rising(ev, e.RespFrame, e.RespStart)
	ev.Count = n
}

// rising adds a frame if it comes after those that are there.
func rising(ev *finding.Evidence, frame uint64, at int64) {
	if n := len(ev.Frames); frame != 0 && (n == 0 || frame > ev.Frames[n-1]) {
		ev.Add(frame, at)
	}
}

// split gives every nanosecond of an exchange to one part of its ledger and returns
// the round trip that it took off the wait. first tells that connection and
// handshakes belong to it.
func (t *talk) split(r *record, e *conn.Exchange, first bool) (rtt int64) {
	l := &e.Ledger
	*l = conn.Ledger{}
	a := e.ReqStart
	b := max(a, e.ReqEnd)
	c := max(b, e.RespStart)
	if e.RespStart == 0 {
		c = max(b, r.stop)
	}
	d := max(c, e.RespEnd)
	if first {
		t.prefix(r, l, a, e.Protocol == protoTLS)
	}
	switch e.Protocol {
	case protoDNS:
		l.Add(conn.DNS, d-a)
		return 0
	case protoTLS:
		w := t.log.within(a, d)
		l.Add(conn.LossStall, w[waitLoss])
		l.Add(conn.WindowStall, w[waitWindow])
		l.Add(conn.TLS, d-a-w[waitLoss]-w[waitWindow])
		return 0
	}
	if len(t.log.list) == 0 { // nobody ever waited: as below, without looking
		rest := c - b
		rtt = min(rest, t.part(r, e, rest, 0))
		l.Part[conn.RequestSend], l.Part[conn.Path] = b-a, rtt
		l.Part[conn.ServerThink], l.Part[conn.Transfer] = rest-rtt, d-c
		l.Total += d - a
		return rtt
	}
	t.spread(l, a, b, conn.RequestSend)
	w := t.log.within(b, c)
	l.Add(conn.LossStall, w[waitLoss])
	l.Add(conn.WindowStall, w[waitWindow])
	rest := c - b - w[waitLoss] - w[waitWindow]
	rtt = min(rest, t.part(r, e, rest, w[waitLoss]))
	l.Add(conn.Path, rtt)
	l.Add(conn.ServerThink, rest-rtt)
	t.spread(l, c, d, conn.Transfer)
	return rtt
}

// spread gives an interval in which bytes were sent to its waits, and the rest to a
// part.
func (t *talk) spread(l *conn.Ledger, from, to int64, rest conn.Part) {
	if to <= from {
		return
	}
	w := t.log.within(from, to)
	l.Add(conn.LossStall, w[waitLoss])
	l.Add(conn.WindowStall, w[waitWindow])
	l.Add(conn.SenderIdle, w[waitIdle])
	l.Add(rest, to-from-w[waitLoss]-w[waitWindow]-w[waitIdle])
}

// part is the part of the wait for an answer that the path took, of which loss was given
// away already.
func (t *talk) part(r *record, e *conn.Exchange, rest, loss int64) int64 {
	if r.flags&flagUDP != 0 {
		return rest // nothing tells the path from the server
	}
	return t.pathOf(e.AckFrame, e.RespFrame, e.AckTime-e.ReqEnd-loss, rest)
}

// pathOf is the round trip between the tap and the server that the wait for an
// answer holds: the request was acknowledged by a frame after such a time, and answered
// by another after the rest.
func (t *talk) pathOf(ackFrame, answer uint64, ack, rest int64) int64 {
	known := t.half(flow.ToServer)
	if known == 0 && ackFrame == 0 {
		return rest
	}
	estimate := known
	if smooth := t.voice[flow.ToServer].rtt.smooth; smooth-known > delayedAck {
		estimate = smooth
	}
	if ackFrame == 0 || ackFrame == answer {
		if known == 0 {
			return rest // acknowledged with the answer, and nothing to compare with
		}
		return estimate
	}
	ack = max(0, ack)
	switch {
	case known == 0 || ack < estimate:
		return ack
	case ack-estimate > delayedAck:
		return ack // later than any delayed ACK: the request was on its way
	}
	return estimate
}

// complete fills in what the segments tell of an analyzer's exchange: when the
// request was acknowledged, and when it was answered although the analyzer could
// not read the answer (cut by the snaplen, or missing in the capture).
func (t *talk) complete(e *conn.Exchange) {
	if e.ReqLast == 0 {
		return
	}
	var p asked
	if x := &t.turn; x.state != turnNone && x.reqLast == e.ReqLast {
		x.remembered(&p)
	} else {
		for i := range t.past {
			if t.past[i].last == e.ReqLast {
				p = t.past[i]
			}
		}
	}
	if e.AckFrame == 0 {
		e.AckFrame, e.AckTime = p.ack, p.at
	}
	if e.RespStart == 0 && p.answerAt != 0 {
		e.RespStart, e.RespFrame, e.RespEnd, e.RespLast, e.RespBytes = p.answerAt, p.answer, p.overAt, p.over, p.bytes
	}
}

// prefix adds what came before the first request: lookup, connection, TLS and the
// client's own time between them. A connection that was opened long before it was
// used delayed nobody.
func (t *talk) prefix(r *record, l *conn.Ledger, request int64, tls bool) {
	if r.flags&flagSYN == 0 || r.ready == 0 || r.ready > request || r.ready < r.start {
		return
	}
	handshake := t.tlsAt[0] != 0 && !tls && t.tlsAt[0] >= r.ready && t.tlsAt[1] >= t.tlsAt[0] && t.tlsAt[1] <= request
	think := request - r.ready
	if handshake {
		think -= t.tlsAt[1] - t.tlsAt[0]
	}
	if think > contiguous {
		return
	}
	if from, to := t.lookup[0], t.lookup[1]; to != 0 && from <= to && to <= r.start && r.start-to <= contiguous {
		l.Add(conn.DNS, to-from)
		l.Add(conn.ClientThink, r.start-to)
	}
	again := t.connectRetries(r)
	l.Add(conn.LossStall, again)
	l.Add(conn.Connect, r.ready-r.start-again)
	l.Add(conn.ClientThink, think)
	if handshake {
		w := t.log.within(t.tlsAt[0], t.tlsAt[1])
		l.Add(conn.LossStall, w[waitLoss])
		l.Add(conn.WindowStall, w[waitWindow])
		l.Add(conn.TLS, t.tlsAt[1]-t.tlsAt[0]-w[waitLoss]-w[waitWindow])
	}
}

// connectRetries is the time that repeated SYNs and SYN-ACKs cost.
func (t *talk) connectRetries(r *record) int64 {
	var ns int64
	if r.syns > 1 && t.synAt > r.start {
		ns += t.synAt - r.start
	}
	if r.synAcks > 1 && t.sackAt > r.synAck {
		ns += t.sackAt - r.synAck
	}
	return max(0, min(ns, r.ready-r.start))
}
