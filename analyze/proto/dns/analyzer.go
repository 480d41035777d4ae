package dns

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
)

// Bounds and thresholds. Times are nanoseconds.
const (
	maxQueries = 256 // kept of one conversation; a forwarder has some hundred open at once
	ms         = 1_000_000
	second     = 1000 * ms
	// slow is what a cold recursion to another continent does not need.
	slow = 400 * ms
	// soon: an answer this close behind a repetition belongs to the repetition,
	// and the query before it was lost; dns.retransmission tells so.
	soon = 100 * ms
	// giveUp is the shortest time after which stub resolvers try again
	// (Windows 1 s, systemd-resolved and glibc 5 s).
	giveUp = second
	// copied: the same query after less than this is a frame seen twice.
	copied = 5 * ms
)

// query is one question with an id, and what became of it. Most conversations with
// a resolver have one, and are kept long after it was answered: it is small.
type query struct {
	label    string // type and name
	first    int64
	last     int64 // sent again
	frame    uint64
	lastSent uint64
	bytes    uint32
	id       uint16
	typ      uint16
	times    uint16 // sent
	answers  uint16 // got
	spelt    uint8  // length of the type in label

	// Of the first answer, for a contradiction:
	rcode  uint16
	cut    bool  // it was truncated
	ttl    uint8 // of IP
	digest uint64
	at     int64
	addrs  []netip.Addr
}

func (q *query) name() string     { return q.label[q.spelt+1:] }
func (q *query) typeName() string { return q.label[:q.spelt] }

// analyzer is one conversation with a resolver.
type analyzer struct {
	queries []query  // oldest first
	one     [1]query // where the first is kept
	last    int64    // time of the last message
	stream  *stream  // nil: datagrams
}

// stream is where messages begin and end over TCP, by direction.
type stream struct {
	skip  [2]int  // bytes of a message too long to be kept
	lost  [2]bool // look for the next message
	trail [2]trail
}

// desk is what a lane's analyzers work at.
type desk struct {
	reading reading
	label   []byte
	asked   proto.Page[Asked]
	lookups proto.Page[Lookup]
	addrs   []netip.Addr // room for those of answers
}

// publish tells that a query was sent.
func (d *desk) publish(s *proto.Scope, client, resolver netip.AddrPort, q *query) {
	x := d.asked.Next()
	*x = Asked{Client: client, Resolver: resolver.Addr(), Name: q.name(), Type: q.typeName()}
	s.Publish(x)
}

// keep returns a copy of the addresses of an answer.
func (d *desk) keep(list []netip.Addr) []netip.Addr {
	const some = 32
	n := len(d.addrs)
	if cap(d.addrs)-n < len(list) {
		d.addrs, n = make([]netip.Addr, 0, max(some, len(list))), 0
	}
	d.addrs = append(d.addrs, list...)
	return d.addrs[n:len(d.addrs):len(d.addrs)]
}

// Data implements proto.Analyzer.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if a.stream == nil {
		a.message(s, dir, b, s.Now(), s.Frame())
		return len(b), nil
	}
	t := &a.stream.trail[dir]
	t.follow(s, b)
	used := a.messages(s, dir, b)
	t.read(s, len(b), used)
	return used, nil
}

// messages takes those of a stream that are whole.
func (a *analyzer) messages(s *proto.Scope, dir flow.Dir, b []byte) int {
	st, used := a.stream, 0
	for {
		if n := min(st.skip[dir], len(b)-used); n > 0 {
			st.skip[dir] -= n
			used += n
		}
		rest := b[used:]
		if len(rest) == 0 {
			return used
		}
		if st.lost[dir] {
			switch probeStream(dir, rest) {
			case proto.No:
				return len(b)
			case proto.NeedMore:
				return used
			case proto.Likely, proto.Certain:
				st.lost[dir] = false
			}
		}
		if len(rest) < 2 {
			return used
		}
		n := int(binary.BigEndian.Uint16(rest))
		switch {
		case n < headerLen:
			s.Malformed("DNS over TCP: length below that of a header")
			st.lost[dir] = true
			return len(b)
		case 2+n > proto.MaxBuffered:
			if len(rest) < 2+headerLen {
				return used
			}
			a.message(s, dir, rest[2:], s.Now(), s.Frame())
			st.skip[dir] = 2 + n
			continue
		case len(rest) < 2+n:
			return used
		}
		at, frame := s.Now(), s.Frame()
		if used == 0 {
			at, frame = s.Began()
		}
		a.message(s, dir, rest[2:2+n], at, frame)
		used += 2 + n
	}
}

