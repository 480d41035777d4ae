package correlate

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
	"netwhy/analyze/proto/http"
)

// play gives events a second apart and returns what was found.
func play(spec Spec, bodies ...any) (found []finding.Finding) {
	c, ok := spec.New().(Listener)
	if !ok {
		return nil
	}
	o := &Out{Hosts: &hosts.Numbers{}, Emit: func(f finding.Finding) { found = append(found, f) }}
	for i, b := range bodies {
		c.Event(o, &proto.Event{Frame: uint64(i + 1), Time: int64(i+1) * second, Body: b})
	}
	c.End(o)
	return found
}

func TestRedirectLoops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		path string // URLs in the order of redirections; a blank begins a new request
		want string // redirects/urls/repeats of a loop
	}{
		{"two that lead to each other", "a b a b a b", "5/2/3"},
		{"to itself, cookie set", "a a", ""},
		{"to HTTPS and a slash", "http://x/a https://x/a https://x/a/", ""},
		{"to itself again", "a a a", "2/1/1"},
		{"login and back", "a login a", "chain of 2"},
		{"three in a row", "a b c d", "chain of 3"},
		{"the same page asked for anew", "a b, a b, a b, a b", ""},
		{"a new URL each time", "a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11", "10/10/0"},
		{"sent to HTTPS and back", "http://x/ https://x/, http://x/ https://x/, http://x/ https://x/, http://x/ https://x/, http://x/ https://x/", "5/1/4"},
		{"sent to HTTPS three times", "http://x/ https://x/, http://x/ https://x/, http://x/ https://x/", ""},
		{"circle of three", "a b c a b c a b", "7/3/4"},
	} {
		var events []any
		for walk := range strings.SplitSeq(c.path, ",") {
			urls := strings.Fields(walk)
			for i := range len(urls) - 1 {
				events = append(events, &http.Redirect{
					Client: netip.MustParseAddrPort(fmt.Sprintf("192.0.2.1:%d", 1000+i)), Status: 302, From: urls[i], To: urls[i+1],
				})
			}
		}
		var found []string
		for _, f := range play(Redirects(), events...) {
			if f.Code == RedirectChain {
				found = append(found, fmt.Sprintf("chain of %g", f.Values[0].Num))
				continue
			}
			found = append(found, fmt.Sprintf("%g/%g/%g", f.Values[0].Num, f.Values[1].Num, f.Values[2].Num))
		}
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

func TestTunnels(t *testing.T) {
	t.Parallel()
	ask := func(format, typ string, n int) (out []any) {
		for i := range n {
			out = append(out, &dns.Asked{Client: netip.MustParseAddrPort("192.0.2.1:5000"), Name: fmt.Sprintf(format, i), Type: typ})
		}
		return out
	}
	for _, c := range []struct {
		what   string
		events []any
		domain string
	}{
		{"long names, each once", ask("%032x.data.pirate.sea", "TXT", 40), "pirate.sea"},
		{"under a registry's domain", ask("%032x.x.co.uk", "NULL", 40), "x.co.uk"},
		{"short names", ask("host%d.corp.test", "A", 100), ""},
		{"reverse lookups", ask("%032d.0.0.0.0.ip6.arpa", "PTR", 100), ""},
		{"one long name again and again", ask("a-very-long-name-that-is-asked-for-often.corp.test%.0d", "A", 100), ""},
		{"few", ask("%032x.pirate.sea", "TXT", 10), ""},
	} {
		var found []string
		for _, f := range play(Tunnels(), c.events...) {
			found = append(found, f.Values[0].Text)
		}
		if got := strings.Join(found, " "); got != c.domain {
			t.Errorf("%s: got %q, want %q", c.what, got, c.domain)
		}
	}
}

func TestSplitDomain(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"a.b.example.com": {"a.b", "example.com"}, "www.x.co.uk": {"www", "x.co.uk"}, "example.com": {"", "example.com"},
		"com": {"", "com"}, "": {"", ""}, ".": {"", "."}, "a.t.co": {"", "a.t.co"}, "b.a.t.co": {"b", "a.t.co"},
	} {
		if h, b := splitDomain(name); h != want[0] || name != "." && b != want[1] {
			t.Errorf("%q: got %q and %q, want %q", name, h, b, want)
		}
	}
}
