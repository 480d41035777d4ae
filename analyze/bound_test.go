package analyze

import (
	"slices"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// TestBoundIsFair: a flood of one kind leaves room for others, and what is kept of
// it does not depend on the order in which the lanes tell.
func TestBoundIsFair(t *testing.T) {
	t.Parallel()
	const flood = 3 * MaxSame
	result := func(order []int) *Result {
		opt := Options{Workers: 1}
		c := newCollector(opt, newPipeline(opt, nil), nil)
		for _, i := range order {
			f := finding.Finding{Code: "tcp.refused", Flow: flow.ID{Proto: flow.TCP, Stream: uint32(i)}}
			if i == flood-1 {
				f.Code = "tcp.reset"
			}
			f.Evidence.Add(uint64(i)+1, int64(i))
			c.find(0, f)
		}
		return c.result()
	}
	order := make([]int, flood)
	for i := range order {
		order[i] = i
	}
	r := result(order)
	slices.Reverse(order)
	back := result(order)
	if len(r.Findings) != MaxSame+1 || r.Shed != flood-MaxSame-1 {
		t.Fatalf("%d findings kept, %d left out", len(r.Findings), r.Shed)
	}
	if r.Findings[MaxSame].Code != "tcp.reset" {
		t.Error("the flood took the place of another finding")
	}
	if back.Shed != r.Shed || !slices.EqualFunc(r.Findings, back.Findings, func(a, b finding.Finding) bool { return compareFindings(&a, &b) == 0 }) {
		t.Error("what is kept depends on the order")
	}
}
