package ledger

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// sums follows segments of one direction whose checksum is wrong. A wrong checksum
// by itself proves nothing: hosts leave it to their network card, cards that join
// segments do not mend it, boxes rewrite addresses. What the receiver did tells: a
// damaged segment is dropped and has to be sent again (RFC 9293, 3.1), any other is
// acknowledged.
type sums struct {
	n       uint32 // segments with a wrong checksum
	damaged uint32 // of these, sent again
	fine    uint32 // of these, acknowledged as they were
	open    [openSums]suspect
	next    uint8
}

// suspect is a segment with a wrong checksum that is not yet decided.
type suspect struct {
	from, to uint32
	frame    uint64
	at       int64
}

const openSums = 8

// Checksum takes, before Segment, a segment whose TCP checksum is wrong. Segments
// that cannot be verified (cut by the snaplen) are not for here.
func (b *Books) Checksum(ref Ref, s *tcp.Segment) {
	if ref == 0 {
		return
	}
	t := b.talkOf(b.records.At(uint32(ref)))
	t.odd()
	x := &t.sums[s.Dir&1]
	x.n++
	to := s.Seq + s.Len
	if s.Flags&(tcp.FlagSYN|tcp.FlagFIN) != 0 {
		to++
	}
	if to == s.Seq {
		return // nothing that could be acknowledged or sent again
	}
	x.open[x.next%openSums] = suspect{from: s.Seq, to: to, frame: s.Frame, at: s.Time}
	x.next++
}

// confirm takes a segment of the direction that was sent again.
func (t *talk) confirm(d flow.Dir, s *tcp.Segment, from, to uint32) {
	x := &t.sums[d]
	for i := range x.open {
		o := &x.open[i]
		if o.frame == 0 || o.frame == s.Frame || !before(o.from, to) || !before(from, o.to) {
			continue
		}
		x.damaged++
		rising(t.evidence(BadChecksum), o.frame, o.at)
		*o = suspect{}
	}
}

// excuse takes an acknowledgement of the direction's segments.
func (t *talk) excuse(d flow.Dir, s *tcp.Segment) {
	x := &t.sums[d]
	for i := range x.open {
		o := &x.open[i]
		if o.frame == 0 || before(s.Ack, o.to) {
			continue
		}
		x.fine++
		rising(t.evidence(ChecksumOffload), o.frame, o.at)
		*o = suspect{}
	}
}

// offloaded reports whether the wrong checksums of a side are those that its network
// card had yet to fill in.
func (t *talk) offloaded(d flow.Dir) bool {
	x := &t.sums[d]
	return x.fine > 0 && x.fine > 4*x.damaged
}

// mixed reports whether of a side's first segments with payload, which are all
// verified, some have a wrong checksum and more the right one: a network card fills
// in all or none of these.
func (t *talk) mixed(d flow.Dir) bool {
	x := &t.sums[d]
	good := uint32(t.voice[d].sound)
	return x.n > 0 && good >= 2 && x.n <= good && t.voice[d].larges == 0
}

// verified reports whether a segment with payload is one of a side's first and has
// the right checksum.
func (x *sums) verified(r *record, s *tcp.Segment) bool {
	return r.packets[s.Dir&1] <= fewSegments && int(s.Len) <= len(s.Data) && (x.n == 0 || x.open[(x.next-1)%openSums].frame != s.Frame)
}

// fewSegments of each side are verified in any case: they tell offload.
const fewSegments = 4

// What is verified of a direction with trouble while every checksum is right: were the
// segments that are sent again damaged ones, some would be among so many. Damage that is
// rarer than one segment in some thousand slows nobody down.
const (
	doubtSegments = 4096
	doubtEach     = 64 // for each that was sent again
)

// Doubtful reports whether the checksum of a direction's next segment is worth
// verifying, and counts on its being verified: at the beginning of a connection, and
// once something was sent again or acknowledged twice. Adding up every segment would
// cost more than all else.
func (b *Books) Doubtful(ref Ref, d flow.Dir) bool {
	if ref == 0 {
		return false
	}
	r := b.records.At(uint32(ref))
	d &= 1
	if r.packets[d] < fewSegments {
		return true
	}
	if r.flags&flagDoubt == 0 {
		return false
	}
	t := b.talks.At(r.talk)
	f := &t.voice[d]
	if f.resent == 0 && t.voice[d^1].dupAcks == 0 {
		return false
	}
	if f.doubted >= doubtSegments+doubtEach*f.resent && t.sums[d].n == 0 {
		return false
	}
	f.doubted++
	return true
}
