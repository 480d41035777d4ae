package analyze

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/tcp"
)

// probeBytes is how much of a direction is kept while analyzers are still
// unsure, and probeTries how many segments or datagrams they may look at: every
// protocol shows itself in its first message and the answer to it.
const (
	probeBytes = 512
	probeTries = 6
)

// socket connects one conversation with the analyzer that reads it. Until one
// says yes, the first bytes of both directions are kept and probed. There may be
// a million of them: what few need is kept apart.
type socket struct {
	spec     *proto.Spec // nil while probing
	analyzer proto.Analyzer
	facts    *proto.Facts // nil while probing
	half     [2]*half     // nil: nothing waits in this direction
	guess    *guess       // nil: not probed, or not yet
	more     *more        // nil: none of it
	first    flow.Dir     // who spoke first
	seen     [2]bool      // directions that brought bytes
	tries    uint8
	bad      bool   // malformed bytes were reported
	again    bool   // the analyzer wishes that the rest be probed anew
	hushed   bool   // who spoke first is not listened to: nobody knows what it says
	foreign  bool   // Wireshark would not know the analyzer's protocol on these ports
	name     uint16 // that its frames are counted under, by names
}

// guess is what a socket knows while it probes, by the places of specs in their panel.
type guess struct {
	ruled uint64    // said no
	none  [2]uint64 // said no to what waits in this direction now
}

// maxGuesses bounds those that are kept for the next socket.
const maxGuesses = 1 << 8

// guessing returns what the socket knows, made when it is first wanted.
func (k *socket) guessing(l *lane) *guess {
	if k.guess == nil {
		if n := len(l.guesses); n > 0 {
			k.guess, l.guesses = l.guesses[n-1], l.guesses[:n-1]
		} else {
			k.guess = &guess{}
		}
	}
	return k.guess
}

// decided forgets what the probing told.
func (k *socket) decided(l *lane) {
	if g := k.guess; g != nil && len(l.guesses) < maxGuesses {
		*g = guess{}
		l.guesses = append(l.guesses, g)
	}
	k.guess = nil
}

// more is what few sockets need.
type more struct {
	inner  *socket           // reads what the analyzer unwraps
	became uint64            // frame in which the analyzer before this one ended; 0: there was none
	around uint16            // name of the tunnel that this is in; 0: none
	target uint16            // port that the tunnel leads to
	found  []finding.Finding // still growing; of the outermost socket only
}

// half is what waits in one direction for the analyzer to use it.
type half struct {
	pending []byte
	began   mark   // of pending[0]
	at      []mark // where in pending the later segments begin
}

type mark struct {
	offset int
	time   int64
	frame  uint64
}

func (k *socket) extra() *more {
	if k.more == nil {
		k.more = &more{}
	}
	return k.more
}

// waiting returns the bytes that wait in a direction.
func (k *socket) waiting(dir flow.Dir) []byte {
	if h := k.half[dir]; h != nil {
		return h.pending
	}
	return nil
}

// listen returns the conversation's socket, made on the first payload.
func (l *lane) listen(c *conversation) *socket {
	if c.socket != 0 {
		return l.sockets[c.socket]
	}
	return l.newSocket(c)
}

func (l *lane) newSocket(c *conversation) *socket {
	if n := len(l.freeSockets); n > 0 {
		c.socket = l.freeSockets[n-1]
		l.freeSockets = l.freeSockets[:n-1]
	} else {
		if len(l.rawSockets) == 0 {
			l.rawSockets = make([]socket, socketPage)
			clear(l.rawSockets) // memory that is read before it is written is had from the system twice
		}
		c.socket = uint32(len(l.sockets))
		l.sockets = append(l.sockets, &l.rawSockets[0])
		l.rawSockets = l.rawSockets[1:]
	}
	k := l.sockets[c.socket]
	switch {
	case c.flags&waits != 0:
		l.wake(c, k)
	case c.rested != 0:
		l.rouse(c, k)
	}
	return k
}

// socketPage is how many sockets are made at once.
const socketPage = 1 << 6

