package analyze

import (
	"testing"

	"netwhy/analyze/correlate"
	"netwhy/analyze/proto"
)

// Who has an Event is a Listener, and is called for what it hears and for nothing else.
func TestListeners(t *testing.T) {
	c := newCollector(Options{MaxSummaries: 1}, newPipeline(Options{Workers: 1}, newKeyLog()), nil)
	all, bodies := 0, []any{&proto.Event{}} // a body that nobody knows
	for _, k := range c.corr {
		if _, ok := k.(interface {
			Event(*correlate.Out, *proto.Event)
		}); ok {
			all++
		}
	}
	if len(c.listen) != all || all == 0 {
		t.Fatalf("%d listeners of %d", len(c.listen), all)
	}
	always := 0
	for _, l := range c.listen {
		if len(l.Hears()) == 0 {
			always++
		}
		bodies = append(bodies, l.Hears()...)
	}
	for range 2 { // when a type is met, and later
		told := map[correlate.Listener]int{}
		for _, b := range bodies {
			for _, l := range c.listeners(b) {
				told[l]++
			}
		}
		if n := len(c.listeners(bodies[0])); n != always || len(told) != all {
			t.Errorf("%d hear anything, want %d; %d hear something, want %d", n, always, len(told), all)
		}
	}
}
