package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

const (
	// noAnswerFrom is the shortest wait for an answer that never came.
	noAnswerFrom = second
	// longUpload is a request so large that it is more likely a stream that nobody
	// answers.
	longUpload = 64 << 10
	// slowlyFrom is the think time of a connection that somebody notices.
	slowlyFrom = second / 2
	// longPause is one that hardly is the pace of a program.
	longPause = second / 2
	// pausesFrom is the fewest pauses of the client that are told.
	pausesFrom = 2
)

// turns tells who made whom wait.
func (p *report) turns() {
	p.slowServer()
	p.noResponse()
	p.slowClient()
	p.clientPauses()
	p.serverPauses()
}

func (p *report) slowServer() {
	t := p.t
	y, _ := t.tally()
	if y.slow == 0 {
		return
	}
	w := &y.worst
	ev := t.proof(SlowServer)
	p.say(SlowServer, p.either(SlowServer, y.polls < y.slow && y.slowly >= slowlyFrom), ev,
		seconds(w.think), seconds(y.slowly), seconds(int64(median(y.think[:y.kept.n]))*microsecond),
		count(y.slow), count(y.n), millis(w.ack), yes(w.ackFrame != 0 && w.ack < w.wait/2), millis(w.rtt),
		count(w.reqBytes), count(w.respBytes), yes(w.greeting), seconds(w.wait),
		figure(ratio(float64(y.parts.Part[conn.ServerThink]), float64(y.parts.Total))), count(y.polls))
}

func (p *report) noResponse() {
	t, x := p.t, &p.t.turn
	if !p.final || x.state != turnRequest || x.respStart != 0 {
		return
	}
	stop := max(t.last, p.r.endAt)
	if p.r.flags&(flagRst|flagRstServer|flagFin|flagFinServer) == 0 {
		stop = max(stop, p.b.latest)
	}
	waited := stop - x.reqEnd
	if waited < noAnswerFrom || t.voice[flow.ToServer].tries >= 2 {
		return
	}
	sev := finding.Info
	if x.ackFrame != 0 && x.reqBytes < longUpload {
		sev = p.usual(NoResponse)
	}
	var ack int64
	if x.ackFrame != 0 {
		ack = x.ackTime - x.reqEnd
	}
	byServer := p.r.end != 0 && p.r.endSide == flow.ToClient
	ended := EndedCapture
	switch {
	case p.r.flags&(flagRst|flagRstServer) != 0:
		ended = EndedReset
	case p.r.flags&(flagFin|flagFinServer) != 0:
		ended = EndedClosed
	case p.end == conn.EndIdle:
		ended = EndedSilence
	}
	p.say(NoResponse, sev, pair(at{x.reqFrame, x.reqStart}, at{x.reqLast, x.reqEnd}, at{x.ackFrame, x.ackTime}, at{p.r.end, p.r.endAt}),
		seconds(waited), millis(ack), count(x.reqBytes), count(p.requests()), words(ended), yes(byServer), yes(x.ackFrame != 0), yes(t.tls && t.own.n == 0))
}

func (p *report) slowClient() {
	x := &p.t.pauses.request
	if x.n() == 0 {
		return
	}
	p.say(SlowClient, p.either(SlowClient, x.total >= second && (x.certain || x.longest >= longPause)), p.t.proof(SlowClient),
		seconds(x.total), seconds(x.longest), seconds(int64(median(x.samples()))*millisecond), count(x.n()),
		seconds(x.active), count(x.bytes), yes(x.certain))
}

func (p *report) clientPauses() {
	t, x := p.t, &p.t.pauses
	between := &x.between
	if between.n() < pausesFrom && t.firstThink < second {
		return
	}
	y := t.own // pauses lie between the turns that the books see
	life := p.r.stop - p.r.start
	p.say(ClientPauses, finding.Info, t.proof(ClientPauses),
		seconds(between.total), seconds(between.longest), seconds(int64(median(between.samples()))*millisecond), count(between.n()),
		figure(spread(between.samples())), figure(ratio(float64(between.total), float64(life))), count(y.n), seconds(y.parts.Total),
		figure(ratio(float64(t.reqSum), float64(t.reqs))), yes(t.reqs > 2 && t.reqMin >= t.reqMax/5*4), seconds(t.firstThink))
}

func (p *report) serverPauses() {
	x := &p.t.pauses.answer
	if x.n() == 0 {
		return
	}
	p.say(ServerPauses, p.either(ServerPauses, x.certain && x.total >= second), p.t.proof(ServerPauses),
		seconds(x.total), seconds(x.longest), seconds(int64(median(x.samples()))*millisecond), count(x.n()),
		seconds(x.active), count(x.bytes), yes(x.certain))
}
