package analyze

import (
	"net/netip"
	"reflect"
	"slices"
	"sync"

	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/capture/packet"
)

// collector puts what the lanes say into the order of frames, numbers the
// conversations, runs the correlators and keeps the result.
type collector struct {
	opt     Options
	pipe    *pipeline
	names   *names
	emit    func(finding.Finding)
	tell    *foreteller
	res     *Result
	deltas  []*delta
	numbers [][]flow.ID // by lane and slot
	outer   map[flow.Key]flow.ID
	around  map[flow.Key]struct{} // conversations that may turn out to be a tunnel's, and have a number
	media   media
	next    struct{ tcp, udp uint32 }
	keep    *keeper
	trust   trust
	lookups lookups
	finds   findings
	codes   map[finding.Code]*kind
	said    hosts.Table[said] // of conversations that are not folded yet, by flow.ID.Key
	corr    []correlate.Correlator
	listen  []correlate.Listener
	heard   []heard // by type of body, as they were met
	greet   []correlate.Greeter
	read    []correlate.Reader
	out     correlate.Out
	hosts   hosts.Numbers
	last    int64 // time of the last frame
	begun   bool
	done    *Result // of a run that came to its end
	opening correlate.Opened
	folded  correlate.Folded
	second  correlate.Rate

	// live: of the moment that is asked for
	asking  []func(*Result)
	moments uint64
	answers int             // lanes that have said what is open
	stands  []*conn.Summary // of open conversations
	live    uint64
}

func newCollector(opt Options, p *pipeline, emit func(finding.Finding)) *collector {
	c := &collector{
		opt: opt, pipe: p, emit: emit, tell: newForeteller(opt.Found), names: p.lanes[0].specs.names,
		res: newResult(), deltas: make([]*delta, len(p.lanes)), numbers: make([][]flow.ID, len(p.lanes)),
		outer: map[flow.Key]flow.ID{}, around: map[flow.Key]struct{}{}, media: newMedia(), keep: newKeeper(opt.MaxSummaries), codes: map[finding.Code]*kind{},
	}
	c.keep.live = opt.Live
	for _, s := range Correlators() {
		c.correlate(s.New())
	}
	c.out.Emit = func(f finding.Finding) { c.find(-1, f) }
	c.out.Hosts, c.lookups.hosts = &c.hosts, &c.hosts
	return c
}

// correlate adds a correlator to those who are told what they want to know.
func (c *collector) correlate(k correlate.Correlator) {
	c.corr = append(c.corr, k)
	if x, ok := k.(correlate.Listener); ok {
		c.listen = append(c.listen, x)
	}
	if x, ok := k.(correlate.Greeter); ok {
		c.greet = append(c.greet, x)
	}
	if x, ok := k.(correlate.Reader); ok {
		c.read = append(c.read, x)
	}
}

// run reads one delta of every lane for each batch, then the endings. After a
// panic it only gives the deltas back, so that the lanes come to their end.
func (c *collector) run() {
	defer c.drain()
	defer packet.Rescue("the collector", c.pipe.fail)
	for c.batch() {
		c.ask()
	}
	c.endSecond()
	for _, k := range c.corr {
		k.End(&c.out)
	}
	c.done = c.result()
}

// drain gives back what lanes still say, a round at a time: a lane must not wait
// for the end of another, or the batch that both read is held for ever.
func (c *collector) drain() {
	for open := true; open; {
		open = false
		for _, l := range c.pipe.lanes {
			if d, ok := <-l.out; ok {
				open = true
				l.spare <- d
			}
		}
	}
}

// batch reads one round of deltas; false: there are no more.
func (c *collector) batch() bool {
	ending := 0
	for i, l := range c.pipe.lanes {
		d, ok := <-l.out
		if !ok {
			c.deltas[i] = nil
			continue
		}
		c.deltas[i] = d
		if d.ending {
			ending++
		}
	}
	if ending > 0 {
		c.ending()
		return false
	}
	if c.deltas[0] == nil {
		return false
	}
	c.round()
	return true
}

// round takes what all lanes said of one batch and gives the deltas back.
func (c *collector) round() {
	for _, d := range c.deltas {
		if d != nil && d.tallied {
			c.tally(&d.tally)
		}
	}
	opens := merged(c.deltas, func(d *delta) []opened { return d.opened }, func(o *opened) uint64 { return o.frame })
	events := merged(c.deltas, func(d *delta) []event { return d.events }, func(e *event) uint64 { return e.Frame })
	for lane, e := events.next(); e != nil; lane, e = events.next() {
		for opens.before(e.Frame + 1) {
			c.open(opens.next())
		}
		e.Flow = c.number(lane, e.slot)
		c.publish(&e.Event)
	}
	for lane, o := opens.next(); o != nil; lane, o = opens.next() {
		c.open(lane, o)
	}
	for i, d := range c.deltas {
		if d != nil {
			c.sums(i, d)
		}
	}
	ends := merged(c.deltas, func(d *delta) []closed { return d.closed }, func(x *closed) uint64 { return x.frame })
	for lane, x := ends.next(); x != nil; lane, x = ends.next() {
		c.close(lane, x)
	}
	c.gather()
	c.tell.batch()
	for i, d := range c.deltas {
		if d != nil {
			c.pipe.lanes[i].spare <- d
			c.deltas[i] = nil
		}
	}
}

