package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
)

func TestErrorFlood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		n       int
		gap     int64
		ttl     uint8
		kind    uint8
		unasked float64 // -1: nothing is told
	}{
		{"limited to ten a second", 100, second / 10, 0, unreachable4, -1},
		{"about packets that were not seen", 300, second / 200, 0, unreachable4, 1},
		{"about packets that were", 300, second / 200, 64, exceeded4, 0},
		{"redirects", 300, second / 200, 0, redirect4, -1},
	} {
		got, n := -1.0, 0
		r, o := ICMPErrors().New(), &Out{Hosts: &hosts.Numbers{}, Emit: func(f finding.Finding) {
			if f.Code == ErrorFlood {
				got, n = f.Values[4].Num, int(f.Evidence.Count)
			}
		}}
		for i := range c.n {
			r.(Listener).Event(o, &proto.Event{Frame: uint64(i + 1), Time: second + int64(i)*c.gap, Body: &ICMPError{
				From: netip.MustParseAddr("203.0.113.1"), To: netip.MustParseAddr("192.0.2.9"), Type: c.kind, Code: 1, SentTTL: c.ttl,
				Quoted: flow.Key{Proto: flow.UDP, PortB: uint16(i)},
			}})
		}
		r.End(o)
		if got != c.unasked || c.unasked >= 0 && n != 200 {
			t.Errorf("%s: share %g of %d, want %g", c.what, got, n, c.unasked)
		}
	}
}
