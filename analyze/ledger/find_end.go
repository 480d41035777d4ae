package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// begun tells of beginnings that no client makes, or that need care.
func (p *report) begun() {
	r := p.r
	if r.flags&flagOdd != 0 {
		p.say(OddFlags, p.usual(OddFlags), nil, count(r.packets[0]+r.packets[1]), yes(r.flags&flagRstServer != 0))
	}
	if r.flags&flagCrossed != 0 && r.flags&flagSYN != 0 {
		p.say(CrossedSYNs, p.usual(CrossedSYNs), nil, yes(r.synAcks > 0), yes(r.flags&flagEstablished != 0))
	}
	if r.flags&flagReused != 0 {
		p.say(PortReused, p.usual(PortReused), pair(at{r.first, r.start}), count(r.syns), yes(r.synAcks > 0), yes(r.flags&flagRefused != 0))
	}
}

// connecting tells of handshakes that failed or took more than one attempt.
func (p *report) connecting() {
	r, t := p.r, p.t
	p.begun()
	answered := r.flags&flagSeenServer != 0
	if r.flags&flagRefused != 0 {
		// Several SYNs may have been refused: each by its own RST.
		p.say(Refused, p.usual(Refused), pair(at{r.first, r.start}, at{r.end, r.endAt}),
			millis(r.endAt-max(r.start, t.synAt)), count(r.endTTL), count(hops(r.endTTL)), count(r.syns))
	}
	if r.flags&flagSYN == 0 {
		return
	}
	waited := max(t.synAt, r.start) - r.start
	if r.syns > 1 {
		ev := t.proof(SYNRetry)
		p.say(SYNRetry, p.either(SYNRetry, waited >= costlyStall), ev, count(r.syns), seconds(waited), yes(answered))
	}
	if r.synAcks > 1 {
		first := t.sackAt - r.synAck
		ev := t.proof(SYNACKRetry)
		p.say(SYNACKRetry, p.either(SYNACKRetry, r.ready != 0 || r.synAcks > 2), ev, count(r.synAcks), seconds(first), yes(r.ready != 0))
	}
	if p.final && r.unanswered() && r.flags&flagRst == 0 && t.icmp.n == 0 && (r.syns > 1 || p.b.latest-r.start >= second) {
		ev := t.proof(SYNRetry)
		if ev == nil {
			ev = pair(at{r.first, r.start})
		}
		p.say(NoAnswer, p.usual(NoAnswer), ev,
			count(r.syns), seconds(waited), seconds(max(p.b.latest, r.stop)-r.start), count(r.ttl[flow.ToServer]))
	}
	if t.icmp.n > 0 {
		p.icmpError()
	}
	if r.flags&flagFastOpenFailed != 0 {
		p.say(FastOpenFailed, finding.Info, pair(at{r.first, r.start}), count(r.bytes[flow.ToServer]))
	}
	if lowMSS(r) {
		p.say(LowMSS, finding.Info, pair(at{r.first, r.start}), count(r.mss[0]), count(r.mss[1]))
	}
}

// usualMSS4 and usualMSS6 are what an MTU of 1500 leaves (RFC 6691).
const (
	usualMSS4 = 1460
	usualMSS6 = 1440
)

func lowMSS(r *record) bool {
	for _, m := range r.mss {
		if m != 0 && m < usualMSS6 {
			return true
		}
	}
	return false
}

func pair(frames ...at) *finding.Evidence {
	ev := proof(frames...)
	return &ev
}

// hops is how many routers a packet passed, if it began with a usual TTL.
func hops(ttl uint8) int {
	for _, first := range []uint8{64, 128, 255} {
		if ttl <= first {
			return int(first - ttl)
		}
	}
	return 0
}

func (p *report) icmpError() {
	x, r := &p.t.icmp, p.r
	stop := x.mended
	if stop == 0 {
		stop = max(r.stop, x.at)
	}
	fatal := r.flags&flagEstablished == 0
	p.say(ICMPError, p.usual(ICMPError), p.t.proof(ICMPError),
		count(x.kind), count(x.code), yes(x.v6), words(x.reason()), words(x.from.String()), yes(x.fromPeer), count(x.mtu),
		yes(x.connecting), yes(fatal), count(x.n), yes(x.toServer), seconds(max(0, stop-x.at)))
}

