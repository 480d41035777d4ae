package tcp_test

import (
	"testing"

	"netwhy/analyze/tcp"
)

// TestHeaders: nothing is told of a segment whose header is at fault, but what it
// sent is known, unless it claims more than there is; as tshark 4.0.17 has it.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header tcp.Header
		known  bool
	}{
		{"whole", tcp.HeaderWhole, true},
		{"cut", tcp.HeaderCut, true},
		{"bogus", tcp.HeaderBogus, true},
		{"long", tcp.HeaderLong, false},
	} {
		for _, beyond := range []uint32{0, 1} {
			tr := tcp.NewTracker(tcp.Limits{}, nobody{})
			c := tr.Open(1)
			var v tcp.View
			begin := tcp.Segment{Frame: 1, Seq: 1000, Ack: 1, Flags: tcp.FlagACK, Window: 1000}
			tr.Segment(c, &begin, &v)
			s := tcp.Segment{Frame: 2, Time: 1e6, Seq: 1100, Ack: 1, Flags: tcp.FlagACK, Window: 1000, Len: 10, Header: tt.header}
			if m := tr.Segment(c, &s, &v); m.Has(tcp.LostSegment) != (tt.header == tcp.HeaderWhole) {
				t.Errorf("%s: told %s", tt.name, names(m))
			}
			next := tcp.Segment{Frame: 3, Time: 2e6, Seq: 1110 + beyond, Ack: 1, Flags: tcp.FlagACK, Window: 1000, Len: 10}
			if m := tr.Segment(c, &next, &v); m.Has(tcp.LostSegment) != (!tt.known || beyond > 0) {
				t.Errorf("%s: what follows is %s", tt.name, names(m))
			}
			tr.Close(c, 0)
		}
	}
}