// merger walks the lists that all lanes have of one kind of thing, by frame;
// equal frames by lane.
type merger[T any] struct {
	lists [][]T
	frame func(*T) uint64
}

func merged[T any](deltas []*delta, list func(*delta) []T, frame func(*T) uint64) *merger[T] {
	m := &merger[T]{lists: make([][]T, len(deltas)), frame: frame}
	for i, d := range deltas {
		if d != nil {
			m.lists[i] = list(d)
		}
	}
	return m
}

// first returns the lane that has the next item; -1: none has any.
func (m *merger[T]) first() int {
	best, least := -1, uint64(0)
	for i := range m.lists {
		if len(m.lists[i]) == 0 {
			continue
		}
		if f := m.frame(&m.lists[i][0]); best < 0 || f < least {
			best, least = i, f
		}
	}
	return best
}

// before reports whether the next item's frame is below a number.
func (m *merger[T]) before(frame uint64) bool {
	i := m.first()
	return i >= 0 && m.frame(&m.lists[i][0]) < frame
}

// next takes the next item; nil: there is none.
func (m *merger[T]) next() (lane int, item *T) {
	lane = m.first()
	if lane < 0 {
		return lane, nil
	}
	item = &m.lists[lane][0]
	m.lists[lane] = m.lists[lane][1:]
	return lane, item
}

// open gives a conversation its number.
func (c *collector) open(lane int, o *opened) {
	if o.reverse {
		c.reversed(o)
		return
	}
	if id, ok := c.outer[o.key]; ok && len(c.outer) > 0 {
		if !o.outer {
			c.setNumber(lane, o.slot, id)
		}
		return
	}
	if _, ok := c.around[o.key]; ok && o.outer {
		return
	}
	id, shared := c.ofMedia(o)
	if !shared {
		id = c.count(lane, o)
	}
	switch {
	case o.outer:
		c.outer[o.key] = id
		return
	case o.proto == flow.UDP && (decode.TunnelPort(o.key.PortA) || decode.TunnelPort(o.key.PortB)) && len(c.around) < maxOuter:
		c.around[o.key] = struct{}{}
	}
	c.setNumber(lane, o.slot, id)
	c.tell.opened(id, o)
	if o.quoted && len(c.res.quoted) < maxQuoted {
		c.res.quoted[id] = struct{}{}
	}
	if o.quoted || o.again {
		return
	}
	c.opening = correlate.Opened{ID: id, Frame: o.frame, Time: o.at, Client: o.key.AddrA(), Server: o.key.AddrB(), SrcMAC: o.src, DstMAC: o.dst}
	if !o.clientIsA {
		c.opening.Client, c.opening.Server = c.opening.Server, c.opening.Client
	}
	c.lookups.opened(id, c.opening.Client.Addr(), c.opening.Server.Addr(), o.at)
	for _, k := range c.greet {
		k.Opened(&c.out, &c.opening)
	}
}

// count gives a conversation the next number, and counts it unless it is only
// quoted. One that was has its number.
func (c *collector) count(lane int, o *opened) flow.ID {
	id := flow.ID{Proto: o.proto}
	next, all := &c.next.udp, &c.res.UDPConversations
	if o.proto == flow.TCP {
		next, all = &c.next.tcp, &c.res.TCPConversations
	}
	if o.real {
		id = c.number(lane, o.slot)
		delete(c.res.quoted, id)
	} else {
		id.Stream = *next
		*next++
	}
	if o.quoted == o.counted {
		*all++
	}
	return id
}

func (c *collector) setNumber(lane int, slot uint32, id flow.ID) {
	n := c.numbers[lane]
	if int(slot) >= len(n) {
		if int(slot) >= cap(n) { // append would grow by quarters
			n = slices.Grow(n, max(int(slot)+1-len(n), len(n)))
		}
		n = n[:slot+1]
	}
	n[slot] = id
	c.numbers[lane] = n
}

func (c *collector) number(lane int, slot uint32) flow.ID {
	if slot == 0 || int(slot) >= len(c.numbers[lane]) {
		return flow.ID{}
	}
	return c.numbers[lane][slot]
}

