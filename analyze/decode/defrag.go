package decode

import (
	"bytes"
	"math"
	"time"
)

// Bounds of a Defragmenter whose fields are left zero.
const (
	DefaultFragmentBytes = 8 << 20
	DefaultDatagrams     = 4096
)

// identificationAge is how long fragments with one identification are surely of
// one datagram (RFC 8200, 4.5); later ones need not agree with them.
const identificationAge = int64(60 * time.Second)

const (
	maxDatagram  = math.MaxUint16
	maxPieces    = maxDatagram/8 + 1
	maxFragHead  = 1024 // IPv6 header and extension headers before the fragment header
	maxRewrapped = 4    // reassembled packets that are fragments of another
)

// Defragmenter puts IPv4 and IPv6 fragments together (RFC 791, 3.2; RFC 815; RFC
// 8200, 4.5). Fragments belong together when addresses, identification and, in
// IPv4, protocol and innermost VLAN are equal, however far apart they are, as in
// Wireshark.
//
// Bytes that came first stay: a later fragment fills only what is still missing.
// Overlaps are counted, those with other bytes as conflicts (an attack, or two
// datagrams under one identification); plain copies, as a mirror port makes them,
// are no overlap. What exceeds the bounds is forgotten
// oldest first and counted.
//
// Fragments go to every worker, and each has its own Defragmenter: all see the
// same, and the one whose lane the whole packet's Hash is takes it on. The zero
// value is ready for use by one goroutine.
type Defragmenter struct {
	MaxBytes     int // of fragments held; 0: DefaultFragmentBytes
	MaxDatagrams int // 0: DefaultDatagrams

	Stats DefragStats

	open   map[fragKey]*datagram
	oldest *datagram // doubly linked by arrival of the first fragment
	newest *datagram
	free   *datagram
	bytes  int
	out    [2][]byte // of the last whole packet, and the one before
	turn   int
}

// DefragStats count what a Defragmenter did.
type DefragStats struct {
	Fragments uint64 // taken
	Whole     uint64 // datagrams put together
	Repeated  uint64 // fragments that brought nothing new: copies
	Overlaps  uint64 // fragments that covered some bytes already there, and agreed
	Conflicts uint64 // fragments that covered bytes already there with others
	Malformed uint64 // fragments that cannot be: beyond 65535 bytes, or not a multiple of 8 in the middle
	Evicted   uint64 // datagrams that had to make room
}

// Whole is a datagram put together.
type Whole struct {
	Data       []byte // decoded bytes, valid until the next call of Add but one
	FirstFrame uint64
	Fragments  int
	Overlap    bool // fragments covered each other in part, or disagreed
	Conflict   bool // fragments disagreed about bytes: what a host made of it is unknown
}

type fragKey struct {
	src, dst [16]byte
	id       uint32
	vlan     uint16
	proto    uint8
	version  uint8
}

// datagram is one on its way to be whole.
type datagram struct {
	key        fragKey
	prev, next *datagram
	first      uint64 // frame
	since      int64
	total      int // bytes of payload; -1: the last fragment has not come
	have       int // bytes of payload here, each counted once
	fragments  int
	overlap    bool
	conflict   bool
	nh         int    // offset of the next-header byte in head
	head       []byte // IP header of the first fragment; empty: not yet here
	store      []byte
	pieces     []piece // sorted by off, without overlap
}

type piece struct{ off, at, n int }

// Pending returns the number of datagrams that are not yet whole.
func (f *Defragmenter) Pending() int { return len(f.open) }

// Add takes the fragment that p describes: data are the bytes it was decoded
// from, at the capture's time in ns. When a datagram becomes whole, ok is true
// and p describes the packet inside, with offsets into w.Data; the outer layers
// are those of this last fragment. Otherwise p is left alone.
func (f *Defragmenter) Add(frame uint64, at int64, data []byte, p *Packet) (w Whole, ok bool) {
	for range maxRewrapped {
		if p.Kind != KindFragment {
			break
		}
		d := f.add(frame, at, data, p)
		if d == nil {
			break
		}
		w = Whole{FirstFrame: d.first, Fragments: d.fragments, Overlap: d.overlap, Conflict: d.conflict}
		w.Data = f.join(d, data, p)
		data, ok = w.Data, true
	}
	return w, ok
}

