package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
)

func TestWentOn(t *testing.T) {
	t.Parallel()
	const ms = 1_000_000
	client := netip.MustParseAddrPort("192.0.2.1:5000")
	resolver, server := netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("198.51.100.7:443")
	for _, x := range []struct {
		what               string
		answered           bool
		to                 netip.AddrPort
		after              int64 // ms
		lookups, connected float64
	}{
		{"connects at once", false, server, 30, 5, 5},
		{"connects after the answer", true, server, 30, 0, 0},
		{"connects much later", false, server, 600, 0, 0},
		{"asks again", false, resolver, 30, 0, 0},
	} {
		var lookups, connected float64
		o, c := &Out{Hosts: &hosts.Numbers{}, Emit: func(f finding.Finding) {
			lookups, connected = f.Values[0].Num, f.Values[1].Num
		}}, Resolved().New()
		for n := range int64(5) {
			at := (1 + n) * 1000 * ms
			for _, typ := range []string{"A", "AAAA"} {
				c.(Listener).Event(o, &proto.Event{Time: at, Body: &dns.Asked{Client: client, Resolver: resolver.Addr(), Name: "x.test", Type: typ}})
			}
			if x.answered {
				c.(Listener).Event(o, &proto.Event{Time: at + ms, Body: &dns.Lookup{Client: client.Addr(), Name: "x.test"}})
			}
			c.(Greeter).Opened(o, &Opened{Time: at + x.after*ms, Client: client, Server: x.to})
		}
		c.End(o)
		if lookups != x.lookups || connected != x.connected {
			t.Errorf("%s: %v of %v, want %v of %v", x.what, connected, lookups, x.connected, x.lookups)
		}
	}
}