// free takes the socket of a conversation back, for another one to use.
func (l *lane) free(c *conversation) {
	k := l.sockets[c.socket]
	k.decided(l)
	if k.facts != nil {
		*k.facts = proto.Facts{}
		l.freeFacts = append(l.freeFacts, k.facts)
	}
	*k = socket{}
	l.freeSockets = append(l.freeSockets, c.socket)
	c.socket = 0
}

// newFacts returns facts that nobody has any more, or new ones.
func (l *lane) newFacts() *proto.Facts {
	if n := len(l.freeFacts); n > 0 {
		f := l.freeFacts[n-1]
		l.freeFacts = l.freeFacts[:n-1]
		return f
	}
	return l.rawFacts.Next()
}

// bytes takes bytes of a direction in order.
func (k *socket) bytes(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m *mark) {
	if !k.seen[dir] {
		if k.guess != nil {
			k.guess.ruled = 0 // the answer may tell what the question did not
		}
		if k.seen[dir] = true; !k.seen[dir.Reverse()] {
			k.first = dir
		}
	}
	if k.analyzer == nil {
		k.keep(l, dir, b, m)
		k.probe(l, slot, c, proto.TCP)
		return
	}
	k.offer(l, slot, c, dir, b, m)
}

// keep appends bytes to what waits in a direction.
func (k *socket) keep(l *lane, dir flow.Dir, b []byte, m *mark) {
	h := k.half[dir]
	if h == nil {
		h = l.spareHalf()
		k.half[dir] = h
	}
	if k.guess != nil {
		k.guess.none[dir&1] = 0
	}
	if len(h.pending) == 0 {
		h.began = *m
	} else {
		h.at = append(h.at, mark{offset: len(h.pending), time: m.time, frame: m.frame})
	}
	h.pending = append(h.pending, b...)
}

const (
	maxHalves = 1 << 10 // that are kept for the next connection to use
	maxSpare  = 1 << 12 // bytes of the longest one worth keeping
)

// spareHalf returns an empty half.
func (l *lane) spareHalf() *half {
	n := len(l.halves)
	if n == 0 {
		return &half{}
	}
	h := l.halves[n-1]
	l.halves = l.halves[:n-1]
	return h
}

// drop forgets what waits in a direction.
func (k *socket) drop(l *lane, dir flow.Dir) {
	h := k.half[dir]
	k.half[dir] = nil
	if h != nil && h != &l.lone && len(l.halves) < maxHalves && cap(h.pending) <= maxSpare {
		h.pending, h.at = h.pending[:0], h.at[:0]
		l.halves = append(l.halves, h)
	}
}

// use drops the first n pending bytes.
func (h *half) use(n int) {
	if n >= len(h.pending) {
		h.pending, h.at = h.pending[:0], h.at[:0]
		return
	}
	h.pending = h.pending[:copy(h.pending, h.pending[n:])]
	past := 0
	for i := range h.at {
		if h.at[i].offset -= n; h.at[i].offset <= 0 {
			h.began, past = h.at[i], i+1
		}
	}
	h.at = h.at[:copy(h.at, h.at[past:])]
}

// last is the segment that brought the last pending byte.
func (h *half) last() mark {
	if n := len(h.at); n > 0 {
		return h.at[n-1]
	}
	return h.began
}

