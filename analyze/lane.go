package analyze

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/ledger"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
	"netwhy/capture/packet"
)

// lane owns the conversations of one part of the hash space, and everything
// that has state. Nothing in it is shared.
type lane struct {
	id    uint32
	count uint32 // of lanes
	limit int    // live conversations
	idle  int64  // ns; 0: never
	until int64  // time of the latest frame of the batches read, ns
	live  bool
	in    chan *work
	out   chan *delta
	spare chan *delta
	pipe  *pipeline

	table     *table
	serial    uint32
	tracker   *tcp.Tracker
	books     *ledger.Books
	defrag    decode.Defragmenter
	fragments fragments
	packet    decode.Packet          // of the frame at hand
	outer     map[flow.Key]struct{}  // conversations of tunnels, already told
	chunks    map[chunkSeen]struct{} // of data over SCTP that came by; the first lane has them
	pieces    pieces                 // of messages over SCTP, likewise
	twins     map[twinKey]twin       // of segments that are still to come
	secrets   *keyLog
	copies    *copies
	pings     map[pingKey]uint8 // TTL of ICMP messages, last seen
	specs     *specs
	unclaimed *unclaimed

	sockets     []*socket // by conversation.socket
	freeSockets []uint32
	rawSockets  []socket // never used
	freeFacts   []*proto.Facts
	rawFacts    proto.Page[proto.Facts]
	guesses     []*guess // for sockets to come
	early       earlySlab
	halves      []*half                         // for connections to come
	lone        half                            // of the datagram that is probed
	nobody      socket                          // of bytes that no analyzer reads
	shared      []*socket                       // of ICMP, IP and Link analyzers, by spec
	pending     map[pendingKey]*finding.Finding // of hosts, still growing
	grows       int                             // findings of conversations, likewise

	// of the frame at hand
	d       *delta
	frame   *packet.Frame
	pkt     *decode.Packet
	raw     []byte
	copy    bool // the frame is a copy made by the capture point
	reopen  bool // the next TCP conversation takes the ports of an earlier one
	sub     uint32
	seg     tcp.Segment
	view    tcp.View
	scope   proto.Scope
	next    proto.Handover // of the analyzer that is called
	hand    proto.Handover // of those that unwrap
	unwraps unwrapping     // who is called, if it is one of these
	carried carried        // counted last
	gone    []uint32       // slots unlinked in this batch
	leaving []leaving      // connections that ended, by time
	dozing  []leaving      // conversations whose analyzer may be dropped, by time
	due     []uint32       // scratch of retireDue
	past    packet.Frame   // stands for the last frame of a connection that is retired

	watching watching // live only
	broken   bool     // a panic has left it in a state that nobody knows

	prompt  uint64  // frame of the segment that was last delivered as it came
	reading bool    // a segment is being delivered: its books come after
	ended   []ended // exchanges that it completed
}

// ended is an exchange and its conversation.
type ended struct {
	conv uint32
	conn.Exchange
}

func newLane(id int, opt Options, secrets *keyLog, p *pipeline) *lane {
	l := &lane{
		id: uint32(id), count: uint32(opt.Workers),
		limit: max(opt.MaxConnections/opt.Workers, 1), idle: opt.IdleTimeout, live: opt.Live,
		in:   make(chan *work, cap(p.free)),
		pipe: p, table: newTable(), secrets: secrets, copies: newCopies(),
		outer: map[flow.Key]struct{}{}, pings: map[pingKey]uint8{}, sockets: make([]*socket, 1),
		pending: map[pendingKey]*finding.Finding{},
	}
	// One delta for each batch in flight, and one that the collector reads.
	l.out = make(chan *delta, cap(p.free))
	l.spare = make(chan *delta, cap(p.free)+1)
	for range cap(l.spare) {
		l.spare <- &delta{}
	}
	l.specs = p.specs.own()
	l.unclaimed = &unclaimed{called: p.called, given: make([]uint64, len(l.specs.names.list))}
	l.shared = make([]*socket, len(opt.Protocols))
	l.tracker = tcp.NewTracker(tcp.Limits{}, (*delivery)(l))
	l.books = ledger.New(ledger.Options{Diary: opt.Diary}, l.found)
	l.scope.Out = l
	l.hand = l.unwrap()
	return l
}

