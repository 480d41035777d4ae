package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

func TestScaling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what           string
		client, server int8
		handshake      int64
		found          bool
	}{
		{"refused", 7, -1, second / 100, true},
		{"agreed", 7, 0, second / 100, false},
		{"not asked for", -1, -1, second / 100, false},
		{"no handshake in the capture", 7, -1, 0, false},
	} {
		var found []finding.Finding
		r, o := Scaling().New(), &Out{Emit: func(f finding.Finding) { found = append(found, f) }}
		for i := range 3 {
			s := &conn.Summary{ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, First: uint64(10*i + 1), Start: int64(i) * second, Handshake: c.handshake}
			s.Client.Addr, s.Server.Addr = netip.MustParseAddrPort("192.0.2.1:4000"), netip.MustParseAddrPort("198.51.100.1:80")
			s.Client.WindowScale, s.Server.WindowScale = c.client, c.server
			r.(Reader).Conn(o, &Folded{Summary: s, From: 1, To: 2})
		}
		r.End(o)
		if len(found) > 0 != c.found || c.found && found[len(found)-1].Values[0].Num != 3 {
			t.Errorf("%s: found %+v", c.what, found)
		}
	}
}