// probe asks the analyzers of a carrier about what is pending, those first that
// know one of the ports.
func (k *socket) probe(l *lane, slot uint32, c *conversation, carrier proto.Transport) {
	best := -1
	g := k.guessing(l)
	dir := k.first & 1
	b, back := k.waiting(dir), k.waiting(dir^1)
	list := l.specs.order(carrier, c.key.PortA, c.key.PortB)
	front, behind := g.open(list, dir, b), g.open(list, dir^1, back)
	g.ruled |= list.all &^ (front | behind)
	more := front&list.untold[dir] | behind&list.untold[dir^1]
	front, behind = front&^list.untold[dir], behind&^list.untold[dir^1]
	unsure := more&^(front|behind) != 0
	rest := list.rest & (front | behind)
	for i := 0; i < len(list.known) || rest != 0; i++ {
		at, knows := bits.TrailingZeros64(rest), i < len(list.known)
		if knows {
			at = int(list.known[i])
		} else {
			rest &= rest - 1
		}
		bit, v := uint64(1)<<(at&(maxPanel-1)), proto.No
		if front&bit != 0 {
			v = g.ask(list.probes[at], dir, b, bit)
		}
		if behind&bit != 0 && v < proto.Certain {
			v = max(v, g.ask(list.probes[at], dir^1, back, bit))
		}
		if more&bit != 0 {
			v = max(v, proto.NeedMore)
		}
		switch v {
		case proto.No:
			g.ruled |= bit
		case proto.NeedMore:
			unsure = true
		case proto.Likely:
			if knows {
				k.attach(l, slot, c, &l.specs.all[list.specs[at]])
				return
			}
			if best < 0 {
				best = list.specs[at]
			}
		case proto.Certain:
			k.attach(l, slot, c, &l.specs.all[list.specs[at]])
			return
		}
	}
	k.tries++
	full := k.tries >= probeTries || len(k.waiting(0)) >= probeBytes || len(k.waiting(1)) >= probeBytes
	switch {
	case best >= 0 && (!unsure || full):
		k.attach(l, slot, c, &l.specs.all[best])
	case full && carrier == proto.TCP && !k.seen[dir^1] && !k.isInner(l, c):
		k.hush(l, c)
	case !unsure && k.seen[0] && k.seen[1], full:
		k.deafen(l, c)
	case !unsure:
		// Nobody recognised this direction; the answer may still tell.
		g.ruled = 0
	}
}

// open are those who may not say no to what waits in a direction: who said no to the same
// bytes before says it again, and some say it to the first of them.
func (g *guess) open(list *asked, dir flow.Dir, b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	some := list.all &^ (g.ruled | g.none[dir&1])
	if len(b) >= proto.MinFirst {
		some &= list.first[dir&1][b[0]]
	}
	return some
}

// ask probes what waits in a direction.
func (g *guess) ask(probe func(flow.Dir, []byte) proto.Verdict, dir flow.Dir, b []byte, bit uint64) proto.Verdict {
	v := probe(dir, b)
	if v == proto.No {
		g.none[dir&1] |= bit
	}
	return v
}

// hush gives up on who spoke first, until the answer tells what it is about: a capture
// may begin in the middle of a request.
func (k *socket) hush(l *lane, c *conversation) {
	k.hushed, k.tries = true, 0
	k.drop(l, k.first)
	l.tracker.Want(c.tcp, k.first, false)
}

// deafen gives a conversation up: nobody knows what it says.
func (k *socket) deafen(l *lane, c *conversation) {
	c.flags |= deaf
	k.decided(l)
	k.drop(l, flow.ToServer)
	k.drop(l, flow.ToClient)
}

// forget takes back the socket of a conversation that nobody recognised.
func (l *lane) forget(c *conversation) {
	k := l.sockets[c.socket]
	if c.socket == 0 || k.facts != nil {
		return
	}
	l.free(c)
}

// attach gives what is pending to an analyzer that said yes.
func (k *socket) attach(l *lane, slot uint32, c *conversation, spec *proto.Spec) {
	k.decided(l)
	k.read(l, c, spec)
	if k.hushed {
		k.hushed = false
		l.tracker.Want(c.tcp, k.first, true)
	}
	if !k.foreign {
		l.takeBack(c, k)
	}
	for _, dir := range [2]flow.Dir{k.first, k.first.Reverse()} {
		if len(k.waiting(dir)) == 0 {
			continue
		}
		last := k.half[dir].last()
		k.call(l, slot, c, dir, &last)
		if k.analyzer == nil {
			return
		}
	}
}

// read makes the analyzer that reads from now on. Where Wireshark would not know its
// protocol, it counts nothing: frames are named as if nobody read them.
func (k *socket) read(l *lane, c *conversation, spec *proto.Spec) {
	k.spec, k.analyzer, k.name = spec, spec.New(), l.specs.names.of(spec)
	a, b := k.ports(c)
	k.foreign = !k.isInner(l, c) && (!spec.Known(a, b) || k.taken(c, spec))
	if spec.Name == nameHTTP2 {
		k.withinHTTP(l, c)
	}
	if k.foreign {
		k.name = 0
		l.d.foreign = append(l.d.foreign, spec.Name)
	}
	if k.facts == nil {
		k.facts = l.newFacts()
	}
	k.facts.App = spec.Name
}