// run reads batches until there are no more, then folds what is left.
func (l *lane) run() {
	defer close(l.out)
	for w := range l.in {
		<-w.ready
		l.d = <-l.spare
		l.take(w)
		if !l.broken {
			l.batch(w)
		}
		l.letGo()
		l.pipe.drop(w)
		l.send()
	}
	if !l.broken {
		l.finish()
	}
}

// take begins the delta of a batch.
func (l *lane) take(w *work) {
	l.d.begin(l.specs.names)
	if l.id == 0 {
		l.d.take(&w.tally)
	}
}

// ahead is how many frames before it is read the headers of a frame are asked for.
const ahead = 4

// batch analyses one batch. After a panic nothing of the lane is trusted any
// more: it takes part only in passing batches on, until the run has ended.
func (l *lane) batch(w *work) {
	defer packet.Rescue("the analysis", func(err error) {
		l.broken = true
		l.gone = l.gone[:0]
		l.take(w)
		l.pipe.fail(err)
	})
	if w.batch.Break {
		l.restart()
	}
	if l.pipe.pressure != nil {
		l.watching.pressed = l.pipe.pressure.Load()
	}
	l.books.Clock(w.tally.latest)
	l.retireDue(w.tally.latest)
	l.restDue(w.tally.latest)
	frames, own, buf := w.batch.Frames, w.of[l.id], w.batch.Buf
	for k := range own {
		if k+ahead < len(own) {
			if at := frames[own[k+ahead].at].Offset; int(at) < len(buf) {
				prefetch(&buf[at])
			}
		}
		l.one(&frames[own[k].at], w.batch, own[k].hash)
	}
	if l.idle > 0 {
		l.expire(w.tally.latest)
	}
	l.until = w.tally.latest
	if l.live {
		l.tellOpen(w.tally.latest)
		l.answerMoment()
	}
}

// send hands the delta to the collector and makes the slots of folded
// conversations free: the collector has their numbers by the time they are used
// again.
func (l *lane) send() {
	if l.live && !l.broken {
		l.grown()
	}
	l.out <- l.d
	l.d = nil
	for _, slot := range l.gone {
		l.table.recycle(slot)
	}
	l.gone = l.gone[:0]
}

// one analyses one frame. The hash is that of a plain one.
func (l *lane) one(f *packet.Frame, b *packet.Batch, hash uint32) {
	p, raw := &l.packet, b.Data(f)
	l.frame, l.sub, l.copy = f, 0, false
	l.pkt, l.raw = p, raw
	if hash != 0 {
		if p.Glimpsed(raw, hash); p.Kind == decode.KindTCP {
			l.segment(true)
		} else {
			l.datagram()
		}
		return
	}
	decode.Decode(f.Link, raw, f.WireLen, p)
	if p.Broadcast {
		before := p.Protos
		w, ok := l.defrag.Add(f.Number, f.Time, raw, p)
		if l.id == 0 {
			l.fragment(p)
		}
		if !ok && l.id == 0 {
			l.asides()
		}
		if !ok || owner(p, l.count) != l.id {
			return
		}
		if raw = w.Data; w.Conflict {
			l.Malformed(&proto.Scope{}, "fragments that disagree about the bytes they share")
		}
		l.raw = raw
		l.d.protocols(before, p.Protos)
	}
	l.asides()
	if p.NoLength6 {
		return // Wireshark stops at the missing length, and what it counts is what we count
	}
	switch p.Kind {
	case decode.KindTCP:
		l.segment(false)
	case decode.KindUDP:
		l.datagram()
	case decode.KindICMP, decode.KindICMPv6:
		l.icmp()
	case decode.KindIPOther:
		l.watch()
		l.message(proto.IP, uint16(p.Proto), p.Data(raw))
	case decode.KindARP, decode.KindLink:
		l.watch()
		l.message(proto.Link, p.EtherType, p.Data(raw))
	case decode.KindSCTP:
		l.sctp()
	case decode.KindUndecoded, decode.KindFragment:
	}
}

