package ledger

import (
	"encoding/binary"

	"netwhy/analyze/tcp"
)

// A mirror port copies a frame at entry and at exit of a switch, within the time
// that the switch needs; nothing is sent again that soon. Between two sides of a
// router, or in a routing loop, the copy has a lower TTL and may come later.
//
// Slow hubs and bridges double a frame some milliseconds later, when others have
// passed. The same IP ID then tells the copy from a segment sent again: by a timer
// that is 200 ms later at the soonest (RFC 6298, 2.4, and usage), and by duplicate
// ACKs it gets an ID of its own.
const (
	copyWindow   = 2 * millisecond
	lateWindow   = 50 * millisecond
	routedWindow = 200 * millisecond
	// synWindow is the soonest that a SYN is sent again.
	synWindow   = 100 * millisecond
	recentSlots = 4
	bulkSlots   = 16
	// Of a direction with fewer frames than this a share says nothing.
	fewFrames = 3
	nearlyAll = 0.9
	// stampBytes is the length of options that hold a timestamp.
	stampBytes = 12
)

// prints are the latest segments of a direction, to recognise their copies: of most
// nothing but the hash is ever read.
type prints struct {
	hash [recentSlots]uint32
	ttl  [recentSlots]uint8
	at   [recentSlots]int64
}

// manyPrints are those of a direction with many segments under way.
type manyPrints struct {
	tag  [bulkSlots]uint8 // eight bits of each hash
	hash [bulkSlots]uint32
	ttl  [bulkSlots]uint8
	at   [bulkSlots]int64
}

// fingerprint mixes what a copy has in common with its original, and what tells a
// segment sent again from it: the IP ID and the timestamp.
func fingerprint(s *tcp.Segment) uint32 {
	const a, b, c, d = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xABC98388FB8FAC03
	h := (uint64(s.Seq) | uint64(s.Ack)<<32) * a // neighbours in a segment: a word of memory
	h += (uint64(s.Flags) | uint64(s.Window)<<16 | uint64(s.Len)<<32) * b
	h += (s.Head ^ uint64(s.IPID)<<48) * c
	if s.Stamped {
		h += (uint64(s.TSVal) | uint64(s.TSEcr)<<32) * d
	} else if len(s.Options) > 0 {
		h = stir(h, s.Options)
	}
	return uint32(h>>32) | 1
}

// stir mixes options into a fingerprint.
func stir(h uint64, options []byte) uint64 {
	const m = 0x9E3779B97F4A7C15
	for _, x := range options {
		h = (h ^ h>>32 ^ uint64(x)) * m
	}
	return h
}

// copied reports whether a segment is a copy of one that came by, and counts it. t is nil
// if the conversation has no talk.
func (b *Books) copied(r *record, t *talk, s *tcp.Segment) bool {
	if s.Flags&tcp.FlagRST != 0 && s.IPID == 0 && (t == nil || !t.doubled(r)) {
		return false // a closed port answers each segment with the same RST
	}
	if t != nil {
		return t.met(&t.voice[s.Dir&1], s)
	}
	d, hash := s.Dir&1, fingerprint(s)
	since := s.Time - r.stop
	soon := since < copyWindow || s.Flags&tcp.FlagSYN != 0 && since < synWindow ||
		since < routedWindow && s.IPID != 0 && s.TTL < r.ttl[d] || since < lateWindow && s.IPID != 0 && s.Len > 0
	same := r.print[d] == hash && since >= 0 && soon
	r.print[d] = hash
	if !same {
		return false
	}
	b.talkOf(r).copy(s, since, r.ttl[d])
	return true
}

// met reports whether a segment of f is a copy of one of the latest, and counts it. Else it
// is one of these from now on. Its hash is nearly never among them, so this is asked
// first, and of all of them at once.
func (t *talk) met(f *voice, s *tcp.Segment) bool {
	hash := fingerprint(s)
	if t.bulk != nil {
		x := &t.bulk.dir[s.Dir&1].prints
		if x.holds(hash) && t.again(s, hash) {
			return true
		}
		x.set(f.recentAt, hash, s.TTL, s.Time)
	} else {
		x := &f.prints
		h := &x.hash
		if (h[0] == hash || h[1] == hash || h[2] == hash || h[3] == hash) && t.again(s, hash) {
			return true
		}
		x.set(f.recentAt, hash, s.TTL, s.Time)
	}
	f.recentAt++
	return false
}