const nameHTTP2 = "http2"

// withinHTTP is told that HTTP/2 begins: on the ports of HTTP, and where HTTP has handed
// over, Wireshark finds it in HTTP.
func (k *socket) withinHTTP(l *lane, c *conversation) {
	if k.isInner(l, c) || k.tunnelled() {
		return
	}
	upgraded := k.more != nil && k.more.became != 0 && k.facts != nil && k.facts.App == nameHTTP
	if !upgraded && (k.foreign || !assigned.HTTP.Owns(c.key.PortA, c.key.PortB)) {
		return
	}
	k.foreign = false
	x := k.extra()
	x.around, x.target = uint16(l.unclaimed.http), min(c.key.PortA, c.key.PortB)
}

// unwrapping is the call in which an analyzer may hand on what it unwrapped.
type unwrapping struct {
	slot uint32
	c    *conversation
	k    *socket
}

// unwrap is what analyzers of a lane hand on with. Whoever reads that has the scope
// meanwhile.
func (l *lane) unwrap() proto.Handover {
	return proto.Handover{
		Inner: func(dir flow.Dir, b []byte) {
			u, scope, next := l.unwraps, l.scope, l.next
			u.k.inside().bytes(l, u.slot, u.c, dir, b, &mark{time: scope.At, frame: scope.FrameNo})
			l.unwraps, l.scope, l.next = u, scope, next
		},
		Lost: func(dir flow.Dir, n int) {
			u, scope, next := l.unwraps, l.scope, l.next
			u.k.inside().lost(l, u.slot, u.c, dir, n, scope.At, scope.FrameNo)
			l.unwraps, l.scope, l.next = u, scope, next
		},
	}
}

// inside is the socket that reads what this one's analyzer unwraps.
func (k *socket) inside() *socket {
	x := k.extra()
	if x.inner == nil {
		x.inner = &socket{}
	}
	return x.inner
}

// offer gives new bytes to the analyzer, in place where nothing is pending.
func (k *socket) offer(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m *mark) {
	if len(k.waiting(dir)) > 0 {
		k.keep(l, dir, b, m)
		k.call(l, slot, c, dir, m)
		return
	}
	l.enter(slot, c, k, m.time, m.frame)
	l.scope.BeganAt, l.scope.BeganFrame = m.time, m.frame
	used := k.feed(l, dir, b)
	if used < len(b) || k.again || k.analyzer == nil {
		k.rest(l, slot, c, dir, b[used:], m)
	}
}

// feed gives the analyzer bytes, in the scope that was entered, until it uses no more of
// them, and returns how many it used. A panic or an error detaches it.
func (k *socket) feed(l *lane, dir flow.Dir, b []byte) (used int) {
	fine := false
	defer func() {
		if !fine {
			k.fault(l, recover())
		}
	}()
	for used < len(b) && k.analyzer != nil && !k.again {
		n := k.message(l, dir, b[used:])
		if n == 0 {
			break
		}
		k.counts(l, l.scope.FrameNo) // a frame that completes nothing is none of it, as in tshark
		used += n
	}
	fine = true
	return used
}

// message makes one call of the analyzer.
func (k *socket) message(l *lane, dir flow.Dir, b []byte) int {
	used, err := k.analyzer.Data(&l.scope, dir, b)
	if l.next.Again {
		k.wishes(l)
	}
	if err != nil {
		k.malformed(l, err.Error())
		k.detach()
		return 0
	}
	return min(max(used, 0), len(b))
}

// wishes notes that the analyzer wants the rest of its stream to be probed anew.
func (k *socket) wishes(l *lane) {
	x := k.extra()
	k.again, x.became = true, l.scope.FrameNo
	if l.next.Tunnel && !k.foreign {
		x.around, x.target = uint16(l.specs.names.index[k.spec.Name]), l.next.Port
	}
}

// fault detaches an analyzer that has panicked.
func (k *socket) fault(l *lane, r any) {
	if r != nil {
		k.malformed(l, "analyzer fault: "+fmt.Sprint(r))
		k.detach()
	}
}