func (c *collector) publish(e *proto.Event) {
	if n, ok := e.Body.(proto.Named); ok {
		c.res.name(n.NamedAddrs())
		if l, ok := n.(proto.Lookup); ok {
			c.lookups.answered(l)
		}
	}
	if x, ok := e.Body.(*correlate.ICMPError); ok {
		x.QuotedID = e.Flow
	}
	if m, ok := e.Body.(*proto.Media); ok {
		c.described(m)
	}
	for _, k := range c.listeners(e.Body) {
		k.Event(&c.out, e)
	}
}

// heard are those who are told of events whose body has a type.
type heard struct {
	body reflect.Type
	by   []correlate.Listener
}

// listeners returns those who want to hear of such an event. There are some dozen types of them,
// few in one capture.
func (c *collector) listeners(body any) []correlate.Listener {
	t := reflect.TypeOf(body)
	for i := range c.heard {
		if c.heard[i].body == t {
			return c.heard[i].by
		}
	}
	h := heard{body: t}
	for _, k := range c.listen {
		wants := k.Hears()
		if len(wants) == 0 || slices.ContainsFunc(wants, func(x any) bool { return reflect.TypeOf(x) == t }) {
			h.by = append(h.by, k)
		}
	}
	c.heard = append(c.heard, h)
	return h.by
}

// tally adds the counts of one batch.
func (c *collector) tally(t *tally) {
	r := c.res
	r.Source = t.counters
	if t.packets == 0 {
		return
	}
	if !c.begun {
		c.begun = true
		r.First = t.first
	} else if t.first < c.last {
		r.Trust.TimeReversals++
	}
	c.last = t.last
	r.Last = t.last
	r.Packets += t.packets
	r.Bytes += t.bytes
	r.Undecoded += t.undecoded
	r.Trust.TimeReversals += t.reversals
	r.Trust.Snapped += t.snapped
	for i := range t.rates {
		c.rate(&t.rates[i])
	}
	for p, n := range t.protocols {
		if n > 0 {
			r.Protocols[c.names.list[p]] += n
		}
	}
}

// rate puts the parts of one second together that lie in several batches.
func (c *collector) rate(r *correlate.Rate) {
	if c.second.Start == r.Start && c.second.Frames > 0 {
		c.second.Last = r.Last
		c.second.Frames += r.Frames
		c.second.Broadcasts += r.Broadcasts
		return
	}
	c.endSecond()
	c.second = *r
}

func (c *collector) endSecond() {
	if c.second.Broadcasts > 0 {
		c.publish(&proto.Event{Frame: c.second.First, Time: c.second.Start, Body: &c.second})
	}
}

// sums adds what has no order.
func (c *collector) sums(lane int, d *delta) {
	r := c.res
	for i, n := range d.tcp {
		r.TCP[i] += n
	}
	for _, name := range d.named {
		if n := &d.carried[name].n; *n > 0 {
			r.Protocols[c.names.list[name]] += *n
			*n = 0 // it may be among them again
		}
	}
	for _, x := range d.counts {
		m := r.Keyed[x.counter]
		if m == nil {
			m = map[string]uint64{}
			r.Keyed[x.counter] = m
		}
		m[x.key] += x.n
	}
	for _, name := range d.foreign {
		r.foreign[name] = struct{}{}
	}
	for _, m := range d.malformed {
		r.Malformed[m]++
	}
	r.Evicted += d.evicted
	r.Shed += d.shed
	r.Unread += d.unread
	for i := range d.finds {
		f := d.finds[i].Finding
		f.Flow = c.number(lane, d.finds[i].slot)
		c.find(lane, f)
	}
}

// find keeps a finding, or puts it in the place of what the same lane (-1: a
// correlator) said before of the same conversation and host.
func (c *collector) find(lane int, f finding.Finding) {
	of := c.kind(f.Code)
	key := c.findKey(lane, of, &f)
	i, ok := c.finds.get(key)
	if !ok && c.opt.Live && c.finds.Len() >= maxLiveFindings {
		c.forgetOldest()
	}
	grown := true
	switch {
	case ok:
		before := c.finds.At(i)
		grown = before.Evidence.Count != f.Evidence.Count || before.Severity != f.Severity
		*before = f
	case of.late(&f):
		c.res.Shed++
	default:
		c.finds.add(key, &f)
		c.tell.found(lane, &f)
		if !c.opt.Live { // there the oldest make room
			c.thin(f.Code, of)
		}
	}
	if f.Flow.Valid() {
		of := c.said.At(f.Flow.Key())
		if !ok {
			of.findings++
		}
		of.gravest = max(of.gravest, f.Severity)
	}
	if c.emit != nil && c.opt.Live && grown {
		c.emit(f)
	}
}