// Gap implements proto.Analyzer.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	if a.stream == nil {
		return nil
	}
	if a.stream.skip[dir] >= n {
		a.stream.skip[dir] -= n
		return nil
	}
	a.stream.trail[dir] = trail{astray: true}
	a.stream.skip[dir] = 0
	a.stream.lost[dir] = true
	return nil
}

// End implements proto.Analyzer: what is still open has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	now := max(s.Now(), a.last)
	// The proof is where each was sent last: in the order of frames.
	slices.SortStableFunc(a.queries, func(x, y query) int { return cmp.Compare(x.lastSent, y.lastSent) })
	for i := range a.queries {
		a.forget(s, &a.queries[i], now)
	}
	a.queries = nil
}

// never is before any time of a capture. An analyzer begins with it and not with 0:
// there are many, and memory that is read before it is written is had from the system
// twice.
const never = math.MinInt64

// Rests implements proto.Rester: every query was answered.
func (a *analyzer) Rests() bool {
	for i := range a.queries {
		if a.queries[i].answers == 0 {
			return false
		}
	}
	return true
}

// message takes one message whose first byte came at began.
func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, began int64, beganFrame uint64) {
	d := proto.Kept[desk](s)
	m := &d.reading
	m.read(b)
	a.last = s.Now()
	if m.bad == faultShort {
		s.Malformed(string(m.bad))
		return
	}
	if m.response() && a.counted(s, &m.message, len(b)) {
		s.Count(proto.DNSRcode, rcodeKey(m.flags&15))
	}
	if m.bad != "" && !snapped(s, len(b)) {
		s.Malformed(string(m.bad))
	}
	// Whose ports these are says less than the QR bit who is who.
	client, resolver := s.Client(), s.Server()
	if (dir == flow.ToServer) == m.response() {
		client, resolver = resolver, client
	}
	facts(s, resolver)
	if isMulticast(client, resolver) || m.opcode() != opQuery || s.Duplicate() && !m.response() {
		return // nobody has to answer, nobody asked for a name, or it was the capture point that asked again
	}
	if m.response() {
		a.response(s, d, client, uint64(len(b)), began, beganFrame)
	} else if m.questions > 0 {
		a.query(s, d, client, resolver, len(b), began, beganFrame)
	}
}

func facts(s *proto.Scope, resolver netip.AddrPort) {
	switch resolver.Port() {
	case portMDNS:
		s.App(nameMDNS)
	case portLLMNR:
		s.App(nameLLMNR)
	default:
		s.App(nameDNS)
	}
}

func (a *analyzer) query(s *proto.Scope, d *desk, client, resolver netip.AddrPort, size int, began int64, beganFrame uint64) {
	m := &d.reading
	if q := a.find(m); q != nil {
		if s.Now()-q.last < copied && a.stream == nil {
			return
		}
		q.times = min(q.times+1, 1<<15)
		q.last, q.lastSent = s.Now(), s.Frame()
		s.Report(Retransmission, finding.Text(q.name()), finding.Text(q.typeName()),
			finding.Num(q.times), seconds(q.last-q.first))
		d.publish(s, client, resolver, q)
		return
	}
	a.room(s)
	typ := typeName(m.qtype)
	d.label = append(append(append(d.label[:0], typ...), ' '), m.name()...)
	if a.queries == nil {
		a.queries = a.one[:0]
	}
	a.queries = append(a.queries, query{
		id: m.id, typ: m.qtype, times: 1, spelt: uint8(len(typ) & 0xff), label: s.Word(d.label),
		first: began, last: s.Now(), frame: beganFrame, lastSent: s.Frame(), bytes: uint32(size), //nolint:gosec // at most 64 KiB
	})
	d.publish(s, client, resolver, &a.queries[len(a.queries)-1])
}