// watch tells copies that the capture point made, packets that go in a circle,
// and broadcasts that come again and again.
func (l *lane) watch() {
	v := l.copies.seen(l.frame, l.pkt, l.raw)
	l.copy = v.again
	if v.looped {
		l.looped()
	}
	if v.times > 1 {
		if src, dst, ok := l.pkt.MACs(l.raw); ok && dst[0]&1 != 0 {
			l.publish(&correlate.Repeated{Src: src, Times: v.times, ARP: l.pkt.Kind == decode.KindARP})
		}
	}
}

// recall tells copies of datagrams by what their conversation remembers of the
// one before. Only every other one can be a copy: a flood of equal datagrams is
// no mirror's work.
func (l *lane) recall(c *conversation, dir flow.Dir) {
	now := uint32(fingerprint(l.pkt, l.raw))
	again := c.print[dir] == now
	if !again {
		c.falls = 0 // another packet
	}
	if age := l.frame.Time - c.last; again && age >= 0 && age < second {
		l.copy = age < copyWindow && c.flags&copied == 0
		l.falls(c, dir)
	}
	c.flags &^= copied
	if l.copy {
		c.flags |= copied
	}
	c.print[dir] = now
}

// falls counts how often in a row a packet came by with a lower TTL than before.
func (l *lane) falls(c *conversation, dir flow.Dir) {
	age := l.frame.Time - c.last
	if l.pkt.TTL > c.ttl[dir] || age < 0 || age >= second {
		c.falls = 0
		return
	}
	if l.pkt.TTL == c.ttl[dir] {
		return // a mirrored copy, or sent again: it says nothing of a circle
	}
	if c.falls = min(c.falls+1, loopFalls); c.falls == loopFalls {
		l.looped()
	}
}

func (l *lane) looped() {
	l.publish(&correlate.Looped{
		From: flow.Addr(l.pkt.Src()), To: flow.Addr(l.pkt.Dst()), TTL: l.pkt.TTL, V6: l.pkt.IPVersion == 6,
	})
}

// publish tells the correlators a fact about the frame at hand.
func (l *lane) publish(body any) {
	l.d.events = append(l.d.events, event{Event: proto.Event{Frame: l.frame.Number, Time: l.frame.Time, Body: body}})
}

// asides notes the conversations that the packet at hand is part of, beside the
// one that it is analysed in.
func (l *lane) asides() {
	if p := l.pkt; p.NConvs == 1 && p.Tunnel == decode.NoTunnel && (p.Kind == decode.KindTCP || p.Kind == decode.KindUDP) {
		return // nearly all: its own, and nothing around it
	}
	for i := range int(l.pkt.NConvs) {
		if c := l.pkt.Conv(i); c.Key != l.pkt.Key || c.Quoted {
			l.aside(&c)
		}
	}
}

// aside notes a conversation that the frame belongs to without being analysed
// as a part of it: of a tunnel around, or quoted by an ICMP error. Wireshark
// numbers them too.
func (l *lane) aside(c *decode.Conv) {
	if c.Key.Proto != flow.TCP && c.Key.Proto != flow.UDP {
		return
	}
	if c.Quoted {
		hash := c.Key.Hash32()
		slot := l.table.find(hash, &c.Key)
		if slot != 0 && l.quotes(slot) {
			l.fold(slot, proto.Closed)
			slot = 0
		}
		if slot == 0 && l.table.live < l.limit {
			slot = l.table.insert(hash, &c.Key)
			v := l.table.at(slot)
			v.flags |= quotedOnly
			if c.Within {
				v.flags |= quotedIn
			}
			l.opened(slot, v)
		}
		return
	}
	if _, known := l.outer[c.Key]; known || len(l.outer) >= maxOuter {
		return
	}
	l.outer[c.Key] = struct{}{}
	l.sub++
	l.d.opened = append(l.d.opened, opened{frame: l.frame.Number, sub: l.sub, proto: c.Key.Proto, outer: true, key: c.Key})
}