// add files a fragment and returns its datagram if that is now whole.
func (f *Defragmenter) add(frame uint64, at int64, data []byte, p *Packet) *datagram {
	from, to := int(p.L4), int(p.End)
	if from > to || to > len(data) || p.L3 == None || int(p.L3) >= from {
		return nil
	}
	body, off := data[from:to], int(p.FragOff)
	if p.MF {
		body = body[:len(body)&^7] // the rest cannot be placed
	}
	if off+len(body) > maxDatagram || len(body) == 0 {
		f.Stats.Malformed++
		return nil
	}
	d := f.datagram(frame, at, p)
	d.fragments++
	f.Stats.Fragments++
	if off == 0 && len(d.head) == 0 {
		d.setHead(data, p)
	}
	if !p.MF && d.total < 0 {
		d.total = off + len(body)
	}
	held, had := cap(d.store), d.have
	overlap, conflict := d.insert(off, body)
	f.bytes += cap(d.store) - held
	switch {
	case conflict && at-d.since > identificationAge: // most likely two datagrams
	case conflict:
		f.Stats.Conflicts++
		d.overlap, d.conflict = true, true
	case d.have == had:
		f.Stats.Repeated++
	case overlap:
		f.Stats.Overlaps++
		d.overlap = true
	}
	f.makeRoom(d)
	if d.total < 0 || len(d.head) == 0 || d.missing() {
		return nil
	}
	return d
}

// datagram finds or makes the one that a fragment belongs to.
func (f *Defragmenter) datagram(frame uint64, at int64, p *Packet) *datagram {
	k := fragKey{src: p.Src(), dst: p.Dst(), id: p.FragID, version: p.IPVersion}
	if p.IPVersion == 4 {
		k.proto = p.Proto
		if p.VLANs > 0 {
			k.vlan = p.VLAN
		}
	}
	if d := f.open[k]; d != nil {
		return d
	}
	d := f.free
	if d != nil {
		f.free = d.next
	} else {
		d = &datagram{}
	}
	*d = datagram{key: k, first: frame, since: at, total: -1, head: d.head[:0], store: d.store[:0], pieces: d.pieces[:0]}
	if f.open == nil {
		f.open = make(map[fragKey]*datagram)
	}
	f.open[k] = d
	f.bytes += cap(d.store)
	d.prev = f.newest
	if f.newest != nil {
		f.newest.next = d
	} else {
		f.oldest = d
	}
	f.newest = d
	return d
}

// setHead keeps the header that the whole packet will have.
func (d *datagram) setHead(data []byte, p *Packet) {
	from, to := int(p.L3), int(p.L4)
	if p.IPVersion == 6 {
		to = int(p.fragHdr)
		d.nh = int(p.fragNH) - from
	}
	if from < to && to-from <= maxFragHead && to <= len(data) {
		d.head = append(d.head[:0], data[from:to]...)
	}
}

// insert adds the bytes at off that are not there yet, and tells whether some
// were, and others.
func (d *datagram) insert(off int, body []byte) (overlap, conflict bool) {
	i := len(d.pieces)
	for i > 0 && d.pieces[i-1].off >= off {
		i--
	}
	if i > 0 { // the piece before may reach into it
		i--
	}
	for len(body) > 0 {
		room := len(body)
		if i < len(d.pieces) {
			q := &d.pieces[i]
			if n := min(q.off+q.n-off, len(body)); q.off <= off {
				if n > 0 {
					overlap = true
					at := q.at + off - q.off
					conflict = conflict || !bytes.Equal(d.store[at:at+n], body[:n])
					off, body = off+n, body[n:]
				}
				i++
				continue
			}
			room = min(room, q.off-off)
		}
		d.place(i, off, body[:room])
		off, body = off+room, body[room:]
		i++
	}
	return overlap, conflict
}