// room makes place for one query: the oldest is forgotten.
func (a *analyzer) room(s *proto.Scope) {
	if len(a.queries) < maxQueries {
		return
	}
	a.forget(s, &a.queries[0], s.Now())
	a.queries = append(a.queries[:0], a.queries[1:]...)
}

// find returns the query that a message repeats or answers. Answers to
// malformed queries have no question: the id alone must do then.
func (a *analyzer) find(m *reading) *query {
	for i := len(a.queries) - 1; i >= 0; i-- {
		q := &a.queries[i]
		if q.id == m.id && (m.questions == 0 || q.typ == m.qtype && q.name() == string(m.name())) {
			return q
		}
	}
	return nil
}

func (a *analyzer) response(s *proto.Scope, d *desk, client netip.AddrPort, size uint64, began int64, beganFrame uint64) {
	m := &d.reading
	q := a.find(m)
	if q == nil {
		if len(a.queries) > 0 && a.stream == nil {
			s.Report(Unsolicited, finding.Text(s.Word(m.name())), finding.Text(typeName(m.qtype)))
			return
		}
		name := s.Word(m.name())
		judge(s, &m.message, name, 0, false)
		d.answered(s, client.Addr(), name, 0, 0)
		return
	}
	if q.answers++; q.answers > 1 {
		a.again(s, m, q)
		return
	}
	q.rcode, q.cut, q.digest, q.at = m.rcode, m.truncated(), m.digest, s.Now()
	if p := s.Packet(); p != nil {
		q.ttl = p.TTL
	}
	took := max(s.Now()-q.first, 0)
	judge(s, &m.message, q.name(), took, q.times > 1 && s.Now()-q.last < soon)
	q.addrs = d.answered(s, client.Addr(), q.name(), q.first, took)
	s.Exchange(&conn.Exchange{
		Protocol: s.Facts.App, Label: q.label, Code: rcodeName(m.rcode),
		Failed: failed(m.rcode), Complete: true,
		ReqStart: q.first, ReqEnd: q.first, ReqFrame: q.frame, ReqLast: q.frame, ReqBytes: uint64(q.bytes),
		RespStart: began, RespFrame: beganFrame, RespEnd: s.Now(), RespLast: s.Frame(), RespBytes: size,
	})
}

// answered publishes the addresses of an answer, and returns them.
func (d *desk) answered(s *proto.Scope, client netip.Addr, name string, start, waited int64) []netip.Addr {
	m := &d.reading
	if m.addrs == 0 {
		return nil
	}
	l := d.lookups.Next()
	*l = Lookup{Client: client, Name: name, Start: start, Waited: waited, Addrs: d.keep(m.addrBuf[:m.addrs])}
	s.Publish(l)
	return l.Addrs
}

// judge says what the code and the time of an answer mean by themselves.
func judge(s *proto.Scope, m *message, name string, took int64, repeated bool) {
	who, typ, response := finding.Text(name), finding.Text(typeName(m.qtype)), finding.Num(float64(took)/ms)
	switch m.rcode {
	case rcodeOK:
	case rcodeNXDomain:
		s.Report(NXDomain, who, typ, response)
	case rcodeServFail:
		s.Report(ServFail, who, typ, response)
	case rcodeRefused:
		s.Report(Refused, who, typ, response)
	default:
		s.Report(ErrorCode, who, typ, response, finding.Text(rcodeName(m.rcode)))
	}
	if took >= slow && !repeated {
		s.Report(SlowAnswer, who, typ, response, finding.Text(rcodeName(m.rcode)))
	}
	if m.truncated() {
		s.Report(Truncated, who, typ)
	}
}

