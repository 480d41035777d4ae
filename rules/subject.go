package rules

import (
	"cmp"
	"net/netip"
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// talk is a conversation as far as it is known: its summary, or what is left of
// one for which there was no room.
type talk struct {
	sum   *conn.Summary
	brief *conn.Brief
}

func (t talk) id() flow.ID {
	if t.sum != nil {
		return t.sum.ID
	}
	return t.brief.ID
}

func (t talk) client() netip.AddrPort {
	if t.sum != nil {
		return t.sum.Client.Addr
	}
	return t.brief.Client
}

func (t talk) server() netip.AddrPort {
	if t.sum != nil {
		return t.sum.Server.Addr
	}
	return t.brief.Server
}

// summary is the summary, or one that has what is known, in room.
func (t talk) summary(room *conn.Summary) *conn.Summary {
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
	conns    []talk
	own      [1]talk // connection scope: conns
	one      [1]int  // findings, while there is one
	sorted   bool

	first, last int      // its questions
	rules       []uint64 // bits of the rules that were asked
}

// asked reports whether a rule was asked about the subject before, and notes it.
func (s *subject) asked(r *Rule, of int) bool {
	const bits = 64
	if s.rules == nil {
		s.rules = make([]uint64, (of+bits-1)/bits)
	}
	word, bit := &s.rules[r.number/bits], uint64(1)<<(r.number%bits)
	before := *word&bit != 0
	*word |= bit
	return before
}

func (s *subject) talk() talk {
	if len(s.conns) == 0 {
		return talk{}
	}
	return s.conns[0]
}

func (s *subject) add(i int, t talk) {
	s.findings = append(s.findings, i)
	if t != (talk{}) && (len(s.conns) == 0 || s.conns[len(s.conns)-1] != t) {
		s.conns = append(s.conns, t)
	}
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

// unique leaves each conversation once, in the order of their numbers.
func (s *subject) unique() {
	if !s.sorted {
		s.conns, s.sorted = ordered(s.conns), true
	}
}

// concerned are the conversations of findings, in the order of their numbers.
func (s *subjects) concerned(evidence []int) []talk {
	var out []talk
	for _, n := range evidence {
		if t := s.talkOf(n); t != (talk{}) {
			out = append(out, t)
		}
	}
	return ordered(out)
}

// ordered leaves each conversation once, in the order of their numbers.
func ordered(list []talk) []talk {
	slices.SortFunc(list, func(a, b talk) int { return compareIDs(a.id(), b.id()) })
	return slices.CompactFunc(list, func(a, b talk) bool { return a.id() == b.id() })
}

func compareIDs(a, b flow.ID) int {
	return cmp.Or(cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Stream, b.Stream))
}

// worstOf is the conversation that lost most time; nil: no summary is known.
func worstOf(list []talk) *conn.Summary {
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
	codes  []int32    // of the findings: their numbers in the schema; -1: unknown
	flows  []*subject // of the findings: their conversations; nil: none
	seeds  hosts.Numbers
	byHost hosts.Table[*subject] // by side and address
	all    *subject
	spare  []subject
}

// gather sorts the findings to conversations, and to hosts and everything where a
// rule asks about these.
func (s *subjects) gather(set *Set, in *Input) {
	var byFlow hosts.Table[*subject]
	s.all = &subject{first: -1}
	s.flows = make([]*subject, len(in.Findings))
	s.codes = set.numbers(in)
	ways := set.ways(s.codes)
	if ways.all {
		s.all.findings = make([]int, 0, len(in.Findings))
	}
	for i := range in.Findings {
		f := &in.Findings[i]
		if s.codes[i] < 0 {
			continue
		}
		var t talk
		if f.Flow.Valid() {
			sub := byFlow.At(f.Flow.Key())
			if *sub == nil {
				*sub = s.newSubject(f.Flow, in)
			}
			(*sub).findings = append((*sub).findings, i)
			s.flows[i] = *sub
			t = (*sub).talk()
		}
		if ways.all {
			s.all.add(i, t)
		}
		for _, by := range ways.hosts {
			if a := hostOf(f, t, by); a.IsValid() {
				sub := s.byHost.At(s.hostKey(by, a))
				if *sub == nil {
					*sub = &subject{addr: a, first: -1}
				}
				(*sub).add(i, t)
			}
		}
	}
}

// hostKey is the key of a host as one side sees it.
func (s *subjects) hostKey(by Side, a netip.Addr) uint64 { return s.seeds.With(uint64(by)+1, a) }

// talkOf is the conversation of a finding.
func (s *subjects) talkOf(i int) talk {
	if sub := s.flows[i]; sub != nil {
		return sub.talk()
	}
	return talk{}
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

// newSubject is a conversation as a subject.
func (s *subjects) newSubject(id flow.ID, in *Input) *subject {
	const atOnce = 64
	if len(s.spare) == 0 {
		s.spare = make([]subject, atOnce)
	}
	sub := &s.spare[0]
	s.spare = s.spare[1:]
	sub.id, sub.first = id, -1
	sub.findings = sub.one[:0]
	if c := in.Connection(id); c != nil {
		sub.own[0].sum = c
		sub.conns = sub.own[:]
		return sub
	}
	if in.Forgotten == nil {
		return sub
	}
	if b, forgotten := in.Forgotten(id); forgotten {
		sub.brief = &b
		if b.Server.IsValid() {
			sub.own[0].brief = sub.brief
			sub.conns = sub.own[:]
		}
	}
	return sub
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
