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

// thin counts a finding of a code that was added, and makes room for more.
func (c *collector) thin(code finding.Code) {
	c.same[code]++
	if c.same[code] >= 2*MaxSame {
		c.full[code] = c.leave(MaxSame, compareFindings, func(f *finding.Finding) bool { return f.Code == code && f.Flow.Valid() })
		c.same[code] = MaxSame
	}
	if len(c.res.Findings) >= 2*MaxFindings {
		_ = c.leave(MaxFindings, gravestFirst, func(f *finding.Finding) bool { return f.Flow.Valid() })
		clear(c.same)
		for i := range c.res.Findings {
			c.same[c.res.Findings[i].Code]++
		}
	}
}

// late reports whether a finding comes behind all that will be kept of its code;
// never in a live run.
func (c *collector) late(f *finding.Finding) bool {
	last, full := c.full[f.Code]
	return full && f.Flow.Valid() && f.Evidence.First > last
}

// leave keeps the first findings of some, in an order, forgets the rest, and returns
// the first frame of the last one that it kept.
func (c *collector) leave(most int, order func(a, b *finding.Finding) int, of func(*finding.Finding) bool) (last uint64) {
	var some []int
	for i := range c.res.Findings {
		if of(&c.res.Findings[i]) {
			some = append(some, i)
		}
	}
	if len(some) <= most {
		return math.MaxUint64
	}
	slices.SortFunc(some, func(a, b int) int { return order(&c.res.Findings[a], &c.res.Findings[b]) })
	c.res.Shed += uint64(len(some) - most)
	last = c.res.Findings[some[most-1]].Evidence.First
	c.drop(some[most:])
	return last
}

// drop forgets findings by their places.
func (c *collector) drop(places []int) {
	gone := make([]bool, len(c.res.Findings))
	for _, i := range places {
		gone[i] = true
	}
	at := make([]int, len(gone)) // old place to new
	kept := c.res.Findings[:0]
	for i := range c.res.Findings {
		at[i] = len(kept)
		if !gone[i] {
			kept = append(kept, c.res.Findings[i])
		}
	}
	clear(c.res.Findings[len(kept):])
	c.res.Findings = kept
	for key, i := range c.finds {
		if gone[i] {
			delete(c.finds, key)
		} else {
			c.finds[key] = at[i]
		}
	}
}

// forgetOldest makes room for new findings: in a run of months what ended first
// has been told long ago. What is worse stays longer.
func (c *collector) forgetOldest() {
	const part = 4
	order := make([]int, len(c.res.Findings))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &c.res.Findings[a], &c.res.Findings[b]
		return cmp.Or(cmp.Compare(min(x.Severity, finding.Warning), min(y.Severity, finding.Warning)), cmp.Compare(x.Evidence.End, y.Evidence.End), cmp.Compare(a, b))
	})
	c.drop(order[:len(order)/part])
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