// icmpReasons names type and code of the errors (RFC 792, 1122 3.2.2.1, 1812 5.2.7).
func (x *icmp) reason() string {
	if x.v6 {
		return x.reason6()
	}
	switch x.kind {
	case 3:
		switch x.code {
		case 0, 6, 8, 11:
			return "net-unreachable"
		case 1, 7, 12:
			return reasonHost
		case 2:
			return "protocol-unreachable"
		case 3:
			return reasonPort
		case 4:
			return "fragmentation-needed"
		case 9, 10, 13, 14, 15:
			return reasonAdmin
		}
		return "unreachable"
	case 4:
		return "source-quench"
	case 5:
		return "redirect"
	case 11:
		return reasonTime
	case 12:
		return "parameter-problem"
	}
	return "other"
}

const (
	reasonHost  = "host-unreachable"
	reasonPort  = "port-unreachable"
	reasonAdmin = "admin-prohibited"
	reasonTime  = "time-exceeded"
)

// reason6 names those of ICMPv6 (RFC 4443, 3).
func (x *icmp) reason6() string {
	switch x.kind {
	case 1:
		switch x.code {
		case 0:
			return "no-route"
		case 1, 5, 6:
			return reasonAdmin
		case 3:
			return reasonHost
		case 4:
			return reasonPort
		}
		return "unreachable"
	case 2:
		return "packet-too-big"
	case 3:
		return reasonTime
	case 4:
		return "parameter-problem"
	}
	return "other"
}

// dying tells how an established connection was cut off or died.
func (p *report) dying() {
	switch {
	case p.t.resets.n > 0 && p.r.flags&flagEstablished != 0:
		p.reset()
	case p.t.resets.odd > 0:
		p.injected(PhaseConnect)
	}
	for d := range flow.Dir(2) {
		p.unanswered(d)
		p.deadKeepAlives(d)
	}
}

// requests is how many exchanges there were.
func (p *report) requests() uint32 {
	y, _ := p.t.tally()
	return y.n
}

func (p *report) phase() (phase string, mid bool) {
	x := &p.t.resets
	y, _ := p.t.tally()
	switch {
	case p.r.flags&flagEstablished == 0:
		return PhaseConnect, false
	case x.lateData:
		// A client that only stops asking still reads: one that resets the answer
		// has gone away.
		return PhaseLateData, x.side == flow.ToServer
	case x.closing:
		return PhaseClosing, false
	case x.answered:
		return PhaseIdle, false
	}
	switch x.phase {
	case turnRequest:
		if x.moving && x.side == flow.ToServer || x.unacked > 0 {
			return PhaseRequest, true
		}
		return PhaseWait, true
	case turnResponse, turnPush:
		// A server that is done closes with FIN, or much later: one that resets right
		// after its own words did not end them.
		cut := x.pushing || !x.finAny && (x.unacked > 0 || x.side == flow.ToClient && x.at-x.last < second)
		if p.t.told.any && p.r.flags&flagSnapped == 0 {
			cut = y.incomplete
		}
		if cut {
			return PhaseResponse, true
		}
	case turnNone:
	}
	if x.finAny {
		return PhaseClosing, false
	}
	return PhaseIdle, false
}

