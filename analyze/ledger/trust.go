package ledger

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// near is how much smaller one half of the round trip must be for the tap to be at
// that end, and how small at most.
const (
	nearShare = 10
	nearMost  = 2 * millisecond
)

// vantage tells where the tap is on a connection: by the initial TTLs (64, 128 and
// 255 are untouched only before the first router) and by the halves of the round
// trip.
func (b *Books) vantage(r *record) string {
	var t *talk
	if r.talk != 0 {
		t = b.talks.At(r.talk)
	}
	ttl := func(d flow.Dir) uint8 {
		if t != nil && t.voice[d].ttls > 0 {
			return t.voice[d].ttl
		}
		return r.ttl[d]
	}
	whole := func(d flow.Dir) bool { return hops(ttl(d)) == 0 }
	client, server := whole(flow.ToServer), whole(flow.ToClient)
	both := r.flags&(flagSeen|flagSeenServer) == flagSeen|flagSeenServer
	if !both { // the side that is seen is near, or nothing can be told
		switch {
		case r.flags&flagSeen != 0 && client:
			return conn.AtClient
		case r.flags&flagSeenServer != 0 && server:
			return conn.AtServer
		}
		return ""
	}
	if client != server {
		if client {
			return conn.AtClient
		}
		return conn.AtServer
	}
	var up, down int64
	if t != nil {
		up, down = t.half(flow.ToServer), t.half(flow.ToClient)
	} else {
		up, down = r.half(flow.ToServer), r.half(flow.ToClient)
	}
	switch {
	case up == 0 || down == 0:
		return ""
	case down < nearMost && down*nearShare <= up:
		return conn.AtClient
	case up < nearMost && up*nearShare <= down:
		return conn.AtServer
	case !client && !server:
		return conn.Between
	}
	return ""
}

// trust fills in how far the capture can be believed about a connection.
func (b *Books) trust(r *record, sum *conn.Summary) {
	sum.Vantage = b.vantage(r)
	if r.talk == 0 {
		return
	}
	t := b.talks.At(r.talk)
	n := uint64(t.copies[0].n) + uint64(t.copies[1].n)
	if t.mirrored(r) {
		sum.Copies = n
	} else {
		sum.Client.Packets += uint64(t.copies[0].n)
		sum.Server.Packets += uint64(t.copies[1].n)
	}
	sum.Offload = t.voice[0].larges > 0 || t.voice[1].larges > 0 ||
		t.offloaded(flow.ToServer) || t.offloaded(flow.ToClient)
}

// trusting tells what of the connection the capture does not show, or shows twice.
func (p *report) trusting() {
	r, t := p.r, p.t
	if p.final && r.flags&flagMid != 0 {
		p.say(MidStream, finding.Info, pair(at{r.first, r.start}), yes(r.flags&flagKnown != 0))
	}
	if p.final {
		p.oneSided()
	}
	if r.talk == 0 {
		return
	}
	if n := t.copies[0].n + t.copies[1].n; n > 0 {
		if t.mirrored(r) {
			p.say(MirrorCopies, p.usual(MirrorCopies), t.proof(MirrorCopies),
				count(n), figure(ratio(float64(n), float64(r.packets[0]+r.packets[1]))),
				count(max(t.copies[0].apart, t.copies[1].apart)/microsecond), yes(t.copies[0].routed || t.copies[1].routed))
		} else {
			d := busier(t.copies[0].n, t.copies[1].n)
			p.say(DuplicateFrames, p.either(DuplicateFrames, n > 2), t.proof(MirrorCopies),
				count(n), figure(ratio(float64(t.copies[d].n), float64(r.packets[d]))), words(towards(t.copies[0].n, t.copies[1].n)),
				count(t.copies[0].reactions+t.copies[1].reactions), count(max(t.copies[0].apart, t.copies[1].apart)/microsecond))
		}
	}
	p.checksums()
	if n := t.voice[0].larges + t.voice[1].larges; n > 0 {
		p.say(LargeSegments, finding.Info, t.proof(LargeSegments),
			count(n), count(max(t.voice[0].most, t.voice[1].most)), count(r.agreed()), words(towards(t.voice[0].larges, t.voice[1].larges)))
	}
	if r.flags&(flagSeen|flagSeenServer) == flagSeen|flagSeenServer {
		p.gaps()
	}
}

// gaps tells what arrived and is not in the capture: bytes, or the SYN-ACK of a
// connection that goes on.
func (p *report) gaps() {
	r, t := p.r, p.t
	n, missing := t.voice[0].unseen+t.voice[1].unseen, t.voice[0].missing+t.voice[1].missing
	ev := t.proof(CaptureGap)
	if p.final && r.flags&flagSYN != 0 && r.synAcks == 0 && r.flags&(flagRefused|flagCrossed) == 0 && r.bytes[flow.ToClient] > 0 {
		n++
		if ev == nil {
			ev = pair(at{r.first, r.start})
		}
	}
	if n > 0 {
		p.say(CaptureGap, finding.Info, ev, count(n), count(missing))
	}
	if late := t.voice[0].misplaced + t.voice[1].misplaced; late > 0 {
		d := busier(t.voice[0].misplaced, t.voice[1].misplaced)
		p.say(CapturedLate, p.usual(CapturedLate), t.proof(CapturedLate),
			count(late), figure(ratio(float64(t.voice[d].misplaced), float64(t.voice[d].segments))), words(receiver(d)))
	}
	if n := t.voice[0].conflicts + t.voice[1].conflicts; n > 0 {
		d := busier(t.voice[0].conflicts, t.voice[1].conflicts)
		p.say(Overlap, p.usual(Overlap), t.proof(Overlap), count(n), words(sender(d)), bySender(d))
	}
}

func (p *report) checksums() {
	r, t := p.r, p.t
	var damaged [2]uint32
	for d := range flow.Dir(2) {
		switch {
		case t.mixed(d):
			damaged[d] = max(t.sums[d].damaged, t.sums[d].n)
		case t.offloaded(d):
			p.say(ChecksumOffload, finding.Info, t.proof(ChecksumOffload), count(t.sums[d].n), words(sender(d)))
		default:
			damaged[d] = t.sums[d].damaged
		}
	}
	n := damaged[0] + damaged[1]
	if n == 0 {
		return
	}
	d := busier(damaged[0], damaged[1])
	p.say(BadChecksum, p.usual(BadChecksum), t.proof(BadChecksum),
		count(n), figure(ratio(float64(damaged[d]), float64(r.packets[d]))), words(towards(damaged[0], damaged[1])),
		seconds(t.voice[0].lossWait+t.voice[1].lossWait), count(t.voice[0].resent+t.voice[1].resent))
}

// oneSided tells of a connection of which one direction is missing in the capture.
func (p *report) oneSided() {
	r := p.r
	var d flow.Dir
	switch r.flags & (flagSeen | flagSeenServer) {
	case flagSeen:
		d = flow.ToServer
	case flagSeenServer:
		d = flow.ToClient
	default:
		return
	}
	o := &p.t.voice[d^1]
	fin := r.flags&side(flagFin, d) != 0
	// A SYN without answer is no connection; an ACK, a SYN-ACK or data proves one.
	if r.flags&(flagEstablished|flagMid) == 0 && r.synAck == 0 && r.bytes[d] == 0 && !fin {
		return
	}
	if r.flags&flagRst != 0 && r.packets[d] == uint32(r.syns)+1 {
		return
	}
	p.say(OneSided, finding.Info, nil, words(sender(d)), count(r.packets[d]), count(o.ackSum), yes(r.bytes[d] > 0 || o.ackSum > 0 || fin))
}