// close takes a folded conversation.
func (c *collector) close(lane int, x *closed) {
	if x.sum == nil {
		return
	}
	s := x.sum
	s.ID = c.number(lane, x.slot)
	of := c.said.Take(s.ID.Key())
	c.tell.closed(s.ID)
	s.Findings = of.findings
	c.trust.add(s)
	c.lookups.closed(s)
	if s.Name == "" {
		s.Name = c.res.Names[s.Server.Addr.Addr()]
	}
	c.folded = correlate.Folded{Summary: s, From: c.hosts.Of(s.Client.Addr.Addr()), To: c.hosts.Of(s.Server.Addr.Addr())}
	for _, k := range c.read {
		k.Conn(&c.out, &c.folded)
	}
	if c.opt.Connection != nil {
		s.CommunityID = flow.CommunityID(s.ID.Proto, s.Client.Addr, s.Server.Addr)
		c.opt.Connection(s)
	}
	c.keep.add(s, of)
}

// ending merges the last deltas of the lanes. Each lane folds its conversations
// in the order of their first frames, some hundred at a time.
func (c *collector) ending() {
	tails := make([]tail, len(c.deltas))
	for i, d := range c.deltas {
		if d != nil {
			tails[i].begin(c, i, d)
		}
	}
	for {
		best, least := -1, uint64(0)
		for i := range tails {
			if !c.refill(i, &tails[i]) {
				continue
			}
			if first := tails[i].first(); best < 0 || first < least {
				best, least = i, first
			}
		}
		if best < 0 {
			return
		}
		tails[best].take(c, best)
	}
}

// tail walks the last deltas of one lane.
type tail struct {
	closed []closed
	events []event
}

// begin takes what is said of no conversation.
func (t *tail) begin(c *collector, lane int, d *delta) {
	c.sums(lane, d)
	t.closed, t.events = d.closed, d.events
	lead := len(t.events)
	for i := range t.closed {
		lead -= t.closed[i].said
	}
	t.say(c, lane, lead)
}

func (t *tail) say(c *collector, lane, n int) {
	for i := range t.events[:n] {
		t.events[i].Flow = c.number(lane, t.events[i].slot)
		c.publish(&t.events[i].Event)
	}
	t.events = t.events[n:]
}

// first is the first frame of the next conversation.
func (t *tail) first() uint64 {
	if s := t.closed[0].sum; s != nil {
		return s.First
	}
	return 0
}

// take folds the next conversation, after what its analyzer said in the end.
func (t *tail) take(c *collector, lane int) {
	x := &t.closed[0]
	t.say(c, lane, x.said)
	c.close(lane, x)
	t.closed = t.closed[1:]
}

// refill fetches the lane's next delta when this one is used up; false: there
// are no more.
func (c *collector) refill(i int, t *tail) bool {
	for c.deltas[i] != nil && len(t.closed) == 0 {
		c.pipe.lanes[i].spare <- c.deltas[i]
		d, ok := <-c.pipe.lanes[i].out
		if !ok {
			c.deltas[i] = nil
			return false
		}
		c.deltas[i] = d
		t.begin(c, i, d)
	}
	return c.deltas[i] != nil
}

// joined returns the findings in their order, with the versions that several
// lanes have of a host's finding made one. Correlators have one version each,
// and may tell several findings of one host.
func (c *collector) joined() []finding.Finding {
	all := c.finds.sorted()
	if len(c.pipe.lanes) == 1 {
		return all
	}
	type name struct {
		code finding.Code
		host netip.Addr
	}
	first := map[name]int{}
	joined := all[:0]
	for _, f := range all {
		if f.Flow.Valid() || !f.Host.IsValid() || c.pipe.lanes[0].specs.defs[f.Code] == nil {
			joined = append(joined, f)
			continue
		}
		i, again := first[name{f.Code, f.Host}]
		if !again {
			first[name{f.Code, f.Host}] = len(joined)
			joined = append(joined, f)
			continue
		}
		into := &joined[i]
		into.Evidence.Join(&f.Evidence)
		into.Values = slices.Clone(into.Values)
		merge(into.Values, f.Values, c.pipe.lanes[0].specs.defs[f.Code].Metrics)
	}
	return joined
}

// outcome is the result in the end, as much of it as there is after a panic.
func (c *collector) outcome() *Result {
	if c.done != nil && c.pipe.fault.Load() == nil {
		return c.done
	}
	r := newResult()
	func() {
		defer packet.Rescue("the collector", c.pipe.fail)
		r = c.result()
	}()
	return r
}

// result is what was found so far, in its final order.
func (c *collector) result() *Result {
	r := *c.res
	var beside sync.WaitGroup
	defer beside.Wait() // after a panic too
	beside.Go(func() {
		defer packet.Rescue("the list of conversations", c.pipe.fail)
		r.Connections, r.ids, r.Briefs = c.keep.list()
	})
	var out uint64
	r.Findings, out = bounded(c.joined())
	r.Shed += out
	beside.Wait()
	r.overfull = c.keep.full()
	c.trust.into(&r.Trust)
	r.finish()
	return &r
}