// quotes takes the segment that the ICMP error at hand quotes into the analysis of
// its conversation, and tells whether it is a SYN that is not of that: Wireshark
// begins another, as if it had come by, and so the answers to many probes from one
// port are many conversations.
func (l *lane) quotes(slot uint32) (reused bool) {
	c, q := l.table.at(slot), l.pkt.Quote()
	if c.key.Proto != flow.TCP || c.tcp == 0 || c.flags&quotedOnly != 0 {
		return false
	}
	s := tcp.Segment{Time: l.frame.Time, Seq: q.Seq, Flags: q.Flags, Dir: flow.ToClient}
	if q.SrcIsA == (c.flags&clientIsA != 0) {
		s.Dir = flow.ToServer
	}
	if !l.tracker.Reused(c.tcp, &s) {
		l.tracker.Quoted(c.tcp, &s)
		return false
	}
	if q.Whole {
		l.d.marks(tcp.ReusedPorts)
	}
	return true
}

// maxOuter bounds the conversations of tunnels that a lane remembers.
const maxOuter = 1 << 16

// opened tells the collector of a conversation.
func (l *lane) opened(slot uint32, c *conversation) {
	l.serial++
	l.sub++
	c.serial, c.first = l.serial, l.frame.Number
	l.d.opened = append(l.d.opened, opened{
		frame: l.frame.Number, at: l.frame.Time, sub: l.sub, slot: slot, proto: c.key.Proto,
		quoted: c.flags&quotedOnly != 0, counted: c.flags&quotedIn != 0, key: c.key,
	})
}

// lookup returns the conversation of the packet at hand and its slot, made anew
// if there is none. syn tells that the packet is a SYN, and fromServer that it
// is the answer to one.
func (l *lane) lookup(syn, fromServer bool) (uint32, *conversation) {
	p := l.pkt
	slot := l.table.find(p.Hash, &p.Key)
	if slot != 0 {
		c := l.table.at(slot)
		if c.flags&quotedOnly != 0 {
			c.flags &^= quotedOnly
			l.opened(slot, c)
			l.d.opened[len(l.d.opened)-1].real = true
			c.flags &^= quotedIn
			l.begin(slot, c, syn, fromServer)
		}
		return slot, c
	}
	if l.table.live >= l.limit {
		l.fold(l.table.idlest(), proto.Evicted)
		l.d.evicted++
	}
	slot = l.table.insert(p.Hash, &p.Key)
	c := l.table.at(slot)
	l.opened(slot, c)
	l.begin(slot, c, syn, fromServer)
	return slot, c
}

// begin decides who is client and opens the state of a conversation.
func (l *lane) begin(slot uint32, c *conversation, syn, fromServer bool) {
	p := l.pkt
	fromClient := !fromServer
	if syn || fromServer {
		c.flags |= clientKnown
	} else {
		fromClient = likelyClient(p.SrcPort(), p.DstPort())
	}
	if fromClient == p.SrcIsA {
		c.flags |= clientIsA
	}
	switch {
	case c.key.Proto != flow.TCP:
	case l.reopen:
		c.tcp = l.tracker.Reopen(slot)
	default:
		c.tcp = l.tracker.Open(slot)
	}
	l.reopen = false
	c.book = l.books.Open(slot, &c.key, c.flags&clientIsA != 0)
	o := &l.d.opened[len(l.d.opened)-1]
	o.clientIsA, o.srcIsA = c.flags&clientIsA != 0, p.SrcIsA
	o.src, o.dst, _ = p.MACs(l.raw)
}

// likelyClient reports whether the sender of the first packet seen is likely the
// client, when no SYN tells: it talks to a lower, registered port (RFC 6335, 6),
// or it simply spoke first.
func likelyClient(src, dst uint16) bool {
	const system, dynamic = 1024, 32768
	switch {
	case (src < system) != (dst < system):
		return dst < system
	case (src < dynamic) != (dst < dynamic):
		return dst < dynamic
	}
	return true
}

// dir is the direction of the packet at hand.
func (l *lane) dir(c *conversation) flow.Dir {
	if l.pkt.SrcIsA == (c.flags&clientIsA != 0) {
		return flow.ToServer
	}
	return flow.ToClient
}

