package analyze

import (
	"encoding/binary"

	"netwhy/analyze/decode"
	"netwhy/capture/packet"
)

// A mirror port that copies a frame at entry and at exit of a switch does so
// within the time that the switch needs; a host that sends the same datagram
// again waits longer. Between two taps of a routed path it is some milliseconds.
const (
	copyWindow = 2_000_000     // ns
	second     = 1_000_000_000 // ns
)

// copies recognises frames that the capture point copied: the same packet again
// within copyWindow, TTL and link header aside. It serves what has no
// conversation; datagrams are remembered by theirs (lane.recall), and TCP is
// judged by the ledger, which knows the connection.
type copies struct {
	recent [copySlots]copyOf
}

const copySlots = 1 << 12 // a direct-mapped memory: what falls on the same slot is forgotten

type copyOf struct {
	mark  uint64
	time  int64
	ttl   uint8
	falls uint8 // times that it came by with a lower TTL
	since int64 // of the second in which times are counted
	times uint64
}

// sight is what copies knows of a packet that came by.
type sight struct {
	again  bool   // a copy of a recent one
	looped bool   // it goes in a circle
	times  uint64 // that it came by within the second, when this has doubled; else 0
}

func newCopies() *copies { return &copies{} }

// A mirror of two sides of a router shows a packet twice, one hop apart. One
// that comes by again and again, each time with a lower TTL, goes in a circle;
// sent again by its host it would have the first TTL.
const loopFalls = 3

// seen tells whether the packet at hand came by before.
func (c *copies) seen(f *packet.Frame, p *decode.Packet, raw []byte) (v sight) {
	mark := fingerprint(p, raw)
	slot := &c.recent[mark%copySlots]
	age := f.Time - slot.time
	now := copyOf{mark: mark, time: f.Time, ttl: p.TTL, since: f.Time, times: 1}
	if slot.mark == mark && age >= 0 {
		v.again = age < copyWindow
		if v.again && p.TTL == slot.ttl {
			now.falls = slot.falls // a mirrored copy says nothing of a circle
		}
		if p.IPVersion != 0 && p.TTL < slot.ttl && age < second {
			now.falls = min(slot.falls+1, loopFalls)
			v.looped = now.falls >= loopFalls
		}
		if f.Time-slot.since < second {
			now.since, now.times = slot.since, slot.times+1
			if now.times&(now.times-1) == 0 {
				v.times = now.times
			}
		}
	}
	*slot = now
	return v
}

// fingerprint mixes what stays the same when a packet is copied: addresses and
// identification, and of the bytes behind the network header the first and last
// ones and their number.
func fingerprint(p *decode.Packet, raw []byte) uint64 {
	const head, tail = 64, 16
	h := uint64(p.Hash)<<32 | uint64(p.IPID)<<16 | uint64(p.Proto)
	if p.SrcIsA {
		h ^= 1 << 63
	}
	from := p.L4
	if p.Kind == decode.KindARP || p.Kind == decode.KindLink {
		from = 0 // the link addresses are all it has
	}
	b := raw[min(int(from), len(raw)):min(int(p.End), len(raw))]
	h = stir(h, uint64(len(b)))
	end := b[max(len(b)-tail, 0):]
	b = b[:min(len(b), head)]
	for len(b) >= 8 {
		h = stir(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for _, x := range b {
		h = stir(h, uint64(x))
	}
	for len(end) >= 8 {
		h = stir(h, binary.LittleEndian.Uint64(end))
		end = end[8:]
	}
	return h
}

func stir(h, v uint64) uint64 {
	h = (h ^ v) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}
