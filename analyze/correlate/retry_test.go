package correlate

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/http"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	at := func(stream, start float64, what string) *proto.Event {
		x := &http.Attempt{
			Client: netip.MustParseAddr("192.0.2.1"), Request: 7, Frame: uint64(start * 100),
			Start: int64(start * second), End: int64(start * second), Method: "POST", Target: "/pay", Host: "shop",
		}
		switch what {
		case "reset":
			x.Unanswered, x.Over, x.Reset = true, true, true
		case "waits":
			x.Unanswered = true
		case "impatient":
			x.Unanswered, x.Apart = true, true
		case "busy":
			x.Status, x.Answered = 503, x.Start+second/10
		case "other":
			x.Request = 8
		}
		return &proto.Event{Flow: flow.ID{Proto: flow.TCP, Stream: uint32(stream)}, Body: x}
	}
	for _, c := range []struct {
		what   string
		events []*proto.Event // in the order in which connections end
		want   string         // attempts/resets/answered
	}{
		{"reset, then answered", []*proto.Event{at(0, 1, "reset"), at(1, 2, "ok")}, "2/1/1"},
		{"the retry ends first", []*proto.Event{at(1, 4, "ok"), at(0, 1, "waits")}, "2/0/1"},
		{"three times in vain", []*proto.Event{at(0, 1, "reset"), at(1, 2, "reset"), at(2, 3, "reset")}, "3/3/0"},
		{"two at once", []*proto.Event{at(0, 1, "waits"), at(1, 1.2, "ok")}, ""},
		{"answered, asked anew", []*proto.Event{at(0, 1, "ok"), at(1, 2, "ok")}, ""},
		{"before", []*proto.Event{at(0, 1, "ok"), at(1, 2, "reset")}, ""},
		{"on the same connection", []*proto.Event{at(0, 1, "waits"), at(0, 4, "ok")}, ""},
		{"on the same connection, while it waits", []*proto.Event{at(0, 1, "impatient"), at(0, 4, "ok")}, "2/0/1"},
		{"on the same connection, too soon", []*proto.Event{at(0, 1, "impatient"), at(0, 1.2, "ok")}, ""},
		{"after an error", []*proto.Event{at(0, 1, "busy"), at(0, 1.5, "busy"), at(0, 2.5, "ok")}, "3/0/1"},
		{"after an error, in vain", []*proto.Event{at(0, 1, "busy"), at(1, 1.5, "busy")}, "2/0/0"},
		{"twice at once, both with an error", []*proto.Event{at(0, 1, "busy"), at(1, 1.05, "busy")}, ""},
		{"whether the error is over", []*proto.Event{at(0, 1, "busy"), at(0, 16, "busy"), at(0, 31, "ok")}, ""},
		{"something else", []*proto.Event{at(0, 1, "reset"), at(1, 2, "other")}, ""},
		{"much later", []*proto.Event{at(0, 1, "reset"), at(1, 200, "ok")}, ""},
	} {
		var found []string
		r, o := Retries().New(), &Out{Hosts: &hosts.Numbers{}, Emit: func(f finding.Finding) {
			found = append(found, fmt.Sprintf("%g/%g/%g", f.Values[3].Num, f.Values[4].Num, f.Values[5].Num))
		}}
		for _, e := range c.events {
			r.(Listener).Event(o, e)
		}
		r.End(o)
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
