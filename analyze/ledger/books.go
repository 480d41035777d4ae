package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// Options of the books. The zero value works.
type Options struct{}

// Ref names a conversation's book; 0 is none.
type Ref uint32

// Books keeps the books of one lane. No locks: calls come from one goroutine, in
// capture order.
type Books struct {
	records slab[record]
	talks   slab[talk]
	bulks   []*bulk // free ones
	emit    func(conv uint32, f finding.Finding)
	sev     map[finding.Code]finding.Severity
	latest  int64 // time of the latest packet of any conversation
}

// New opens the books of a lane. emit takes the findings of a conversation, whose
// Flow is left for the caller to fill in; the same code for the same conversation
// replaces the earlier one.
func New(_ Options, emit func(conv uint32, f finding.Finding)) *Books {
	b := &Books{
		records: newSlab[record](recordPage), talks: newSlab[talk](talkPage),
		emit: emit, sev: map[finding.Code]finding.Severity{},
	}
	for _, d := range Defs() {
		b.sev[d.Code] = d.Severity
	}
	return b
}

// Open begins the book of a conversation; conv is the lane's number of it.
func (b *Books) Open(conv uint32, key *flow.Key, _ bool) Ref {
	n, r := b.records.get()
	*r = record{conv: conv, scale: [2]int8{-1, -1}}
	if key.Proto == flow.UDP {
		r.flags |= flagUDP
	}
	return Ref(n)
}

// talkOf returns the talk of a conversation, made when it is first wanted.
func (b *Books) talkOf(r *record) *talk {
	if r.talk != 0 {
		return b.talks.at(r.talk)
	}
	n, t := b.talks.get()
	t.clear()
	r.talk = n
	for d := range t.voice { // what the handshake told
		if r.packets[d] > 0 {
			t.voice[d].ttl, t.voice[d].ttls = r.ttl[d], 1
		}
		if r.print[d] != 0 {
			t.remember(r.print[d], flow.Dir(d), r.ttl[d], r.stop, r.last)
		}
	}
	t.last = r.stop
	return t
}

func (b *Books) newBulk() *bulk {
	if n := len(b.bulks); n > 0 {
		k := b.bulks[n-1]
		b.bulks = b.bulks[:n-1]
		*k = bulk{}
		return k
	}
	return new(bulk)
}

// maxFreeBulks bounds the memory kept for later.
const maxFreeBulks = 1 << 10

func (b *Books) forget(r *record, ref Ref) {
	if r.talk != 0 {
		t := b.talks.at(r.talk)
		if t.bulk != nil && len(b.bulks) < maxFreeBulks {
			b.bulks = append(b.bulks, t.bulk)
		}
		t.clear()
		b.talks.put(r.talk)
		r.talk = 0
	}
	b.records.put(uint32(ref))
}

// note counts one packet.
func (r *record) note(frame uint64, at int64, d flow.Dir, payload, wire uint32, ttl uint8) {
	if r.packets[0]+r.packets[1] == 0 {
		r.first, r.start, r.stop = frame, at, at
	}
	r.last, r.stop = frame, max(r.stop, at)
	if r.packets[d] == 0 {
		r.ttl[d] = ttl
	}
	r.packets[d]++
	r.bytes[d] += uint64(payload)
	r.wire[d] += uint64(wire)
	r.flags |= side(flagSeen, d)
}

// Datagram notes a datagram of a UDP conversation. A copy made by a mirror port is
// not counted.
func (b *Books) Datagram(ref Ref, d flow.Dir, f *packet.Frame, p *decode.Packet, copied bool) {
	if ref == 0 || copied {
		return
	}
	r := b.records.at(uint32(ref))
	r.note(f.Number, f.Time, d&1, p.PayloadLen, f.WireLen, p.TTL)
	if r.talk != 0 {
		b.talks.at(r.talk).heardAgain(f.Time)
	}
}

// Segment measures one segment, after the tracker judged it. Nothing of s and v is
// kept. A frame that a mirror port or the path delivered twice is recognised and
// measured once.
func (b *Books) Segment(ref Ref, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	if b.copied(r, s) {
		return
	}
	r.note(s.Frame, s.Time, s.Dir&1, s.Len, s.WireLen, s.TTL)
	const control = tcp.FlagSYN | tcp.FlagFIN | tcp.FlagRST
	retried := false
	if s.Flags&control != 0 || r.flags&flagEstablished == 0 {
		retried = b.handshake(r, s, v)
	}
	var t *talk
	switch {
	case r.talk != 0:
		t = b.talks.at(r.talk)
	case retried || s.Len > 0 || m&^(tcp.Reset|tcp.WindowUpdate) != 0,
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
	t.segment(b, r, s, m, v)
}

// heardAgain notes progress after an ICMP error.
func (t *talk) heardAgain(at int64) {
	if t.icmp.n > 0 && t.icmp.mended == 0 && at > t.icmp.at {
		t.icmp.mended = at
	}
}

// Checksum takes, besides Segment, a segment whose TCP checksum is wrong (captured
// in full).
func (b *Books) Checksum(ref Ref, s *tcp.Segment) {
	if ref == 0 {
		return
	}
	t := b.talkOf(b.records.at(uint32(ref)))
	t.bad[s.Dir&1]++
	t.prove(BadChecksum, s)
}

// ICMPError notes that an ICMP error quoted a packet of the conversation.
func (b *Books) ICMPError(ref Ref, e *correlate.ICMPError, frame uint64, at int64) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	t := b.talkOf(r)
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
		b.talkOf(b.records.at(uint32(ref))).lookup = [2]int64{start, end}
	}
}

// Exchange takes an exchange that an analyzer found, splits its time (x.Ledger)
// and fills in when its request was acknowledged. From the first one on, turns
// that the books see themselves no longer count as exchanges.
func (b *Books) Exchange(ref Ref, x *conn.Exchange) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	t := b.talkOf(r)
	if x.Protocol == protoTLS && t.tlsAt[0] == 0 {
		t.tlsAt[0] = x.ReqStart
	}
	t.account(r, x, &t.told, false)
	if w := t.log.within(x.ReqStart, x.ReqEnd); w[waitIdle] > 0 {
		t.pauses.request.certain = true
	}
	if x.RespStart != 0 {
		if w := t.log.within(x.RespStart, x.RespEnd); w[waitIdle] > 0 {
			t.pauses.answer.certain = true
		}
	}
}

// Early emits the findings of a conversation as they stand now, for live mode.
func (b *Books) Early(ref Ref) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	if r.flags&flagUDP == 0 {
		b.find(r, false, "")
	}
}

// Close ends a conversation's book: it fills in its summary (all but ID, addresses,
// CommunityID, Realm and what analyzers found), emits its findings and forgets it.
func (b *Books) Close(ref Ref, why proto.End, sum *conn.Summary) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	if r.talk != 0 {
		b.talks.at(r.talk).over(r)
	}
	b.summary(r, why, sum)
	if r.flags&flagUDP == 0 {
		b.find(r, true, sum.End)
	}
	b.forget(r, ref)
}

// over ends what is under way.
func (t *talk) over(r *record) {
	for d := range t.voice {
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
				t.log.add(waitWindow, flow.Dir(d^1), max(o.block, o.newAt), t.last)
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
	} else {
		t.pauseTurn(&t.turn)
	}
}
