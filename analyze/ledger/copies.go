package ledger

import (
	"netwhy/analyze/flow"
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

// imprint is a segment that came by, to recognise its copies: its hash stands apart,
// since of most nothing else is ever read.
type imprint struct {
	at  int64
	ttl uint8
}

// fingerprint mixes what a copy has in common with its original, and what tells a
// segment sent again from it: the IP ID and the timestamp.
func fingerprint(s *tcp.Segment) uint32 {
	const m = 0x9E3779B97F4A7C15
	h := uint64(s.Seq)<<32 | uint64(s.Ack)
	h = (h ^ uint64(s.Flags)<<48 ^ uint64(s.Window)<<32 ^ uint64(s.Len)) * m
	h ^= h >> 29
	h = (h ^ uint64(s.IPID)) * m
	h ^= h >> 29
	h = (h ^ s.Head) * m
	h ^= h >> 29
	if s.Stamped {
		h = (h ^ uint64(s.TSVal)<<32 ^ uint64(s.TSEcr)) * m
	} else {
		for _, x := range s.Options {
			h = (h ^ uint64(x)) * m
		}
	}
	h ^= h >> 32
	return uint32(h&(1<<32-1)) | 1
}

// copied reports whether a segment is a copy of one that came by, and counts it. t is nil
// if the conversation has no talk.
func (b *Books) copied(r *record, t *talk, s *tcp.Segment) bool {
	d := s.Dir & 1
	if s.Flags&tcp.FlagRST != 0 && s.IPID == 0 && (t == nil || !t.doubled(r)) {
		return false // a closed port answers each segment with the same RST
	}
	hash := fingerprint(s)
	if t != nil {
		if t.met(hash, d) && t.again(hash, s) {
			return true
		}
		t.remember(hash, d, s.TTL, s.Time)
		return false
	}
	since := s.Time - r.stop
	soon := since < copyWindow || s.Flags&tcp.FlagSYN != 0 && since < synWindow ||
		since < routedWindow && s.IPID != 0 && s.TTL < r.ttl[d] || since < lateWindow && s.IPID != 0 && s.Len > 0
	same := r.print[d] == hash && since >= 0 && soon
	r.print[d] = hash
	if !same {
		return false
	}
	b.talkOf(r).copy(s, d, &imprint{ttl: r.ttl[d], at: r.stop})
	return true
}

// again reports whether a segment whose hash was met is a copy, and counts it.
func (t *talk) again(hash uint32, s *tcp.Segment) bool {
	d := s.Dir & 1
	hashes, list := t.prints(d)
	for i, known := range hashes {
		if known != hash {
			continue
		}
		p := &list[i]
		age := s.Time - p.at
		told := s.IPID != 0 || len(s.Options) >= stampBytes // something tells it from one sent again
		late := age < lateWindow && s.IPID != 0 && s.Len > 0
		if age < 0 || age >= copyWindow && !late && (age >= routedWindow || s.TTL >= p.ttl || !told) {
			continue
		}
		t.copy(s, d, p)
		if s.TTL != p.ttl {
			p.ttl, p.at = min(p.ttl, s.TTL), s.Time
		}
		return true
	}
	return false
}

// prints are the latest segments of a direction: more of them where many are under
// way.
func (t *talk) prints(d flow.Dir) (hashes []uint32, list []imprint) {
	if t.bulk != nil {
		l := &t.bulk.dir[d]
		return l.hashes[:], l.recent[:]
	}
	f := &t.voice[d]
	return f.hashes[:], f.recent[:]
}

// met reports whether a hash is among the prints of a direction. It nearly never is, so
// this is asked first, and of each of them at once.
func (t *talk) met(hash uint32, d flow.Dir) bool {
	if t.bulk == nil {
		h := &t.voice[d].hashes
		return h[0] == hash || h[1] == hash || h[2] == hash || h[3] == hash
	}
	h := &t.bulk.dir[d].hashes
	return h[0] == hash || h[1] == hash || h[2] == hash || h[3] == hash ||
		h[4] == hash || h[5] == hash || h[6] == hash || h[7] == hash ||
		h[8] == hash || h[9] == hash || h[10] == hash || h[11] == hash ||
		h[12] == hash || h[13] == hash || h[14] == hash || h[15] == hash
}

// doubled reports whether a good part of the connection's frames came twice.
func (t *talk) doubled(r *record) bool {
	return (t.copies[0].n+t.copies[1].n)*3 >= r.packets[0]+r.packets[1]
}

func (t *talk) remember(hash uint32, d flow.Dir, ttl uint8, at int64) {
	f := &t.voice[d]
	hashes, list := t.prints(d)
	i := int(f.recentAt) & (len(list) - 1) // both lengths are powers of two
	hashes[i&(len(hashes)-1)], list[i] = hash, imprint{ttl: ttl, at: at}
	f.recentAt++
}

// twins counts the copies of one direction's frames.
type twins struct {
	n         uint32
	reactions uint32 // D-SACKs for what was not sent again
	apart     int64  // largest distance, ns
	routed    bool   // they have another TTL
}

func (t *talk) copy(s *tcp.Segment, d flow.Dir, of *imprint) {
	t.odd()
	x := &t.copies[d]
	x.n++
	x.apart = max(x.apart, s.Time-of.at)
	x.routed = x.routed || s.TTL != of.ttl
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
