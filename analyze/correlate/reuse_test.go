package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto/http"
)

func TestReuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what      string
		n         int
		handshake int64
		exchanges uint32
		closes    string
		found     bool
	}{
		{"one request each", 12, second / 10, 1, "server", true},
		{"few", 9, second, 1, "server", false},
		{"in no time", 12, second / 1000, 1, "client", false},
		{"used again", 12, second / 10, 5, "server", false},
		{"nobody wanted them closed", 12, second / 10, 1, "", false},
	} {
		var found []finding.Finding
		r, o := Reuse().New(), &Out{Emit: func(f finding.Finding) { found = append(found, f) }}
		for i := range c.n {
			s := &conn.Summary{
				ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, App: "http", First: uint64(10*i + 1), Start: int64(i) * second,
				Handshake: c.handshake, Exchanges: c.exchanges, Attr: map[string]string{},
			}
			if c.closes != "" {
				s.Attr[http.Closes] = c.closes
			}
			s.Client.Addr, s.Server.Addr = netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("198.51.100.1:80")
			r.(Reader).Conn(o, &Folded{Summary: s, From: 1, To: 2})
		}
		r.End(o)
		if len(found) > 0 != c.found {
			t.Errorf("%s: found %v", c.what, found)
		}
		if c.found && (len(found) > 2 || found[len(found)-1].Values[1].Num != 12 || found[len(found)-1].Values[3].Num != 12 || found[len(found)-1].Evidence.Count != 12) {
			t.Errorf("%s: %+v", c.what, found[0])
		}
	}
}