// call offers what is pending until the analyzer uses no more of it.
func (k *socket) call(l *lane, slot uint32, c *conversation, dir flow.Dir, now *mark) {
	h := k.half[dir]
	for len(h.pending) > 0 && k.analyzer != nil && !k.again {
		used := k.data(l, slot, c, dir, h.pending, &h.began, now)
		if used == 0 {
			break
		}
		k.counts(l, now.frame)
		h.use(used)
	}
	if len(h.pending) == 0 && k.half[dir] == h {
		k.drop(l, dir)
	}
	k.rest(l, slot, c, dir, nil, now)
}

// rest keeps what was not used, and acts on the analyzer's wish to hand over.
func (k *socket) rest(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m *mark) {
	if k.analyzer == nil {
		if k.spec == nil || !k.isInner(l, c) {
			k.deafen(l, c)
		}
		return
	}
	if len(b) > 0 {
		k.keep(l, dir, b, m)
	}
	if k.again {
		k.close(l, slot, c, proto.Closed)
		k.spec, k.analyzer, k.again, k.tries, k.foreign = nil, nil, false, 0, false
		k.seen[dir.Reverse()] = len(k.waiting(dir.Reverse())) > 0
		if len(k.waiting(dir)) > 0 {
			k.probe(l, slot, c, proto.TCP)
		}
		return
	}
	if len(k.waiting(dir)) > proto.MaxBuffered {
		k.malformed(l, "message longer than an analyzer may keep")
		k.detach()
		k.deafen(l, c)
	}
}

// isInner reports whether this socket reads decrypted bytes: its end must not
// silence the conversation around it.
func (k *socket) isInner(l *lane, c *conversation) bool {
	return c.socket == 0 || l.sockets[c.socket] != k
}

// data makes one call of the analyzer. A panic or an error detaches it.
func (k *socket) data(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, began, now *mark) (used int) {
	l.enter(slot, c, k, now.time, now.frame)
	l.scope.BeganAt, l.scope.BeganFrame = began.time, began.frame
	fine := false
	defer func() {
		if !fine {
			k.fault(l, recover())
		}
	}()
	used = k.message(l, dir, b)
	fine = true
	return used
}

// datagram takes one datagram.
func (k *socket) datagram(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte) {
	m := mark{time: l.frame.Time, frame: l.frame.Number}
	if k.analyzer == nil {
		if k.tries >= probeTries {
			k.deafen(l, c)
			l.forget(c)
			return
		}
		k.first = dir
		k.seen[dir] = true
		if k.guess != nil {
			k.guess.none = [2]uint64{}
		}
		l.lone = half{pending: b, began: m}
		k.half = [2]*half{}
		k.half[dir] = &l.lone
		k.probe(l, slot, c, proto.UDP)
		k.half = [2]*half{}
		l.lone = half{}
		c.flags &^= deaf
		return
	}
	if other := k.misplaced(l, c, dir, b); other != nil {
		k.close(l, slot, c, proto.Closed)
		k.first = dir
		k.half[dir] = &half{pending: b, began: m}
		k.attach(l, slot, c, other)
		k.half = [2]*half{}
		return
	}
	k.counts(l, m.frame)
	k.data(l, slot, c, dir, b, &m, &m)
	if k.analyzer == nil {
		c.flags |= deaf
	}
}

// misplaced returns the analyzer that a conversation belongs to after all: its
// first datagram looked like something foreign to its port, and this one is
// likely what the port is for, and surely not the other. Only the first
// datagrams are looked at.
func (k *socket) misplaced(l *lane, c *conversation, dir flow.Dir, b []byte) *proto.Spec {
	if k.tries >= probeTries || slices.Contains(k.spec.Ports, c.key.PortA) || slices.Contains(k.spec.Ports, c.key.PortB) {
		return nil
	}
	k.tries++
	for _, port := range [2]uint16{c.key.PortA, c.key.PortB} {
		for _, i := range l.specs.byPort[port] {
			spec := &l.specs.all[i]
			if spec.Carrier&proto.UDP != 0 && spec.Probe != nil && spec.Probe(dir, b) >= proto.Likely && k.spec.Probe(dir, b) == proto.No {
				return spec
			}
		}
	}
	return nil
}