func (x *prints) set(n uint8, hash uint32, ttl uint8, at int64) {
	i := n % recentSlots
	x.hash[i], x.ttl[i], x.at[i] = hash, ttl, at
}

func (x *manyPrints) set(n uint8, hash uint32, ttl uint8, at int64) {
	i := n % bulkSlots
	x.tag[i], x.hash[i], x.ttl[i], x.at[i] = tag(hash), hash, ttl, at
}

func tag(hash uint32) uint8 { return uint8(hash >> 24) }

// holds reports whether a hash may be among the prints: by its tag, eight at a time. A
// byte of a word is zero if taking one from it borrows from above its highest bit.
func (x *manyPrints) holds(hash uint32) bool {
	const ones = 0x0101010101010101
	same := ones * uint64(tag(hash))
	a := binary.LittleEndian.Uint64(x.tag[:8]) ^ same
	b := binary.LittleEndian.Uint64(x.tag[8:]) ^ same
	return ((a-ones)&^a|(b-ones)&^b)&(ones<<7) != 0
}

// begin takes over what a direction without bulk remembered.
func (x *manyPrints) begin(few *prints) {
	copy(x.hash[:], few.hash[:])
	copy(x.ttl[:], few.ttl[:])
	copy(x.at[:], few.at[:])
	for i, hash := range few.hash {
		x.tag[i] = tag(hash)
	}
}

// again reports whether a segment whose hash was met is a copy, and counts it.
func (t *talk) again(s *tcp.Segment, hash uint32) bool {
	x := &t.voice[s.Dir&1].prints
	hashes, at, ttl := x.hash[:], x.at[:], x.ttl[:]
	if t.bulk != nil {
		x := &t.bulk.dir[s.Dir&1].prints
		hashes, at, ttl = x.hash[:], x.at[:], x.ttl[:]
	}
	for i, known := range hashes {
		if known != hash {
			continue
		}
		age := s.Time - at[i]
		told := s.IPID != 0 || len(s.Options) >= stampBytes // something tells it from one sent again
		late := age < lateWindow && s.IPID != 0 && s.Len > 0
		if age < 0 || age >= copyWindow && !late && (age >= routedWindow || s.TTL >= ttl[i] || !told) {
			continue
		}
		t.copy(s, age, ttl[i])
		if s.TTL != ttl[i] {
			ttl[i], at[i] = min(ttl[i], s.TTL), s.Time
		}
		return true
	}
	return false
}

// doubled reports whether a good part of the connection's frames came twice.
func (t *talk) doubled(r *record) bool {
	return (t.copies[0].n+t.copies[1].n)*3 >= r.packets[0]+r.packets[1]
}

// twins counts the copies of one direction's frames.
type twins struct {
	n         uint32
	reactions uint32 // D-SACKs for what was not sent again
	apart     int64  // largest distance, ns
	routed    bool   // they have another TTL
}

// copy counts a copy that came so much later than a segment with that TTL.
func (t *talk) copy(s *tcp.Segment, later int64, ttl uint8) {
	t.odd()
	x := &t.copies[s.Dir&1]
	x.n++
	x.apart = max(x.apart, later)
	x.routed = x.routed || s.TTL != ttl
	t.prove(MirrorCopies, s)
}

// mirrored reports whether the copies were made by the capture and not by the path:
// both directions have them in like number, or a router stands between the two
// taps, and no receiver reacted.
func (t *talk) mirrored(r *record) bool {
	a, b := &t.copies[0], &t.copies[1]
	if a.n+b.n == 0 || a.reactions+b.reactions > (a.n+b.n)/20 {
		return false
	}
	if a.routed || b.routed {
		return true
	}
	// Shares of the directions' frames; the path seldom doubles both alike.
	x := float64(a.n) / float64(max(r.packets[0], 1))
	y := float64(b.n) / float64(max(r.packets[1], 1))
	if a.reactions+b.reactions == 0 && a.n+b.n >= fewFrames {
		return true // a receiver that got data twice would have said so (RFC 2883, RFC 5681, 4.2)
	}
	if min(r.packets[0], r.packets[1]) < fewFrames {
		return max(x, y) >= nearlyAll
	}
	return a.n > 0 && b.n > 0 && min(x, y) >= max(x, y)/2
}