// segment analyses the TCP segment at hand; plain tells that it was read in one go: all of
// it is there, over IPv4.
func (l *lane) segment(plain bool) {
	p := l.pkt
	syn := p.Flags&(tcp.FlagSYN|tcp.FlagACK|tcp.FlagRST) == tcp.FlagSYN
	synAck := p.Flags&(tcp.FlagSYN|tcp.FlagACK|tcp.FlagRST) == tcp.FlagSYN|tcp.FlagACK
	slot, c := l.lookup(syn, synAck)
	s := &l.seg // all of its fields: a literal would be made beside it and copied
	s.Frame, s.Time, s.Dir = l.frame.Number, l.frame.Time, l.dir(c)
	s.Seq, s.Ack, s.Flags, s.Window = p.Seq, p.Ack, p.Flags, p.Window
	s.Stamped, s.TSVal, s.TSEcr, s.Head = p.Stamped, p.TSVal, p.TSEcr, p.Head
	s.TTL, s.IPID, s.CE = p.TTL, p.IPID, p.ECN() == 3
	s.Len, s.WireLen, s.NetLen = p.PayloadLen, l.frame.WireLen, p.NetLen()
	if plain {
		s.Options, s.Data = p.Parts(l.raw)
		s.IPv6, s.Header = false, tcp.HeaderWhole
	} else {
		s.Options, s.Data = p.Options(l.raw), p.Data(l.raw)
		s.IPv6, s.Header = p.IPVersion == 6, header(p, l.raw)
	}
	if p.Flags&tcp.FlagSYN != 0 && l.tracker.Reused(c.tcp, s) {
		l.fold(slot, proto.Closed)
		l.reopen = true
		slot, c = l.lookup(syn, synAck)
		s.Dir = l.dir(c)
	}
	if syn {
		l.falls(c, s.Dir)
	}
	c.last, c.latest = l.frame.Time, l.frame.Number
	if c.ttl[s.Dir] == 0 {
		l.verify(slot)
	}
	c.ttl[s.Dir] = p.TTL
	l.reading = true
	m := l.tracker.Segment(c.tcp, s, &l.view)
	l.reading = false
	if how := l.view.State; how == tcp.Finished {
		l.leave(slot, c, finished)
	} else if how > tcp.Finished {
		l.leave(slot, c, aborted)
	}
	l.d.marks(m)
	if len(s.Data) > 0 && !p.BadHeader {
		l.nameSegment(slot, c, s.Data, m)
	}
	if !p.Stamped {
		l.nameOptions(s.Options)
	}
	if p.Flags&tcp.FlagFIN != 0 {
		l.ends(slot, c, s.Dir, m)
	}
	if l.books.Doubtful(c.book, s.Dir) && p.TransportChecksum(l.raw) == decode.Bad {
		l.books.Checksum(c.book, s)
	}
	l.books.Segment(c.book, s, m, &l.view)
	l.settle()
}

// settle hands the books the exchanges that the segment at hand completed, now
// that they have measured the segment: its wait belongs to the exchange.
func (l *lane) settle() {
	for i := range l.ended {
		x := &l.ended[i]
		l.books.Exchange(l.table.at(x.conv).book, &x.Exchange)
	}
	l.ended = l.ended[:0]
}

// header tells how much of the TCP header could be read.
func header(p *decode.Packet, raw []byte) tcp.Header {
	const least = 20
	if p.BadHeader && p.HdrLen >= least {
		return tcp.HeaderLong
	}
	captured := min(int(p.End), len(raw)) - int(p.L4)
	return tcp.HeaderOf(int(p.HdrLen), captured, int(p.HdrLen)+int(p.PayloadLen))
}

func (l *lane) datagram() {
	p := l.pkt
	slot, c := l.lookup(false, false)
	l.snmp(slot, c)
	dir := l.dir(c)
	if toGroup(p) {
		l.watch()
	} else {
		l.recall(c, dir)
	}
	c.last, c.latest = l.frame.Time, l.frame.Number
	if c.ttl[dir] == 0 {
		l.verify(slot)
		if c.first != l.frame.Number {
			l.answered()
		}
	}
	c.ttl[dir] = p.TTL
	l.books.Datagram(c.book, dir, l.frame, p, l.copy)
	switch {
	case c.flags&deaf != 0 || p.PayloadLen == 0:
	case l.watching.pressed:
		l.d.unread++
	default:
		l.listen(c).datagram(l, slot, c, dir, p.Data(l.raw))
		l.rests(slot, c)
	}
	l.nameDatagram(c)
}

