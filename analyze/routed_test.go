package analyze_test

import (
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/correlate"
)

// TestBothSidesOfRouter tells packets that were captured before and behind a router from
// those that go in a circle.
func TestBothSidesOfRouter(t *testing.T) {
	t.Parallel()
	hop := func(n, ttl byte) []byte {
		p := ipv4(client, server, 17, udp(5000, 6000, []byte{n, 1, 2, 3}))
		p[5], p[8] = n, ttl
		return p
	}
	var routed, circling [][]byte
	for n := range byte(20) {
		routed = append(routed, hop(n, 64), hop(n, 63))
		circling = append(circling, hop(1, 64-n))
	}
	for name, x := range map[string]struct {
		packets [][]byte
		want    bool
	}{"routed": {routed, false}, "circling": {circling, true}} {
		r, got := run(t, paced(t, 1, x.packets), analyze.Options{Workers: 1}), false
		for i := range r.Findings {
			got = got || r.Findings[i].Code == correlate.RoutingLoop
		}
		if got != x.want {
			t.Errorf("%s: a loop: %v", name, got)
		}
	}
}
