package ledger

import (
	"math"

	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/slab"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// Options of the books. The zero value works.
type Options struct {
	Diary bool // keep what Zeek's conn.log wants besides; costs memory
}

// Ref names a conversation's book; 0 is none.
type Ref uint32

// Books keeps the books of one lane. No locks: calls come from one goroutine, in
// capture order.
type Books struct {
	diaries map[Ref]*diary // nil: none are kept
	records slab.Slab[record]
	talks   slab.Slab[talk]
	bulks   pool[bulk]
	mends   pool[[2]mend]
	rares   pool[rare]
	tallies pool[tally]
	queries slab.Slab[queries]
	parts   slab.Slab[conn.Ledger]   // of queries
	worst   slab.Slab[conn.Exchange] // of queries
	none    *rare                    // what talks without trouble share; never written to
	noTally *tally                   // likewise
	noMend  *mend                    // likewise
	blank   *talk                    // of connections without one; never written to
	own     conn.Exchange            // the turn that is being put away
	emit    func(conv uint32, f finding.Finding)
	sev     map[finding.Code]finding.Severity
	latest  int64 // time of the latest packet of any conversation
}

// New opens the books of a lane. emit takes the findings of a conversation, whose
// Flow is left for the caller to fill in; the same code for the same conversation
// replaces the earlier one.
func New(opt Options, emit func(conv uint32, f finding.Finding)) *Books {
	b := &Books{
		emit: emit, sev: map[finding.Code]finding.Severity{}, none: &rare{}, noTally: &tally{}, noMend: &mend{},
	}
	if opt.Diary {
		b.diaries = make(map[Ref]*diary)
	}
	b.own.Complete = true
	b.blank = &talk{b: b}
	b.blank.clear()
	for _, d := range Defs() {
		b.sev[d.Code] = d.Severity
	}
	return b
}

// Open begins the book of a conversation; conv is the lane's number of it.
func (b *Books) Open(conv uint32, key *flow.Key, _ bool) Ref {
	n, r := b.records.Get()
	*r = record{conv: conv, scale: [2]int8{-1, -1}}
	if key.Proto == flow.UDP {
		r.flags |= flagUDP
	}
	return Ref(n)
}

// talkOf returns the talk of a conversation, made when it is first wanted.
func (b *Books) talkOf(r *record) *talk {
	if r.talk != 0 {
		return b.talks.At(r.talk)
	}
	n, t := b.talks.Get()
	t.b = b
	t.clear()
	r.talk = n
	for d := range t.voice { // what the handshake told
		if r.packets[d] > 0 {
			t.voice[d].ttl, t.voice[d].ttls = r.ttl[d], 1
		}
		if r.print[d] != 0 {
			t.voice[d].prints.set(0, r.print[d], r.ttl[d], r.stop)
			t.voice[d].recentAt++
		}
	}
	t.shook(r)
	if r.askedLen > 0 {
		t.firstWords(r)
	} else {
		t.last = r.stop
	}
	return t
}

// waits reports whether a segment is the client's first payload, without anything
// odd about it, and if so keeps it in the record.
func (r *record) waits(s *tcp.Segment, m tcp.Marks) bool {
	mss := r.agreed()
	if m != 0 || s.Dir != flow.ToServer || r.ready == 0 || r.askedLen > 0 || s.Len == 0 || mss == 0 || s.Len > mss ||
		s.CE || s.TTL != r.ttl[flow.ToServer] || s.Flags&(tcp.FlagSYN|tcp.FlagFIN|tcp.FlagRST) != 0 {
		return false
	}
	r.askedAt, r.askedIn, r.askedSeq, r.askedAck = s.Time, s.Frame, s.Seq, s.Ack
	r.askedLen, r.askedWin, r.askedID = uint16(min(s.Len, math.MaxUint16)), s.Window, s.IPID
	r.askedPush = s.Flags&tcp.FlagPSH != 0
	if s.Head>>8&math.MaxUint8 == tlsMajor {
		r.askedFirst = uint8(s.Head & math.MaxUint8)
	}
	return true
}

// firstWords gives the talk the client's first payload, which the record kept.
func (t *talk) firstWords(r *record) {
	s := tcp.Segment{
		Frame: r.askedIn, Time: r.askedAt, Dir: flow.ToServer, Seq: r.askedSeq, Ack: r.askedAck,
		Flags: tcp.FlagACK, Window: r.askedWin, Len: uint32(r.askedLen), TTL: r.ttl[flow.ToServer], IPID: r.askedID,
	}
	if r.askedPush {
		s.Flags |= tcp.FlagPSH
	}
	if r.askedFirst != 0 {
		s.Data = []byte{r.askedFirst, tlsMajor}
		s.Head = decode.HeadOf(s.Data)
	}
	r.askedLen = 0
	v := tcp.View{
		New: s.Len, InFlight: s.Len, Window: uint32(r.askedWin),
		ScaleKnown: r.scale[0] >= 0 && r.scale[1] >= 0, Established: true, ClientKnown: true,
	}
	if v.ScaleKnown {
		v.Window <<= max(r.scale[flow.ToServer], 0)
	}
	t.segment(r, &s, 0, &v)
}

// Empty tells that no more conversations will begin: the memory of those that are
// closed from now on is given back.
func (b *Books) Empty() {
	b.records.Empty()
}

func (b *Books) forget(r *record, ref Ref) {
	if r.talk != 0 {
		t := b.talks.At(r.talk)
		if t.rare != b.none {
			b.rares.put(t.rare)
		}
		for _, y := range []*tally{t.own, t.told} {
			if y != b.noTally {
				b.tallies.put(y)
			}
		}
		if t.bulk != nil {
			if t.bulk.mends != nil {
				b.mends.put(t.bulk.mends)
			}
			b.bulks.put(t.bulk)
		}
		t.clear()
		b.talks.Put(r.talk)
		r.talk = 0
	}
	if n := r.queries(); n != 0 {
		q := b.queries.At(n)
		if q.worst != 0 {
			*b.worst.At(q.worst) = conn.Exchange{} // its strings
			b.worst.Put(q.worst)
		}
		if q.parts != 0 {
			b.parts.Put(q.parts)
		}
		b.queries.Put(n)
	}
	b.records.Put(uint32(ref))
}

// pool keeps used items for later.
type pool[T any] struct{ free []*T }

// maxFree bounds the memory of a pool.
const maxFree = 1 << 10

func (p *pool[T]) get() *T {
	if n := len(p.free); n > 0 {
		x := p.free[n-1]
		p.free = p.free[:n-1]
		var zero T
		*x = zero
		return x
	}
	x := new(T)
	var zero T
	*x = zero // memory that is read before it is written is had from the system twice
	return x
}

func (p *pool[T]) put(x *T) {
	if len(p.free) < maxFree {
		p.free = append(p.free, x)
	}
}

// note counts one packet.
func (r *record) note(frame uint64, at int64, d flow.Dir, payload, wire uint32, ttl uint8) {
	if r.packets[d] == 0 {
		if r.packets[d^1] == 0 {
			r.first, r.start, r.stop = frame, at, at
		}
		r.ttl[d] = ttl
		r.flags |= side(flagSeen, d)
	}
	r.last, r.stop = frame, max(r.stop, at)
	r.packets[d]++
	r.bytes[d] += uint64(payload)
	r.wire[d] += uint64(wire)
}

// Datagram notes a datagram of a UDP conversation. A copy made by a mirror port is
// not counted.
func (b *Books) Datagram(ref Ref, d flow.Dir, f *packet.Frame, p *decode.Packet, copied bool) {
	if ref == 0 || copied {
		return
	}
	r := b.records.At(uint32(ref))
	r.note(f.Number, f.Time, d&1, p.PayloadLen, f.WireLen, p.TTL)
	if y := b.diaryOf(ref); y != nil {
		y.datagram(d, p.NetLen())
	}
	if r.talk != 0 {
		b.talks.At(r.talk).heardAgain(f.Time)
	}
}

// Segment measures one segment, after the tracker judged it. Nothing of s and v is
// kept. A frame that a mirror port or the path delivered twice is recognised and
// measured once.
func (b *Books) Segment(ref Ref, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	if ref == 0 {
		return
	}
	r := b.records.At(uint32(ref))
	if b.diaries != nil {
		b.diarySegment(ref, s, m) // copies too: Zeek takes each frame for a packet
	}
	var t *talk
	if r.talk != 0 {
		t = b.talks.At(r.talk)
	}
	if t == nil || s.Flags&tcp.FlagRST != 0 {
		if !b.copied(r, t, s) {
			b.segment(r, t, s, m, v)
		}
		return
	}
	f, o := &t.voice[flow.ToServer], &t.voice[flow.ToClient]
	if s.Dir&1 != flow.ToServer {
		f, o = o, f
	}
	if !t.met(f, s) && !t.calm(f, o, r, s, m, v) {
		b.segment(r, t, s, m, v)
	}
}

// segment measures a segment the long way.
func (b *Books) segment(r *record, t *talk, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	r.note(s.Frame, s.Time, s.Dir&1, s.Len, s.WireLen, s.TTL)
	if int(s.Len) > len(s.Data) {
		r.flags |= flagSnapped
	}
	const control = tcp.FlagSYN | tcp.FlagFIN | tcp.FlagRST
	retried := false
	if s.Flags&control != 0 || r.flags&flagEstablished == 0 {
		retried = r.handshake(s, v)
		if t != nil {
			t.shook(r)
		}
		if m.Has(tcp.ReusedPorts) {
			r.flags |= flagReused
		}
	}
	switch {
	case t != nil:
	case r.waits(s, m):
		return
	case retried || r.askedLen > 0 || s.Len > 0 || m&^(tcp.Reset|tcp.WindowUpdate) != 0,
		s.Flags&tcp.FlagRST != 0 && r.flags&flagEstablished != 0,
		v.Acked > 1 && r.flags&side(flagSeen, s.Dir^1) == 0: // the data are not in the capture
		t = b.talkOf(r)
	default:
		return
	}
	if retried {
		t.retry(r, s)
	}
	if t.icmp.n > 0 {
		t.heardAgain(s.Time)
	}
	if t.resets.n > 0 {
		t.afterReset(s)
	}
	t.segment(r, s, m, v)
}

// heardAgain notes progress after an ICMP error.
func (t *talk) heardAgain(at int64) {
	if t.icmp.n > 0 && t.icmp.mended == 0 && at > t.icmp.at {
		t.icmp.mended = at
	}
}

// ICMPError notes that an ICMP error quoted a packet of the conversation.
func (b *Books) ICMPError(ref Ref, e *correlate.ICMPError, frame uint64, at int64) {
	if ref == 0 {
		return
	}
	r := b.records.At(uint32(ref))
	t := b.talkOf(r)
	t.odd()
	dst := e.Quoted.A
	if e.QuotedSrcA {
		dst = e.Quoted.B
	}
	if t.icmp.n == 0 {
		t.icmp = icmp{
			kind: e.Type, code: e.Code, v6: e.V6, mtu: e.MTU, from: e.From, at: at,
			fromPeer: e.From == flow.Addr(dst), connecting: r.flags&flagEstablished == 0,
			toServer: e.To != flow.Addr(dst),
		}
	}
	t.icmp.n++
	t.evidence(ICMPError).Add(frame, at)
}

// Lookup gives the time of the DNS lookup that the client made before it
// connected; it stands in the ledger of the first exchange.
func (b *Books) Lookup(ref Ref, start, end int64) {
	if ref != 0 && end > start {
		b.talkOf(b.records.At(uint32(ref))).lookup = [2]int64{start, end}
	}
}

// Exchange takes an exchange that an analyzer found, splits its time (x.Ledger)
// and fills in when its request was acknowledged. From the first one on, turns
// that the books see themselves no longer count as exchanges.
//
// It must come after Segment or Datagram for the packet that completed it: the wait
// that this packet ends is known only then.
func (b *Books) Exchange(ref Ref, x *conn.Exchange) {
	if ref == 0 {
		return
	}
	r := b.records.At(uint32(ref))
	if r.flags&flagUDP != 0 {
		b.asked(r, x)
		return
	}
	t := b.talkOf(r)
	if x.Protocol == protoTLS && t.tlsAt[0] == 0 {
		t.tlsAt[0] = x.ReqStart
	}
	t.account(r, x, true, false)
	if w := t.log.within(x.ReqStart, x.ReqEnd); w[waitIdle] > 0 {
		t.hurt()
		t.pauses.request.certain = true
	}
	if x.RespStart == 0 {
		return
	}
	if w := t.log.within(x.RespStart, x.RespEnd); w[waitIdle] > 0 {
		t.hurt()
		t.pauses.answer.certain = true
	}
}

// Early emits the findings of a conversation as they stand now, for live mode.
func (b *Books) Early(ref Ref) {
	if ref == 0 {
		return
	}
	r := b.records.At(uint32(ref))
	if r.flags&flagUDP == 0 {
		b.find(r, false, "")
	}
}

// Peek fills in what Close would, as it stands now, and changes nothing: for a
// moment of a live run.
func (b *Books) Peek(ref Ref, sum *conn.Summary) {
	if ref != 0 {
		b.summary(b.records.At(uint32(ref)), proto.Over, sum)
	}
}

// Bytes is what was seen of a conversation on the wire so far.
func (b *Books) Bytes(ref Ref) uint64 {
	r := b.records.At(uint32(ref))
	return r.wire[0] + r.wire[1]
}

// Close ends a conversation's book: it fills in its summary (all but ID, addresses,
// CommunityID, Realm and what analyzers found), emits its findings and forgets it.
func (b *Books) Close(ref Ref, why proto.End, sum *conn.Summary) {
	if ref == 0 {
		return
	}
	r := b.records.At(uint32(ref))
	if r.askedLen > 0 {
		b.talkOf(r)
	}
	if r.talk != 0 {
		b.talks.At(r.talk).over(r)
	}
	b.summary(r, why, sum)
	if y := b.diaryOf(ref); y != nil {
		y.into(sum)
		delete(b.diaries, ref)
	}
	if r.flags&flagUDP == 0 {
		b.find(r, true, sum.End)
	}
	b.forget(r, ref)
}

// over ends what is under way.
func (t *talk) over(r *record) {
	for d := range flow.Dir(2) {
		f := &t.voice[d]
		if f.shutAt != 0 {
			f.shutTotal += r.stop - f.shutAt
		}
		// A closed window at the end cost time only if the sender was seen to try.
		o := &t.voice[d^1]
		if o.block != 0 && o.openAt == 0 && o.shutBy && o.probeRun > 0 {
			if ns := t.last - max(o.block, o.newAt); ns > shortWait {
				o.shutWait += ns
				o.shutMost = max(o.shutMost, ns)
				o.shutTimes++
				t.log.add(waitWindow, d^1, max(o.block, o.newAt), t.last)
			}
		}
		if t.bulk != nil {
			if l := &t.bulk.dir[d]; l.healFrom != 0 {
				l.heal(l.healFrom, t.last)
			}
		}
	}
	if t.turn.state == turnResponse {
		t.finish(r)
		t.turn = turn{}
	} else {
		t.pauseTurn(&t.turn)
	}
}