// snmp numbers the conversations of SNMP as Wireshark does: it learns of SNMP
// from the first datagram, and begins another conversation, with another number,
// for those that follow.
func (l *lane) snmp(slot uint32, c *conversation) {
	if c.flags&snmpBegan != 0 {
		c.flags &^= snmpBegan
		l.sub++
		l.d.opened = append(l.d.opened, opened{
			frame: l.frame.Number, at: l.frame.Time, sub: l.sub, slot: slot, proto: flow.UDP, key: c.key, again: true,
		})
		return
	}
	const agent, trap, patrol, sequence = 161, 162, 8161, 0x30 // RFC 3417, 3.1; IANA; BER's tag of the message
	p := l.pkt
	if port := min(p.Key.PortA, p.Key.PortB); c.first != l.frame.Number || port != agent && port != trap && port != patrol && max(p.Key.PortA, p.Key.PortB) != patrol {
		return
	}
	if b := p.Data(l.raw); len(b) > 2 && b[0] == sequence {
		c.flags |= snmpBegan
	}
}

// pingKey names one direction of ICMP messages between two hosts.
type pingKey struct {
	key    flow.Key
	srcIsA bool
}

// maxPings bounds the pairs of hosts whose ICMP TTL is remembered.
const maxPings = 1 << 14

func (l *lane) icmp() {
	p := l.pkt
	if !p.Quotes {
		l.watch()
	}
	l.verify(0)
	counter, v6 := proto.ICMPTypeCode, p.Kind == decode.KindICMPv6
	if v6 {
		counter = proto.ICMPv6TypeCode
	}
	const least = 6 // bytes of an ICMP message, for Wireshark to show its type
	if v6 || p.End-p.L4 >= least {
		l.Count(counter, typeCode(p.ICMPType, p.ICMPCode), 1)
	}
	if p.Quotes {
		q := p.Quote()
		if kind, t, c, ok := q.Counted(l.raw[:p.End], p.Kind); ok {
			counter = proto.ICMPTypeCode
			if kind == decode.KindICMPv6 {
				counter = proto.ICMPv6TypeCode
			}
			l.Count(counter, typeCode(t, c), 1)
		}
		e := correlate.ICMPError{
			From: flow.Addr(p.Src()), To: flow.Addr(p.Dst()), Type: p.ICMPType, Code: p.ICMPCode, V6: v6,
			MTU: uint16(min(q.MTU, 0xffff)), Quoted: q.Key, QuotedSrcA: q.SrcIsA, TTL: p.TTL,
		}
		slot := l.table.find(p.Hash, &q.Key)
		if slot == 0 {
			e.SentTTL = l.pings[pingKey{q.Key, q.SrcIsA}]
		} else {
			if c := l.table.at(slot); c.flags&quotedOnly == 0 {
				dir := flow.ToClient
				if q.SrcIsA == (c.flags&clientIsA != 0) {
					dir = flow.ToServer
				}
				e.SentTTL = c.ttl[dir]
				l.books.ICMPError(c.book, &e, l.frame.Number, l.frame.Time)
			}
		}
		l.d.events = append(l.d.events, event{slot: slot, Event: proto.Event{Frame: l.frame.Number, Time: l.frame.Time, Body: &e}})
		l.nameQuote()
	}
	if !p.Quotes && len(l.pings) < maxPings {
		l.pings[pingKey{p.Key, p.SrcIsA}] = p.TTL
	}
	number := uint16(flow.ICMP)
	if v6 {
		number = flow.ICMPv6
	}
	if !p.Quotes && p.L4 < p.End {
		l.message(proto.ICMP, number, l.raw[p.L4:p.End:p.End])
	}
}

