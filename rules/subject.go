package rules

import (
	"net/netip"
	"slices"
	"sync"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// talk is a conversation as far as it is known: its summary, or what is left of
// one for which there was no room. Of the summary it has at hand what is asked most:
// summaries lie far apart, and each look at one waits for memory.
type talk struct {
	id             flow.ID
	sum            *conn.Summary
	brief          *conn.Brief
	client, server netip.AddrPort
	place          uint32 // among those of the findings, by protocol and number
	clientN        uint32 // numbers of the addresses, from 1
	serverN        uint32
}

// summary is the summary, or one that has what is known, in room.
func (t *talk) summary(room *conn.Summary) *conn.Summary {
	if t.sum != nil {
		return t.sum
	}
	b := t.brief
	*room = conn.Summary{
		ID: b.ID, Proto: b.Proto(), App: b.App, Established: b.Established, FailedExchanges: b.FailedExchanges,
		Client: conn.Side{Addr: b.Client, Packets: b.Packets, Bytes: b.Bytes}, Server: conn.Side{Addr: b.Server},
	}
	return room
}

// subject is what a rule is asked about: a conversation, a host or everything.
type subject struct {
	id       flow.ID     // connection scope
	addr     netip.Addr  // host scope
	brief    *conn.Brief // connection scope: the summary was forgotten
	findings []int       // indices into the input's, ascending
	conns    []*talk     // in the order of their numbers
	complete bool        // other scopes: conns are gathered

	first, last int      // its questions
	rules       []uint64 // bits of the rules that were asked
}

// asked reports whether a rule was asked about a subject before, and notes it.
func (j *judge) asked(r *Rule, s *subject) bool {
	const bits, atOnce = 64, 256
	if s.rules == nil {
		words := (j.total + bits - 1) / bits
		if len(j.bits) < words {
			j.bits = make([]uint64, atOnce*words)
		}
		s.rules, j.bits = j.bits[:words], j.bits[words:]
	}
	word, bit := &s.rules[r.number/bits], uint64(1)<<(r.number%bits)
	before := *word&bit != 0
	*word |= bit
	return before
}

func (s *subject) talk() *talk {
	if len(s.conns) == 0 {
		return nil
	}
	return s.conns[0]
}

// proving are the findings that prove a rule's cause.
func (s *subject) proving(r *Rule, in *Input) []int {
	n := 0
	proves := func(i int) bool {
		c := in.Findings[i].Code
		return slices.Contains(r.On, c) || slices.Contains(r.Explains, c)
	}
	for _, i := range s.findings {
		if proves(i) {
			n++
		}
	}
	if n == len(s.findings) {
		return s.findings[:n:n]
	}
	out := make([]int, 0, n)
	for _, i := range s.findings {
		if proves(i) {
			out = append(out, i)
		}
	}
	return out
}

// concerned are the conversations of findings, in the order of their numbers.
func (s *subjects) concerned(evidence []int) []*talk {
	places := make([]uint32, 0, len(evidence))
	for _, n := range evidence {
		if t := s.talkOf(n); t != nil {
			places = append(places, t.place)
		}
	}
	if len(places) == 0 {
		return nil
	}
	slices.Sort(places)
	places = slices.Compact(places)
	out := make([]*talk, len(places))
	for i, n := range places {
		out[i] = &s.talks[n]
	}
	return out
}

// worstOf is the conversation that lost most time; nil: no summary is known.
func worstOf(list []*talk) *conn.Summary {
	var worst *conn.Summary
	for _, t := range list {
		if t.sum != nil && (worst == nil || t.sum.Score > worst.Score) {
			worst = t.sum
		}
	}
	return worst
}

// subjects are what rules can be asked about.
type subjects struct {
	codes []int32           // of the findings: their numbers in the schema; -1: unknown
	flows []*subject        // of the findings: their conversations; nil: none
	hosts [sides][]*subject // of the findings: their hosts, by side; nil: no rule asks
	all   *subject
	talks []talk // by place
	ends  uint32 // addresses that they have
}

// gather sorts the findings to conversations, and to hosts and everything where a
// rule asks about these. Each way is its own goroutine's.
func (s *subjects) gather(set *Set, in *Input) {
	s.codes = set.numbers(in)
	s.conversations(in)
	ways := set.ways(s.codes)
	var beside sync.WaitGroup
	defer beside.Wait()
	for _, by := range ways.hosts {
		beside.Go(func() { s.hosts[by] = s.byHost(in, by) })
	}
	beside.Go(s.numberEnds)
	s.all = &subject{first: -1}
	if !ways.all {
		return
	}
	s.all.findings = make([]int, 0, len(in.Findings))
	for i, n := range s.codes {
		if n >= 0 {
			s.all.findings = append(s.all.findings, i)
		}
	}
}

// conversations makes those of the findings subjects, in the order of their numbers.
func (s *subjects) conversations(in *Input) {
	order := make([]hosts.Rank, 0, len(in.Findings))
	for i, n := range s.codes {
		if id := in.Findings[i].Flow; n >= 0 && id.Valid() {
			order = append(order, hosts.Rank{Key: id.Key(), At: uint32(i)})
		}
	}
	order = hosts.Ordered(order)
	n := 0
	for i := range order {
		if i == 0 || order[i].Key != order[i-1].Key {
			n++
		}
	}
	subs, findings := make([]subject, 0, n), make([]int, len(order))
	s.flows, s.talks = make([]*subject, len(in.Findings)), make([]talk, n)
	for i, r := range order {
		findings[i] = int(r.At)
		if i == 0 || r.Key != order[i-1].Key {
			subs = append(subs, subject{id: in.Findings[r.At].Flow, first: -1, findings: findings[i:i]})
		}
		sub := &subs[len(subs)-1]
		sub.findings = sub.findings[:len(sub.findings)+1]
		s.flows[r.At] = sub
	}
	conns := make([]*talk, n)
	know := func(from, to int) {
		for i := from; i < to; i++ {
			s.talks[i].place = uint32(i) //nolint:gosec // of a bounded list
			conns[i] = &s.talks[i]
			if subs[i].know(in, conns[i]) {
				subs[i].conns = conns[i : i+1 : i+1]
			}
		}
	}
	var beside sync.WaitGroup
	if n >= worthWorkers {
		beside.Go(func() { know(0, n/2) })
		know(n/2, n)
	} else {
		know(0, n)
	}
	beside.Wait()
}

// know looks up what is known of a conversation; false: nothing.
func (s *subject) know(in *Input, t *talk) bool {
	t.id = s.id
	if c := in.Connection(s.id); c != nil {
		t.sum, t.client, t.server = c, c.Client.Addr, c.Server.Addr
		return true
	}
	if in.Forgotten == nil {
		return false
	}
	b, forgotten := in.Forgotten(s.id)
	if !forgotten {
		return false
	}
	s.brief = &b
	t.brief, t.client, t.server = s.brief, b.Client, b.Server
	return b.Server.IsValid()
}

// byHost makes the hosts subjects that findings have on one side.
func (s *subjects) byHost(in *Input, by Side) []*subject {
	var known hosts.Table[uint32]
	var seeds hosts.Numbers
	numbers := make([]uint32, len(in.Findings)) // of the findings: their hosts
	var addrs []netip.Addr
	var counts []int
	total := 0
	for i, n := range s.codes {
		if n < 0 {
			continue
		}
		a := hostOf(&in.Findings[i], s.talkOf(i), by)
		if !a.IsValid() {
			continue
		}
		host := known.At(seeds.With(1, a))
		if *host == 0 {
			addrs, counts = append(addrs, a), append(counts, 0)
			*host = uint32(len(addrs)) //nolint:gosec // of a bounded list
		}
		numbers[i] = *host
		counts[*host-1]++
		total++
	}
	subs, room := make([]subject, len(addrs)), make([]int, total)
	for n := range subs {
		subs[n] = subject{addr: addrs[n], first: -1, findings: room[:0:counts[n]]}
		room = room[counts[n]:]
	}
	of := make([]*subject, len(in.Findings))
	for i, n := range numbers {
		if n > 0 {
			sub := &subs[n-1]
			sub.findings = append(sub.findings, i)
			of[i] = sub
		}
	}
	return of
}

// numberEnds numbers the addresses of the conversations.
func (s *subjects) numberEnds() {
	var known hosts.Table[uint32]
	var seeds hosts.Numbers
	number := func(a netip.Addr) uint32 {
		n := known.At(seeds.With(1, a))
		if *n == 0 {
			s.ends++
			*n = s.ends
		}
		return *n
	}
	for i := range s.talks {
		t := &s.talks[i]
		t.clientN, t.serverN = number(t.client.Addr()), number(t.server.Addr())
	}
}

// talkOf is the conversation of a finding; nil: none is known.
func (s *subjects) talkOf(i int) *talk {
	if sub := s.flows[i]; sub != nil {
		return sub.talk()
	}
	return nil
}

// numbers are the places of the findings' codes in the schema; -1: it has none.
func (s *Set) numbers(in *Input) []int32 {
	out := make([]int32, len(in.Findings))
	for i := range in.Findings {
		out[i] = -1
		if n, known := s.schema.number[in.Findings[i].Code]; known {
			out[i] = int32(n) //nolint:gosec // some hundred codes
		}
	}
	return out
}

// ways are how findings have to be gathered besides by conversations.
type ways struct {
	hosts []Side
	all   bool
}

// ways tells which of them the rules ask for that the findings wake.
func (s *Set) ways(codes []int32) ways {
	var w ways
	seen := make([]bool, len(s.schema.codes))
	for _, n := range codes {
		if n < 0 || seen[n] {
			continue
		}
		seen[n] = true
		for _, r := range s.wakes[n] {
			switch {
			case r.Scope == Capture:
				w.all = true
			case r.Scope == Host && !slices.Contains(w.hosts, r.By):
				w.hosts = append(w.hosts, r.By)
			}
		}
	}
	return w
}

// forgotten reports whether a finding is of a conversation whose story is lost.
func (h *hit) forgotten() bool { return h.sub.brief != nil }
