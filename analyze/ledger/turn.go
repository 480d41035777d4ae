package ledger

import (
	"math"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// turnState says what the turn of a connection is at.
type turnState uint8

const (
	turnNone     turnState = iota // nobody has spoken since the last one was put away
	turnRequest                   // the client spoke last
	turnResponse                  // the server spoke last
	turnPush                      // the server speaks without having been asked
)

// greetLimit is how long after the handshake the server's first words still count
// as a greeting that the client waited for.
const greetLimit = 30 * second

// pushFrom is how long the server must have been silent after the end of a message
// for its next words to be a message of their own.
const pushFrom = second

// turn is the exchange under way, as the direction of the payload tells.
type turn struct {
	state              turnState
	ackPure            bool // the ACK of the request came without payload
	greeting           bool // the server spoke first
	handshake          bool // of TLS
	reqSeq             uint32
	reqStart, reqEnd   int64
	respStart, respEnd int64
	ackTime            int64
	reqFrame, reqLast  uint64
	ackFrame           uint64
	respFrame          uint64
	respLast           uint64
	reqBytes           uint64
	respBytes          uint64
	idleReq, idleResp  int64 // pauses of the sender
	before             int64 // pause of the client before it
}

// asked remembers an earlier turn, for the analyzer that tells later of the same
// request: when it was acknowledged, and when the answer came.
type asked struct {
	last, ack        uint64 // frames
	answer, over     uint64
	at               int64 // of the ACK
	answerAt, overAt int64
	bytes            uint64
}

// tally sums up exchanges.
type tally struct {
	n, failed   uint32
	slow, polls uint32
	trips       uint32
	kept        kept  // of think
	slowly      int64 // ns of server think of the slow ones
	lost        int64 // avoidable parts
	longest     int64 // avoidable parts of the worst
	parts       conn.Ledger
	think       [8]uint32 // µs
	worst       slowest
	incomplete  bool // the latest was cut off
	any         bool
}

// slowest is the exchange in which the server thought longest.
type slowest struct {
	think, wait, ack, rtt     int64
	reqBytes, respBytes       uint64
	reqLast, ackFrame, answer uint64
	reqAt, answerAt           int64
	greeting                  bool
}

// pauses gathers pauses of the sender of a turn and of the client between turns.
type pauses struct {
	between, request, answer pausing
}

// pausing is one kind of pause.
type pausing struct {
	total   int64
	longest int64
	active  int64      // ns of the turns that they fell in
	bytes   uint64     // of these turns
	few     [16]uint32 // ms
	kept    kept
	certain bool
}

func (p *pausing) add(ns int64) {
	p.total += ns
	p.longest = max(p.longest, ns)
	if p.kept.takes() {
		p.kept.put(p.few[:], uint32(max(0, min(ns/millisecond, 1<<31))))
	}
}

// n is how many there were.
func (p *pausing) n() uint32 { return p.kept.seen }

func (p *pausing) samples() []uint32 { return p.few[:p.kept.n] }

// Pauses from these lengths on are remembered.
const (
	pauseFrom   = 200 * millisecond // inside a turn
	betweenFrom = 300 * millisecond // between turns
)

// clientSpoke notes n new bytes of the client, which end its s. idle is what of the silence of
// the direction before them was the sender's own.
func (t *talk) clientSpoke(r *record, s *tcp.Segment, n uint32, idle int64) {
	x := &t.turn
	if x.state != turnRequest {
		t.finish(r)
		t.ask(r, s)
	} else if idle >= pauseFrom && idle >= 3*t.roundTrip() {
		x.idleReq += idle
		t.hurt()
		t.pauses.request.add(idle)
		t.prove(SlowClient, s)
	}
	x.reqSeq, x.reqEnd, x.reqLast = t.voice[flow.ToServer].next, s.Time, s.Frame
	x.ackFrame, x.ackTime = 0, 0
	x.reqBytes += uint64(n)
}

// serverSpoke notes n new bytes of the server. gap is the silence of the direction before
// them, idle what of it was the sender's own.
func (t *talk) serverSpoke(r *record, s *tcp.Segment, n uint32, gap, idle int64) {
	x := &t.turn
	switch x.state {
	case turnNone:
		t.speakFirst(r, s)
	case turnRequest:
		x.state = turnResponse
		x.respStart, x.respFrame = s.Time, s.Frame
	case turnResponse, turnPush:
		if idle >= pauseFrom {
			t.paused(r, s, gap, idle)
		}
	}
	x.respEnd, x.respLast = s.Time, s.Frame
	x.respBytes += uint64(n)
}

// paused notes that the server paused within its answer, or between two messages.
func (t *talk) paused(r *record, s *tcp.Segment, gap, idle int64) {
	if idle < 3*t.roundTrip() {
		return
	}
	x := &t.turn
	t.hurt()
	cut := t.cutShort()
	if gap >= pushFrom && !cut {
		// The message before was complete: this is another one, that nobody asked for.
		t.pauses.answer.add(idle)
		t.prove(ServerPauses, s)
		t.finish(r)
		*x = turn{state: turnPush, respStart: s.Time, respFrame: s.Frame}
		return
	}
	x.idleResp += idle
	t.pauses.answer.add(idle)
	t.pauses.answer.certain = t.pauses.answer.certain || cut
	t.prove(ServerPauses, s)
}

// cutShort reports whether the server's last segment before this one was a full one
// without PSH: its message goes on.
func (t *talk) cutShort() bool {
	f := &t.voice[flow.ToClient]
	full := f.most
	if t.mss > 0 {
		full = min(full, t.mss-40) // timestamps and other options take at most 40 bytes
	}
	return f.lastBy >= full && full >= defaultMSS && !f.push
}

// ask begins a turn with the client's first bytes.
func (t *talk) ask(r *record, s *tcp.Segment) {
	x := &t.turn
	*x = turn{state: turnRequest, reqStart: s.Time, reqFrame: s.Frame}
	first := t.own.n == 0 && t.rec == 0
	since := t.rec
	if first {
		since = r.ready
		if s.Head&math.MaxUint16 == tlsMajor<<8|tlsHandshake {
			t.tls = true
		}
	}
	// TLS 1.2 speaks twice before the first request; in 1.3 the second time begins
	// with change cipher spec or application data.
	x.handshake = t.tls && t.tlsAt[1] == 0 && s.Head&math.MaxUint8 == tlsHandshake
	if since == 0 {
		return
	}
	x.before = max(0, s.Time-since-t.half(flow.ToClient))
	switch {
	case first:
		t.firstThink = x.before
	case x.before >= betweenFrom:
		t.hurt()
		t.pauses.between.add(x.before)
		t.prove(ClientPauses, s)
	}
}

// TLS records (RFC 8446, 5.1).
const (
	tlsHandshake = 22
	tlsMajor     = 3
)

// speakFirst begins a turn with the server's words that no request came before.
func (t *talk) speakFirst(r *record, s *tcp.Segment) {
	x := &t.turn
	*x = turn{state: turnPush, respStart: s.Time, respFrame: s.Frame}
	if t.own.n == 0 && t.rec == 0 && r.ready != 0 && s.Time-r.ready < greetLimit {
		x.state, x.greeting = turnResponse, true
		x.reqStart, x.reqEnd = r.ready, r.ready
		x.reqFrame, x.reqLast = r.first, r.first
	}
}

// finish puts the turn under way away. Who calls it begins another one.
func (t *talk) finish(r *record) {
	x := &t.turn
	if x.state == turnNone {
		return
	}
	t.pauseTurn(x)
	if x.state == turnRequest && x.respStart == 0 || x.state == turnPush {
		return // nothing to split: no answer, or no question
	}
	if !x.greeting {
		x.remembered(&t.past[t.pastAt%uint8(len(t.past))])
		t.pastAt++
		t.sized(x.reqBytes)
	}
	if !t.brief(x) {
		t.whole(r, x)
	}
}

// whole accounts for a turn as for any exchange.
func (t *talk) whole(r *record, x *turn) {
	e := &t.b.own // its other fields are always zero
	e.Protocol = protoTCP
	e.ReqStart, e.ReqEnd, e.RespStart, e.RespEnd = x.reqStart, x.reqEnd, x.respStart, x.respEnd
	e.ReqFrame, e.ReqLast, e.AckFrame, e.AckTime = x.reqFrame, x.reqLast, x.ackFrame, x.ackTime
	e.RespFrame, e.RespLast, e.ReqBytes, e.RespBytes = x.respFrame, x.respLast, x.reqBytes, x.respBytes
	if x.handshake {
		e.Protocol = protoTLS
		if t.tlsAt[0] == 0 {
			t.tlsAt[0] = x.reqStart
		}
	}
	t.account(r, e, false, x.greeting)
}

// brief accounts for the turn that most are: not the first, of a connection that never
// had to wait, and neither slower than any before nor the worst. It reports whether it
// was one; if not, nothing was changed. What it does is what the whole way does.
func (t *talk) brief(x *turn) bool {
	y := t.own
	if !y.any || x.handshake || x.respStart == 0 || len(t.log.list) > 0 {
		return false
	}
	b := max(x.reqStart, x.reqEnd)
	c := max(b, x.respStart)
	total := max(c, x.respEnd) - x.reqStart
	rest := c - b
	path := min(rest, t.pathOf(x.ackFrame, x.respFrame, x.ackTime-x.reqEnd, rest))
	think := rest - path // all that was lost
	if think >= slowThink || think > y.worst.think ||
		(think > y.longest || t.worst[0] == nil) && (think >= worthKeeping || total >= worthTotal) {
		return false
	}
	y.n++
	y.incomplete = false
	y.lost += think
	if path > 0 {
		y.trips++
	}
	p := &y.parts
	p.Total += total
	p.Part[conn.RequestSend] += b - x.reqStart
	p.Part[conn.Path] += path
	p.Part[conn.ServerThink] += think
	p.Part[conn.Transfer] += total - (c - x.reqStart)
	if y.kept.takes() {
		y.kept.put(y.think[:], micros(think))
	}
	return true
}

// remembered fills in what is remembered of a turn.
func (x *turn) remembered(p *asked) {
	p.last, p.ack, p.at, p.answer, p.answerAt = x.reqLast, x.ackFrame, x.ackTime, x.respFrame, x.respStart
	p.over, p.overAt, p.bytes = x.respLast, x.respEnd, x.respBytes
}

// sized notes the size of a request.
func (t *talk) sized(n uint64) {
	size := uint32(min(n, 1<<31))
	if t.reqs == 0 || size < t.reqMin {
		t.reqMin = size
	}
	t.reqMax = max(t.reqMax, size)
	t.reqs++
	t.reqSum += n
}

// pauseTurn adds the extent of a turn that its sender paused in.
func (t *talk) pauseTurn(x *turn) {
	if x.idleReq > 0 {
		t.pauses.request.active += x.reqEnd - x.reqStart
		t.pauses.request.bytes += x.reqBytes
	}
	if x.idleResp > 0 {
		t.pauses.answer.active += x.respEnd - x.respStart
		t.pauses.answer.bytes += x.respBytes
	}
}

// Protocols of exchanges that have a meaning here.
const (
	protoTCP = "tcp"
	protoTLS = "tls"
)