func (d *datagram) place(i, off int, body []byte) {
	if len(d.pieces) >= maxPieces {
		return
	}
	d.pieces = append(d.pieces, piece{})
	copy(d.pieces[i+1:], d.pieces[i:])
	d.pieces[i] = piece{off: off, at: len(d.store), n: len(body)}
	d.store = append(d.store, body...)
	d.have += len(body)
}

// missing reports whether bytes below total have not come.
func (d *datagram) missing() bool {
	if d.have < d.total {
		return true
	}
	end := 0
	for i := range d.pieces {
		if q := &d.pieces[i]; q.off <= end {
			end = q.off + q.n
		}
	}
	return end < d.total
}

// join writes the whole packet behind the outer layers of its last fragment,
// and decodes it.
func (f *Defragmenter) join(d *datagram, data []byte, p *Packet) []byte {
	f.turn ^= 1
	out := f.out[f.turn][:0]
	l3 := int(p.L3)
	out = append(out, data[:l3]...)
	out = append(out, d.head...)
	for i := range d.pieces {
		q := &d.pieces[i]
		n := min(q.n, d.total-q.off)
		if n <= 0 {
			break
		}
		out = append(out, d.store[q.at:q.at+n]...)
	}
	f.out[f.turn] = out
	h, n := out[l3:], len(out)-l3
	if p.IPVersion == 4 {
		if n > maxDatagram {
			n = 0 // as with segmentation offload: what is there counts
		}
		h[2], h[3] = byte(n>>8&0xff), byte(n&0xff)
		h[6] &= 0x40
		h[7] = 0
	} else {
		n = min(n-ipv6HeaderLen, maxDatagram) // extension headers may push the end beyond what the field holds
		h[4], h[5] = byte(n>>8&0xff), byte(n&0xff)
		h[d.nh] = p.Proto
	}
	fragments := d.fragments
	f.Stats.Whole++
	f.remove(d)
	p.resume(out, l3)
	p.Fragments = pos(fragments)
	return out
}

// resume decodes a whole packet whose outer layers p has.
func (p *Packet) resume(b []byte, l3 int) {
	p.Err, p.Kind, p.Broadcast = NoError, KindUndecoded, false
	p.Protos.Remove(Data)
	p.End = pos(len(b))
	d := decoder{p: p, b: b, wire: len(b)}
	if p.IPVersion == 4 {
		d.ipv4(l3)
	} else {
		d.ipv6(l3)
	}
	p.finish()
}

// makeRoom forgets the oldest datagrams other than d until the bounds hold.
func (f *Defragmenter) makeRoom(d *datagram) {
	maxBytes, maxCount := f.MaxBytes, f.MaxDatagrams
	if maxBytes <= 0 {
		maxBytes = DefaultFragmentBytes
	}
	if maxCount <= 0 {
		maxCount = DefaultDatagrams
	}
	for f.bytes > maxBytes || len(f.open) > maxCount {
		victim := f.oldest
		if victim == d {
			victim = d.next
		}
		if victim == nil {
			return
		}
		f.Stats.Evicted++
		f.remove(victim)
	}
}

// remove takes a datagram out and keeps its memory for the next, unless it is
// large.
func (f *Defragmenter) remove(d *datagram) {
	delete(f.open, d.key)
	if d.prev != nil {
		d.prev.next = d.next
	} else {
		f.oldest = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	} else {
		f.newest = d.prev
	}
	f.bytes -= cap(d.store)
	const keep = 16 << 10
	d.prev, d.next = nil, nil
	if f.free == nil && cap(d.store) <= keep && cap(d.pieces) <= 64 {
		f.free = d
	}
}
