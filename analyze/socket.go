package analyze

import (
	"fmt"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
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
// says yes, the first bytes of both directions are kept and probed.
type socket struct {
	spec     *proto.Spec // nil while probing
	analyzer proto.Analyzer
	facts    proto.Facts
	next     proto.Handover
	half     [2]half
	ruled    []bool // specs that said no
	first    flow.Dir
	tries    uint8
	inner    *socket // reads what the analyzer decrypted
	found    []pendingKey
	bad      bool // malformed bytes were reported
}

// half is what waits in one direction for the analyzer to use it.
type half struct {
	pending []byte
	at      []mark // where in pending each segment begins
	seen    bool
}

type mark struct {
	offset int
	time   int64
	frame  uint64
}

// listen returns the conversation's socket, made on the first payload.
func (l *lane) listen(_ uint32, c *conversation) *socket {
	if c.socket != 0 {
		return l.sockets[c.socket]
	}
	k := &socket{}
	if n := len(l.freeSockets); n > 0 {
		c.socket = l.freeSockets[n-1]
		l.freeSockets = l.freeSockets[:n-1]
		l.sockets[c.socket] = k
		return k
	}
	c.socket = uint32(len(l.sockets))
	l.sockets = append(l.sockets, k)
	return k
}

// stream takes in-order bytes of a TCP connection.
func (k *socket) stream(l *lane, slot uint32, c *conversation, s *tcp.Segment, b []byte) {
	k.bytes(l, slot, c, s.Dir, b, mark{time: s.Time, frame: s.Frame})
	if c.flags&deaf != 0 {
		l.tracker.Want(c.tcp, flow.ToServer, false)
		l.tracker.Want(c.tcp, flow.ToClient, false)
		l.forget(c)
	}
}

func (k *socket) bytes(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m mark) {
	h := &k.half[dir]
	if !k.half[0].seen && !k.half[1].seen {
		k.first = dir
	}
	if !h.seen {
		clear(k.ruled) // the answer may tell what the question did not
	}
	h.seen = true
	if k.analyzer == nil {
		h.keep(b, m)
		k.probe(l, slot, c, proto.TCP)
		return
	}
	k.offer(l, slot, c, dir, b, m)
}

// keep appends bytes to what is pending.
func (h *half) keep(b []byte, m mark) {
	m.offset = len(h.pending)
	h.at = append(h.at, m)
	h.pending = append(h.pending, b...)
}

// use drops the first n pending bytes.
func (h *half) use(n int) {
	if n >= len(h.pending) {
		h.pending, h.at = h.pending[:0], h.at[:0]
		return
	}
	h.pending = h.pending[:copy(h.pending, h.pending[n:])]
	last := 0
	for i := range h.at {
		h.at[i].offset -= n
		if h.at[i].offset <= 0 {
			last = i
		}
	}
	h.at = h.at[:copy(h.at, h.at[last:])]
	h.at[0].offset = 0
}

// probe asks the analyzers of a carrier about what is pending, those first that
// know one of the ports.
func (k *socket) probe(l *lane, slot uint32, c *conversation, carrier proto.Transport) {
	if k.ruled == nil {
		k.ruled = make([]bool, len(l.specs.all))
	}
	best, unsure := -1, false
	for _, i := range l.specs.order(carrier, c.key.PortA, c.key.PortB) {
		if k.ruled[i] {
			continue
		}
		spec := &l.specs.all[i]
		v := k.ask(spec)
		switch v {
		case proto.No:
			k.ruled[i] = true
		case proto.NeedMore:
			unsure = true
		case proto.Likely:
			if l.specs.knows(i, c.key.PortA) || l.specs.knows(i, c.key.PortB) {
				k.attach(l, slot, c, spec)
				return
			}
			if best < 0 {
				best = i
			}
		case proto.Certain:
			k.attach(l, slot, c, spec)
			return
		}
	}
	k.tries++
	full := k.tries >= probeTries || len(k.half[0].pending) >= probeBytes || len(k.half[1].pending) >= probeBytes
	switch {
	case best >= 0 && (!unsure || full):
		k.attach(l, slot, c, &l.specs.all[best])
	case !unsure && k.half[0].seen && k.half[1].seen, full:
		k.deafen(c)
	case !unsure:
		// Nobody recognised this direction; the answer may still tell.
		clear(k.ruled)
	}
}

// ask probes each direction that has bytes; the better verdict counts.
func (k *socket) ask(spec *proto.Spec) (v proto.Verdict) {
	for _, dir := range [2]flow.Dir{k.first, k.first.Reverse()} {
		if b := k.half[dir].pending; len(b) > 0 {
			v = max(v, spec.Probe(dir, b))
		}
	}
	return v
}

// deafen gives a conversation up: nobody knows what it says.
func (k *socket) deafen(c *conversation) {
	c.flags |= deaf
	k.ruled = nil
	k.half = [2]half{}
}

// forget takes back the socket of a conversation that nobody recognised.
func (l *lane) forget(c *conversation) {
	k := l.sockets[c.socket]
	if c.socket == 0 || k.spec != nil || k.facts.App != "" || len(k.found) > 0 || k.inner != nil {
		return
	}
	l.sockets[c.socket] = nil
	l.freeSockets = append(l.freeSockets, c.socket)
	c.socket = 0
}

// attach gives what is pending to an analyzer that said yes.
func (k *socket) attach(l *lane, slot uint32, c *conversation, spec *proto.Spec) {
	k.spec, k.analyzer, k.ruled = spec, spec.New(), nil
	k.facts.App = spec.Name
	k.next = proto.Handover{}
	if spec.Wraps {
		k.wrap(l, slot, c)
	}
	for _, dir := range [2]flow.Dir{k.first, k.first.Reverse()} {
		h := &k.half[dir]
		if len(h.pending) == 0 {
			continue
		}
		last := h.at[len(h.at)-1]
		k.call(l, slot, c, dir, last)
		if k.analyzer == nil {
			return
		}
	}
}

// wrap lets the analyzer hand on what it unwrapped.
func (k *socket) wrap(l *lane, slot uint32, c *conversation) {
	k.next = proto.Handover{
		Inner: func(dir flow.Dir, b []byte) {
			k.within().bytes(l, slot, c, dir, b, mark{time: l.scope.At, frame: l.scope.FrameNo})
		},
		Lost: func(dir flow.Dir, n int) { k.within().lost(l, slot, c, dir, n, l.scope.At, l.scope.FrameNo) },
	}
}

func (k *socket) within() *socket {
	if k.inner == nil {
		k.inner = &socket{}
	}
	return k.inner
}

// offer gives new bytes to the analyzer, in place where nothing is pending.
func (k *socket) offer(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m mark) {
	h := &k.half[dir]
	if len(h.pending) > 0 {
		h.keep(b, m)
		k.call(l, slot, c, dir, m)
		return
	}
	l.carries(k.spec, m.frame)
	for len(b) > 0 && k.analyzer != nil && !k.next.Again {
		used := k.data(l, slot, c, dir, b, m, m)
		if used == 0 {
			break
		}
		b = b[used:]
	}
	k.rest(l, slot, c, dir, b, m)
}

// call offers what is pending until the analyzer uses no more of it.
func (k *socket) call(l *lane, slot uint32, c *conversation, dir flow.Dir, now mark) {
	h := &k.half[dir]
	l.carries(k.spec, now.frame)
	for len(h.pending) > 0 && k.analyzer != nil && !k.next.Again {
		used := k.data(l, slot, c, dir, h.pending, h.at[0], now)
		if used == 0 {
			break
		}
		h.use(used)
	}
	k.rest(l, slot, c, dir, nil, now)
}

// rest keeps what was not used, and acts on the analyzer's wish to hand over.
func (k *socket) rest(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, m mark) {
	h := &k.half[dir]
	if k.analyzer == nil {
		if k.spec == nil || !k.isInner(l, c) {
			k.deafen(c)
		}
		return
	}
	if len(b) > 0 {
		h.keep(b, m)
	}
	if k.next.Again {
		k.close(l, slot, c, proto.Closed)
		k.spec, k.analyzer, k.next = nil, nil, proto.Handover{}
		if len(h.pending) > 0 {
			k.probe(l, slot, c, proto.TCP)
		}
		return
	}
	if len(h.pending) > proto.MaxBuffered {
		k.malformed(l, "message longer than an analyzer may keep")
		k.detach()
		k.deafen(c)
	}
}

// isInner reports whether this socket reads decrypted bytes: its end must not
// silence the conversation around it.
func (k *socket) isInner(l *lane, c *conversation) bool {
	return c.socket == 0 || l.sockets[c.socket] != k
}

// data makes one call of the analyzer. A panic or an error detaches it.
func (k *socket) data(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte, began, now mark) (used int) {
	l.setScope(slot, c, k)
	l.scope.At, l.scope.FrameNo = now.time, now.frame
	l.scope.BeganAt, l.scope.BeganFrame = began.time, began.frame
	defer func() {
		if r := recover(); r != nil {
			k.malformed(l, "analyzer fault: "+fmt.Sprint(r))
			k.detach()
			used = 0
		}
	}()
	used, err := k.analyzer.Data(&l.scope, dir, b)
	if err != nil {
		k.malformed(l, err.Error())
		k.detach()
		return 0
	}
	return min(max(used, 0), len(b))
}

// datagram takes one datagram.
func (k *socket) datagram(l *lane, slot uint32, c *conversation, dir flow.Dir, b []byte) {
	m := mark{time: l.frame.Time, frame: l.frame.Number}
	if k.analyzer == nil {
		if k.tries >= probeTries {
			k.deafen(c)
			l.forget(c)
			return
		}
		k.first = dir
		k.half = [2]half{}
		k.half[dir] = half{pending: b, at: []mark{m}, seen: true}
		k.probe(l, slot, c, proto.UDP)
		k.half = [2]half{}
		c.flags &^= deaf
		return
	}
	l.carries(k.spec, m.frame)
	k.data(l, slot, c, dir, b, m, m)
	if k.analyzer == nil {
		c.flags |= deaf
	}
}

// message takes one message of a protocol without ports.
func (k *socket) message(l *lane, b []byte) (err error) {
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
	h := &k.half[dir]
	h.pending, h.at = h.pending[:0], h.at[:0]
	if k.analyzer == nil {
		return // what follows is probed as it comes
	}
	l.setScope(slot, c, k)
	l.scope.At, l.scope.FrameNo = at, frame
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
			k.deafen(c)
		}
	}
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
	if k.inner != nil {
		k.inner.end(l, slot, c, why)
		if k.inner.facts.App != "" {
			k.facts.App = k.inner.facts.App
		}
		if k.facts.Name == "" {
			k.facts.Name = k.inner.facts.Name
		}
		for key, v := range k.inner.facts.Attr {
			k.setAttr(key, v)
		}
		k.found = append(k.found, k.inner.found...)
	}
	if k.analyzer != nil {
		k.close(l, slot, c, why)
	}
}

func (k *socket) setAttr(key, v string) {
	s := proto.Scope{Facts: &k.facts}
	s.Attr(key, v)
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
