package analyze

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
)

// said is what was found of one conversation so far.
type said struct {
	findings uint32
	gravest  finding.Severity
}

// keeper keeps the summaries of the conversations that matter, up to a number:
// those with the gravest findings first, of the others the costliest and largest.
// Of one with findings whose summary it has no place for it keeps in short what
// judging the findings takes: a summary has a kilobyte, that has a tenth.
type keeper struct {
	most  int
	live  bool // of those with findings the latest are kept, not the costliest
	slab  hosts.List[conn.Summary]
	keys  []uint64 // by place in the slab: flow.ID.Key
	rest  weights
	brief hosts.List[conn.Brief]
	seq   uint64
}

func newKeeper(most int) *keeper { return &keeper{most: most} }

// maxBriefs bounds the conversations kept in short: each finding has one at most.
const maxBriefs = MaxFindings

type weighed struct {
	score, bytes uint64
	seq          uint64
	at           uint32 // place in the slab
	rank         uint8  // 0: without findings; else the gravest one's severity, from 1
}

// weights is a heap with the least weight first, once there are as many as may be. Each
// has four below it, which lie side by side: half as many steps into memory as with two.
type weights []weighed

// below is how many weights each has below it.
const below = 4

// sink puts the weight at i in its place among those below it.
func (w weights) sink(i int) {
	at := w[i]
	for {
		first := below*i + 1
		if first >= len(w) {
			break
		}
		least := first
		for child := first + 1; child < min(first+below, len(w)); child++ {
			if w[child].less(&w[least]) {
				least = child
			}
		}
		if !w[least].less(&at) {
			break
		}
		w[i] = w[least]
		i = least
	}
	w[i] = at
}

func (a *weighed) less(b *weighed) bool {
	switch { // cmp.Or would compare all four each time
	case a.rank != b.rank:
		return a.rank < b.rank
	case a.score != b.score:
		return a.score < b.score
	case a.bytes != b.bytes:
		return a.bytes < b.bytes
	default:
		return a.seq > b.seq
	}
}

func (k *keeper) add(s *conn.Summary, of said) {
	k.seq++
	w := weighed{score: uint64(max(s.Score, 0)), bytes: s.Client.WireBytes + s.Server.WireBytes, seq: k.seq, at: uint32(len(k.rest))}
	if of.findings > 0 { // rules will ask for it
		w.rank = uint8(of.gravest) + 1
		if k.live {
			w.rank, w.score = 1, k.seq
		}
	}
	if len(k.rest) < k.most {
		k.slab.Add(s)
		k.keys = append(k.keys, s.ID.Key())
		k.rest = append(k.rest, w)
		if len(k.rest) == k.most {
			for i := k.most / below; i >= 0; i-- {
				k.rest.sink(i)
			}
		}
		return
	}
	least := &k.rest[0]
	if !least.less(&w) {
		k.shorten(s, w.rank)
		return
	}
	w.at = least.at
	k.shorten(k.at(w.at), least.rank)
	*k.at(w.at), k.keys[w.at] = *s, s.ID.Key()
	*least = w
	k.rest.sink(0)
}

func (k *keeper) at(place uint32) *conn.Summary { return k.slab.At(int(place)) }

// shorten keeps a conversation with findings in short. Of a live run the latest
// are kept, as of its findings.
func (k *keeper) shorten(s *conn.Summary, rank uint8) {
	if rank == 0 {
		return
	}
	if n := k.brief.Len(); n >= maxBriefs || k.live && n >= maxLiveFindings {
		if !k.live {
			return
		}
		for i := n / 2; i < n; i++ {
			*k.brief.At(i - n/2) = *k.brief.At(i)
		}
		k.brief.Cut(n - n/2)
	}
	b := s.Brief()
	k.brief.Add(&b)
}

// full reports whether a conversation was ever left out.
func (k *keeper) full() bool { return k.seq > uint64(len(k.rest)) }

// list returns what was kept, by protocol and number, and what was kept in short.
// Only in a live run are they given their community_id, which costs a hash: of a file
// the report names few of those that are kept.
func (k *keeper) list() (all []*conn.Summary, ids []uint64, brief []conn.Brief) {
	same := func(_, _ int) int { return 0 }
	order := ranked(len(k.rest), func(i int) uint64 { return k.keys[i] }, same)
	all, ids = make([]*conn.Summary, len(order)), make([]uint64, len(order))
	var own []conn.Summary
	if k.live { // the places will be taken by others
		own = make([]conn.Summary, len(all))
	}
	for i, r := range order {
		s := k.at(r.At)
		if k.live {
			if s.CommunityID == "" {
				s.CommunityID = flow.CommunityID(s.ID.Proto, s.Client.Addr, s.Server.Addr)
			}
			own[i] = *s
			s = &own[i]
		}
		all[i], ids[i] = s, r.Key
	}
	brief = make([]conn.Brief, k.brief.Len())
	for i, r := range ranked(len(brief), func(i int) uint64 { return k.brief.At(i).ID.Key() }, same) {
		brief[i] = *k.brief.At(int(r.At))
	}
	return all, ids, brief
}

func byID(a, b *conn.Summary) int { return compareIDs(a.ID, b.ID) }