// message gives one message without ports to the analyzer that asked for its number.
func (l *lane) message(carrier proto.Transport, number uint16, b []byte) {
	l.nameMessage(carrier, number)
	for _, i := range l.specs.numbered(carrier, number) {
		spec := &l.specs.all[i]
		if spec.Probe != nil && spec.Probe(flow.ToServer, b) < proto.Likely {
			continue
		}
		k := l.shared[i]
		if k == nil {
			k = &socket{spec: spec, analyzer: spec.New(), name: l.specs.names.of(spec)}
			l.shared[i] = k
		}
		if k.analyzer == nil {
			continue
		}
		l.setScope(0, nil, k)
		l.scope.BeganAt, l.scope.BeganFrame = l.frame.Time, l.frame.Number
		l.scope.ClientEnd = netip.AddrPortFrom(flow.Addr(l.pkt.Src()), 0)
		l.scope.ServerEnd = netip.AddrPortFrom(flow.Addr(l.pkt.Dst()), 0)
		l.carries(int(k.name), l.frame.Number)
		if err := k.portless(l, b); err != nil {
			l.Malformed(&l.scope, err.Error())
		}
	}
}

// fold ends a conversation: its analyzer, its TCP state and its books are
// closed, and its summary goes to the collector.
func (l *lane) fold(slot uint32, why proto.End) {
	c := l.table.at(slot)
	l.table.unlink(slot)
	delete(l.watching.told, slot)
	l.gone = append(l.gone, slot)
	if c.flags&(quotedOnly|retired) != 0 {
		if c.tcp != 0 {
			l.tracker.Close(c.tcp, c.latest)
		}
		l.d.closed = append(l.d.closed, closed{frame: l.now(), slot: slot})
		return
	}
	if c.tcp != 0 {
		l.tracker.Close(c.tcp, c.latest) // delivers what was waiting behind gaps
	}
	l.sumUp(slot, c, why, l.now())
}

// sumUp closes the analyzer and the books of a conversation and hands its
// summary to the collector.
func (l *lane) sumUp(slot uint32, c *conversation, why proto.End, frame uint64) {
	sum := l.d.summary()
	c.describe(sum)
	said := len(l.d.events)
	if c.flags&waits != 0 {
		l.leaveEarly(c)
	}
	if c.socket != 0 {
		k := l.sockets[c.socket]
		k.end(l, slot, c, l.ending(c, why))
		if k.more != nil {
			for i := range k.more.found {
				l.found(slot, k.more.found[i])
			}
			l.grows -= len(k.more.found)
		}
	}
	l.known(c, sum)
	if c.socket != 0 {
		l.free(c)
	}
	l.books.Close(c.book, why, sum)
	l.d.closed = append(l.d.closed, closed{frame: frame, slot: slot, sum: sum, said: len(l.d.events) - said})
}

// known fills in what analyzers found out about a conversation. Its attributes are
// shared: to be read only.
func (l *lane) known(c *conversation, sum *conn.Summary) {
	switch {
	case c.socket == 0:
		if spec := l.rested(c); spec != nil {
			sum.App = spec.Name
		}
	case l.sockets[c.socket].facts != nil:
		f := l.sockets[c.socket].facts
		sum.App, sum.Name, sum.Attr = f.App, f.Name, f.Attrs()
	}
}

// lingering is how long a closed connection is still measured: retransmitted
// FINs and the resets of impatient hosts belong to its story. TIME-WAIT is four
// minutes (RFC 9293, 3.6.1), but what comes after some round trips more costs
// nobody time.
const lingering = 10 * second

// leaving is a connection that has ended and will be retired.
type leaving struct {
	slot, serial uint32
	at           int64
}

// leave notes, once, that a connection has ended.
func (l *lane) leave(slot uint32, c *conversation, how uint16) {
	if c.flags&(finished|aborted|retired) == 0 {
		l.wait(leaving{slot, c.serial, l.frame.Time})
	}
	c.flags |= how
}

// wait puts a connection into the queue, which is in the order of time: nearly
// always at its end.
func (l *lane) wait(x leaving) {
	i := len(l.leaving)
	for i > 0 && l.leaving[i-1].at > x.at {
		i--
	}
	l.leaving = slices.Insert(l.leaving, i, x)
}