// again looks at a further answer to the same query. A query that was sent
// twice may be answered twice, by a server that rotates addresses: only more
// answers than queries are somebody else's.
func (a *analyzer) again(s *proto.Scope, m *reading, q *query) {
	if a.stream != nil {
		return // a zone transfer answers one query with many messages (RFC 5936, 2.2)
	}
	if m.truncated() || q.cut || m.rcode == q.rcode && m.digest == q.digest {
		s.Report(DuplicateAnswer, finding.Text(q.name()), finding.Text(q.typeName()))
		return
	}
	if q.answers <= q.times {
		return
	}
	ttl := uint8(0)
	if p := s.Packet(); p != nil {
		ttl = p.TTL
	}
	s.Report(DifferentAnswers, finding.Text(q.name()), finding.Text(q.typeName()),
		finding.Text(describe(q.rcode, q.addrs)), finding.Text(describe(m.rcode, m.addrBuf[:m.addrs])), finding.Num(float64(s.Now()-q.at)/ms),
		finding.Num(q.ttl), finding.Num(ttl))
}

// forget ends a query: without an answer it is reported, if long enough passed
// to say so.
func (*analyzer) forget(s *proto.Scope, q *query, now int64) {
	if q.answers > 0 {
		return
	}
	// Who asked once waits 5 s (glibc's timeout) before giving up or asking
	// elsewhere; who asked again, about as long as between the tries.
	patience := int64(5 * second)
	if q.times > 1 {
		patience = (q.last - q.first) / int64(q.times-1)
	}
	waited := min(max(now-q.first, 0), q.last-q.first+patience)
	if waited < giveUp && q.times == 1 {
		return
	}
	at := *s // the proof is the query, not the frame at which its conversation was folded
	at.At, at.FrameNo = q.last, q.lastSent
	at.Report(NoAnswer, finding.Text(q.name()), finding.Text(q.typeName()), finding.Num(q.times), seconds(waited))
	at.Exchange(&conn.Exchange{
		Protocol: nameDNS, Label: q.label, Failed: true,
		ReqStart: q.first, ReqEnd: q.first, ReqFrame: q.frame, ReqLast: q.frame, ReqBytes: uint64(q.bytes),
	})
}

// describe writes an answer for the report: its addresses, or its code.
func describe(rcode uint16, addrs []netip.Addr) string {
	if rcode != rcodeOK {
		return rcodeName(rcode)
	}
	if len(addrs) == 0 {
		return "no address"
	}
	const enough = 4
	var b strings.Builder
	for i, a := range addrs[:min(len(addrs), enough)] {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.String())
	}
	if len(addrs) > enough {
		b.WriteString(" ...")
	}
	return b.String()
}

func failed(rcode uint16) bool { return rcode != rcodeOK && rcode != rcodeNXDomain }

func seconds(ns int64) finding.Value { return finding.Num(float64(ns) / second) }

func isMulticast(a, b netip.AddrPort) bool {
	return a.Port() == portMDNS || b.Port() == portMDNS || b.Port() == portLLMNR || a.Port() == portLLMNR ||
		a.Addr().IsMulticast() || b.Addr().IsMulticast()
}

// counted reports whether tshark takes the message for DNS: by port, and a datagram
// on another by its header. What a cut segment has it reads by itself: CodesOfCut.
func (a *analyzer) counted(s *proto.Scope, m *message, n int) bool {
	p := s.Packet()
	if a.stream != nil {
		return OnStreamPort(s.Client().Port(), s.Server().Port()) && (p == nil || p.PayloadLen <= p.End-p.Payload)
	}
	if p != nil {
		n = int(p.PayloadLen)
	}
	return OnPort(s.Client().Port(), s.Server().Port()) || n > headerLen && m.guessed() && !assigned.DNS.Taken(s.Server().Port(), s.Client().Port())
}

// snapped reports whether the frame was cut at capture: what is missing then is
// not the sender's fault.
func snapped(s *proto.Scope, n int) bool {
	p := s.Packet()
	return p != nil && int(p.PayloadLen) > n
}

// rcodeKey writes the four bits of the header as tshark's dns.flags.rcode does,
// without allocating.
func rcodeKey(code uint16) string {
	const digits = "0123456789101112131415"
	if code < 10 {
		return digits[code : code+1]
	}
	return digits[10+2*(code-10) : 12+2*(code-10)]
}
