package analyze

import (
	"cmp"
	"math"
	"slices"

	"netwhy/analyze/finding"
)

// MaxFindings bounds the findings of a result, and MaxSame those of one code, so
// that a flood of one kind leaves room for the others. The first of a code and the
// gravest of all are kept, whoever comes first to the collector; what is left out
// is counted. Until the end there may be twice as many.
const (
	MaxFindings = 200_000
	MaxSame     = 1 << 14
)

// maxLiveFindings bounds those of a live run, where the oldest make room.
const maxLiveFindings = 10_000

// gravestFirst orders findings for the bound of all.
func gravestFirst(a, b *finding.Finding) int {
	return cmp.Or(cmp.Compare(b.Severity, a.Severity), compareFindings(a, b))
}

// kind is what is known of the findings of one code.
type kind struct {
	number uint64
	n      int    // of them
	full   bool   // there were too many
	last   uint64 // then: first frame of the last one that is kept
}

func (c *collector) kind(code finding.Code) *kind {
	k := c.codes[code]
	if k == nil {
		k = &kind{number: uint64(len(c.codes))}
		c.codes[code] = k
	}
	return k
}

// findKey is the key of what one lane, or the correlators (-1), have to say of a
// conversation or host. Several lanes have their own versions of a host's finding,
// which are put together in the end; correlators tell several of one host and code,
// apart by their first frame.
func (c *collector) findKey(lane int, of *kind, f *finding.Finding) uint64 {
	var first uint64
	if lane < 0 {
		first = f.Evidence.First
	}
	key := c.hosts.Mix(f.Flow.Key()|of.number<<40, first<<16|uint64(lane+1))
	if f.Host.IsValid() {
		key = c.hosts.With(key, f.Host)
	}
	return key
}

// thin counts a finding of a code that was added, and makes room for more.
func (c *collector) thin(code finding.Code, of *kind) {
	of.n++
	if of.n >= 2*MaxSame {
		of.last = c.leave(MaxSame, compareFindings, func(f *finding.Finding) bool { return f.Code == code && f.Flow.Valid() })
		of.n, of.full = MaxSame, true
	}
	if c.finds.Len() >= 2*MaxFindings {
		_ = c.leave(MaxFindings, gravestFirst, func(f *finding.Finding) bool { return f.Flow.Valid() })
		for _, k := range c.codes {
			k.n = 0
		}
		for i := range c.finds.Len() {
			c.codes[c.finds.At(i).Code].n++
		}
	}
}

// late reports whether a finding comes behind all that will be kept of its code;
// never in a live run.
func (k *kind) late(f *finding.Finding) bool {
	return k.full && f.Flow.Valid() && f.Evidence.First > k.last
}

// leave keeps the first findings of some, in an order, forgets the rest, and returns
// the first frame of the last one that it kept.
func (c *collector) leave(most int, order func(a, b *finding.Finding) int, of func(*finding.Finding) bool) (last uint64) {
	var some []int
	for i := range c.finds.Len() {
		if of(c.finds.At(i)) {
			some = append(some, i)
		}
	}
	if len(some) <= most {
		return math.MaxUint64
	}
	slices.SortFunc(some, func(a, b int) int { return order(c.finds.At(a), c.finds.At(b)) })
	c.res.Shed += uint64(len(some) - most)
	last = c.finds.At(some[most-1]).Evidence.First
	c.finds.drop(some[most:])
	return last
}

// forgetOldest makes room for new findings: in a run of months what ended first
// has been told long ago. What is worse stays longer.
func (c *collector) forgetOldest() {
	const part = 4
	order := make([]int, c.finds.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := c.finds.At(a), c.finds.At(b)
		return cmp.Or(cmp.Compare(min(x.Severity, finding.Warning), min(y.Severity, finding.Warning)), cmp.Compare(x.Evidence.End, y.Evidence.End), cmp.Compare(a, b))
	})
	c.finds.drop(order[:len(order)/part])
}

// bounded leaves of findings in their order as many as a result may have, and tells
// how many it left out.
func bounded(all []finding.Finding) (kept []finding.Finding, out uint64) {
	same := map[finding.Code]int{}
	kept = all[:0]
	for i := range all {
		if same[all[i].Code]++; same[all[i].Code] <= MaxSame {
			kept = append(kept, all[i])
		}
	}
	if len(kept) > MaxFindings {
		slices.SortFunc(kept, func(a, b finding.Finding) int { return gravestFirst(&a, &b) })
		kept = kept[:MaxFindings]
		slices.SortFunc(kept, func(a, b finding.Finding) int { return compareFindings(&a, &b) })
	}
	out = uint64(len(all) - len(kept))
	clear(all[len(kept):])
	return kept, out
}