// retireDue sums up the connections that ended long enough ago, so that memory
// goes with the connections that are open. What Wireshark counts of them is
// followed on.
func (l *lane) retireDue(now int64) {
	n := 0
	l.due = l.due[:0]
	for n < len(l.leaving) && now-l.leaving[n].at > lingering {
		x := l.leaving[n]
		n++
		c := l.table.at(x.slot)
		switch {
		case c.flags&inUse == 0 || c.serial != x.serial || c.flags&retired != 0:
		case now-c.last > lingering:
			l.due = append(l.due, x.slot)
		default:
			l.wait(leaving{x.slot, x.serial, c.last})
		}
	}
	l.leaving = l.leaving[:copy(l.leaving, l.leaving[n:])]
	// In the order of their last frames: the same for any number of lanes.
	slices.SortFunc(l.due, func(a, b uint32) int { return cmp.Compare(l.table.at(a).latest, l.table.at(b).latest) })
	l.pkt, l.raw = nil, nil
	for _, slot := range l.due {
		c := l.table.at(slot)
		l.past = packet.Frame{Number: c.latest, Time: c.last}
		l.frame = &l.past
		l.sumUp(slot, c, proto.Closed, c.latest)
		c.flags |= retired | deaf
		c.book = 0
		if c.tcp != 0 {
			l.tracker.Want(c.tcp, flow.ToServer, false)
			l.tracker.Want(c.tcp, flow.ToClient, false)
		}
	}
}

// ending tells an analyzer what ended its conversation, however late it is
// folded. One that is open when the capture ends has waited until then.
func (l *lane) ending(c *conversation, why proto.End) proto.End {
	switch {
	case c.flags&aborted != 0:
		return proto.Reset
	case c.flags&finished != 0:
		return proto.Closed
	case why == proto.Over && l.until > c.last:
		c.last = l.until
	}
	return why
}

func (l *lane) now() uint64 {
	if l.frame == nil {
		return 0
	}
	return l.frame.Number
}

// expire folds conversations that were silent for long, some at a time.
func (l *lane) expire(now int64) {
	const step = 256
	l.letGo()
	for range min(step, l.table.top-1) {
		l.table.hand++
		if l.table.hand >= l.table.top {
			l.table.hand = 1
		}
		if c := l.table.at(l.table.hand); c.flags&inUse != 0 && now-c.last > l.idle {
			l.fold(l.table.hand, proto.Idle)
		}
	}
}

// finishStep is how many conversations the last deltas carry each: a million
// summaries must not be in memory at once, and so many fit the cache.
const finishStep = 64

// finish folds all conversations at the end of the capture, in the order of
// their first frames, and ends the shared analyzers.
func (l *lane) finish() {
	defer packet.Rescue("the end of the analysis", l.pipe.fail)
	l.d = <-l.spare
	l.d.begin(l.specs.names)
	l.frame, l.pkt, l.raw = nil, nil, nil
	for _, k := range l.shared {
		if k != nil && k.analyzer != nil {
			l.setScope(0, nil, k)
			k.over(l, proto.Over)
		}
	}
	for _, f := range l.sortedPending() {
		l.d.finds = append(l.d.finds, found{Finding: *f})
	}
	order := l.bySerial()
	l.table.seal()
	l.books.Empty()
	l.tracker.Empty()
	for _, slot := range order {
		l.fold(slot, proto.Over)
		if len(l.d.closed) >= finishStep {
			l.d.ending = true
			l.send()
			l.d = <-l.spare
			l.d.begin(l.specs.names)
		}
	}
	l.d.ending = true
	l.send()
}

func (l *lane) bySerial() []uint32 {
	order := make([]uint32, 0, l.table.live)
	at := make([]uint32, l.serial+1) // serial to slot: a counting sort
	for slot := uint32(1); slot < l.table.top; slot++ {
		if c := l.table.at(slot); c.flags&inUse != 0 {
			at[c.serial] = slot
		}
	}
	for _, slot := range at {
		if slot != 0 {
			order = append(order, slot)
		}
	}
	return order
}

func protoName(p uint8) string {
	if p == flow.TCP {
		return "tcp"
	}
	return "udp"
}