// portless takes one message of a protocol without ports.
func (k *socket) portless(l *lane, b []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("analyzer fault: %v", r)
		}
	}()
	_, err = k.analyzer.Data(&l.scope, flow.ToServer, b)
	return err
}

// gap tells the analyzer that bytes are missing.
func (k *socket) gap(l *lane, slot uint32, c *conversation, s *tcp.Segment, n uint32) {
	k.lost(l, slot, c, s.Dir, int(n), s.Time, s.Frame)
}

func (k *socket) lost(l *lane, slot uint32, c *conversation, dir flow.Dir, n int, at int64, frame uint64) {
	k.drop(l, dir)
	if k.analyzer == nil {
		return // what follows is probed as it comes
	}
	l.enter(slot, c, k, at, frame)
	l.scope.BeganAt, l.scope.BeganFrame = at, frame
	defer func() {
		if r := recover(); r != nil {
			k.malformed(l, "analyzer fault: "+fmt.Sprint(r))
			k.detach()
		}
	}()
	if err := k.analyzer.Gap(&l.scope, dir, n); err != nil {
		k.detach()
		if !k.isInner(l, c) {
			k.deafen(l, c)
		}
	}
}

// counts counts a frame for what the socket reads, and for the tunnel around it.
func (k *socket) counts(l *lane, frame uint64) {
	l.carries(int(k.name), frame)
	if k.name != 0 && k.more != nil {
		l.carries(int(k.more.around), frame)
	}
}

// taken reports whether the ports of the conversation belong to another protocol than
// that of spec: unless that one handed it over (STARTTLS, CONNECT).
func (k *socket) taken(c *conversation, spec *proto.Spec) bool {
	if spec.Taken == nil || k.more != nil && k.more.became != 0 {
		return false
	}
	server, client := c.key.PortA, c.key.PortB
	if c.flags&clientIsA != 0 {
		server, client = client, server
	}
	return spec.Taken(server, client)
}

// tunnelled reports whether what the socket reads goes through a tunnel to another port.
func (k *socket) tunnelled() bool { return k.more != nil && k.more.around != 0 }

// ports are those that tell what is spoken: the conversation's own, or that which a
// tunnel leads to.
func (k *socket) ports(c *conversation) (a, b uint16) {
	if k.tunnelled() {
		return k.more.target, k.more.target
	}
	return c.key.PortA, c.key.PortB
}

func (k *socket) detach() { k.analyzer = nil }

// malformed counts broken bytes, once a conversation.
func (k *socket) malformed(l *lane, reason string) {
	if !k.bad {
		k.bad = true
		l.Malformed(&l.scope, reason)
	}
}

// end closes the analyzer for good.
func (k *socket) end(l *lane, slot uint32, c *conversation, why proto.End) {
	k.drop(l, flow.ToServer)
	k.drop(l, flow.ToClient)
	if k.more != nil && k.more.inner != nil {
		k.adopt(l, slot, c, why)
	}
	if k.analyzer != nil {
		k.close(l, slot, c, why)
	}
}

// adopt ends the analyzer of what was unwrapped and takes over what it found.
func (k *socket) adopt(l *lane, slot uint32, c *conversation, why proto.End) {
	in := k.more.inner
	in.end(l, slot, c, why)
	if in.facts == nil {
		return
	}
	k.facts.App = in.facts.App
	s := l.scope
	s.Facts = k.facts
	s.Name(in.facts.Name)
	found := in.facts.Attrs()
	for _, key := range slices.Sorted(maps.Keys(found)) {
		s.Attr(key, found[key])
	}
}

func (k *socket) close(l *lane, slot uint32, c *conversation, why proto.End) {
	l.setScope(slot, c, k)
	if l.frame == nil { // end of the capture
		l.scope.At, l.scope.FrameNo = c.last, c.latest
	}
	k.over(l, why)
}

func (k *socket) over(l *lane, why proto.End) {
	defer func() {
		if r := recover(); r != nil {
			k.malformed(l, "analyzer fault: "+fmt.Sprint(r))
		}
	}()
	k.analyzer.End(&l.scope, why)
	k.analyzer = nil
}