func (p *report) reset() {
	t, r, x := p.t, p.r, &p.t.resets
	phase, mid := p.phase()
	f := &t.voice[x.side]
	peerTTL := f.ttl
	if f.ttls == 0 {
		peerTTL = 0
	}
	sev := finding.Info
	if mid {
		sev = finding.Notice
	}
	var after int64
	if x.last > 0 {
		after = x.at - x.last
	}
	p.say(Reset, sev, t.proof(Reset),
		words(sender(x.side)), bySender(x.side), words(phase), yes(mid), seconds(after), count(x.unacked),
		count(x.reqBytes), count(x.respBytes), count(x.n), count(x.ttl), count(peerTTL), seconds(x.at-r.start),
		count(p.requests()), yes(r.flags&flagEstablished != 0), yes(x.finAny))
	if x.odd > 0 || !x.finAny && (x.wentOn >= 3 || x.oddID && x.wentOn > 0) {
		p.injected(phase)
	}
	if x.answered && r.flags&flagEstablished != 0 {
		host := &t.voice[x.answerSide]
		p.say(ResetAfterIdle, p.usual(ResetAfterIdle), t.proof(ResetAfterIdle),
			seconds(x.idle), millis(x.took), millis(t.half(x.answerSide^1)), count(x.answerTTL), count(host.ttl),
			yes(host.ttls != 0 && host.ttl != x.answerTTL), words(sender(x.answerSide)), bySender(x.answerSide), yes(x.keepAlive),
			count(p.requests()), yes(x.zeroWindow))
	}
}

// differs reports whether two TTLs are too far apart for one path.
func differs(a, b uint8) bool { return b != 0 && max(a, b)-min(a, b) >= 2 }

func (p *report) injected(phase string) {
	t, x := p.t, &p.t.resets
	ttl, usual, side, when, n := x.oddTTL, x.realTTL, x.oddSide, x.oddAt, x.odd
	ev := t.proof(ResetInjected)
	if n == 0 {
		f := &t.voice[x.side]
		ttl, usual, side, when, n = x.ttl, f.ttl, x.side, x.at, x.n
		ev = t.proof(Reset)
	}
	var after int64
	if x.last > 0 {
		after = max(0, when-x.last)
	}
	idle := int64(0)
	if x.answered {
		idle = x.idle
	}
	p.say(ResetInjected, p.usual(ResetInjected), ev,
		count(n), count(ttl), count(usual), yes(differs(ttl, usual)), yes(x.oddID), count(x.wentOn), yes(x.oddSides == 3),
		words(sender(side)), bySender(side), words(phase), count(x.payloads), millis(after), seconds(idle))
}

// ended says how it ended for the sender of d, which waits since then to hear of
// the other side.
func (p *report) ended(d flow.Dir, since int64) string {
	r, t := p.r, p.t
	switch {
	case t.voice[d^1].heard > since:
		return EndedRecovered
	case r.flags&(flagRst|flagRstServer) != 0:
		return EndedReset
	case r.flags&side(flagFin, d) != 0:
		return EndedClosed
	case p.end == conn.EndIdle:
		return EndedSilence
	}
	return EndedCapture
}

// unanswered tells of data that was sent again and again into silence.
func (p *report) unanswered(d flow.Dir) {
	t := p.t
	f, o := &t.voice[d], &t.voice[d^1]
	const attempts = 3
	open := f.inFlight() > 0 && before(f.acked, f.trySeq+1) || o.flags&vHeard == 0
	if f.tries < attempts || !open || p.r.flags&flagEstablished == 0 {
		return
	}
	if !t.dead(d) && (t.resets.n == 0 || o.heard >= f.tryAt) {
		return
	}
	p.say(Unanswered, p.usual(Unanswered), t.proof(Unanswered),
		seconds(f.tryIdle), count(f.tries), seconds(t.last-f.tryAt), count(f.tryBytes), count(f.passed),
		words(receiver(d)), byReceiver(d), words(p.ended(d, f.tryAt)), count(p.requests()), count(f.keepRun), yes(o.heard > f.tryAt))
}

// deadKeepAlives tells of probes without answer.
func (p *report) deadKeepAlives(d flow.Dir) {
	f, o := &p.t.voice[d], &p.t.voice[d^1]
	if f.keepRun == 0 || f.keepRun == 1 && p.r.flags&side(flagRst, d) == 0 {
		return
	}
	if o.heard >= f.keepAt {
		return
	}
	p.say(KeepAliveDead, p.usual(KeepAliveDead), p.t.proof(KeepAliveDead),
		count(f.keepRun), seconds(p.t.last-o.heard), seconds(f.keepIdle), words(receiver(d)), byReceiver(d),
		words(p.ended(d, f.keepAt)), count(p.requests()))
}
