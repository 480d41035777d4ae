package correlate

import (
	"net/netip"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/tftp"
)

func TestTransfers(t *testing.T) {
	t.Parallel()
	server := netip.MustParseAddrPort("198.51.100.5:69")
	client := func(port uint16) netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), port)
	}
	type step struct {
		at     int64 // seconds
		port   uint16
		answer string // empty: a request
	}
	for _, c := range []struct {
		what  string
		steps []step
		want  float64 // requests told; 0: nothing
	}{
		{"answered from another port", []step{{0, 2070, ""}, {1, 2070, "other"}}, 0},
		{"answered from the same port", []step{{0, 2070, ""}, {1, 2070, "same"}}, 0},
		{"answered at the second time", []step{{0, 2070, ""}, {2, 2070, ""}, {3, 2070, "other"}}, 0},
		{"asked once at the end of the capture", []step{{0, 2070, ""}}, 0},
		{"asked again", []step{{0, 2070, ""}, {2, 2070, ""}, {6, 2070, ""}}, 3},
		{"asked again from other ports", []step{{0, 2070, ""}, {2, 2071, ""}}, 2},
		{"something else goes on", []step{{0, 2070, ""}, {6, 999, "other"}}, 1},
		{"the second file has no answer", []step{{0, 2070, ""}, {1, 2070, "other"}, {2, 2070, ""}, {4, 2070, ""}}, 2},
	} {
		var found []finding.Finding
		r, o := Transfers().New(), &Out{Hosts: &hosts.Numbers{}, Emit: func(f finding.Finding) { found = append(found, f) }}
		asked := flow.ID{Proto: flow.UDP, Stream: 0}
		for i, s := range c.steps {
			frame, at := uint64(i+1), s.at*second
			if s.answer == "other" {
				r.(Greeter).Opened(o, &Opened{
					ID: flow.ID{Proto: flow.UDP, Stream: uint32(i)}, Frame: frame, Time: at,
					Client: netip.AddrPortFrom(server.Addr(), 1030), Server: client(s.port),
				})
				continue
			}
			x := &tftp.Request{Client: client(s.port), Server: server, File: "boot", Answered: s.answer != ""}
			r.(Listener).Event(o, &proto.Event{Frame: frame, Time: at, Flow: asked, Body: x})
		}
		r.End(o)
		switch {
		case len(found) > 1 || len(found) == 0 && c.want > 0:
			t.Errorf("%s: %d findings", c.what, len(found))
		case len(found) == 1 && found[0].Values[1].Num != c.want:
			t.Errorf("%s: %g requests, want %g", c.what, found[0].Values[1].Num, c.want)
		}
	}
}
