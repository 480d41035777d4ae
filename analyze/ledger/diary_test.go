package ledger

import (
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// TestDiary: the letters of Zeek's documentation of conn.log, in the order of
// events.
func TestDiary(t *testing.T) {
	t.Parallel()
	const (
		c, s    = flow.ToServer, flow.ToClient
		syn     = tcp.FlagSYN
		ack     = tcp.FlagACK
		fin     = tcp.FlagFIN | tcp.FlagACK
		rst     = tcp.FlagRST
		window  = 1000
		payload = 10
	)
	type step struct {
		d     flow.Dir
		flags uint16
		seq   uint32
		n     uint32
		m     tcp.Marks
		shut  bool
		times int
	}
	handshake := []step{{d: c, flags: syn}, {d: s, flags: syn | ack}, {d: c, flags: ack}}
	for _, tt := range []struct {
		want  string
		steps []step
	}{
		{"S", []step{{d: c, flags: syn}, {d: c, flags: syn}}},
		{"SS", []step{{d: c, flags: syn}, {d: c, flags: syn, seq: 9}}},
		{"Sr", []step{{d: c, flags: syn}, {d: s, flags: rst | ack}}},
		{"ShADadFf", append(handshake, step{d: c, flags: ack, n: payload}, step{d: s, flags: ack}, step{d: s, flags: ack, n: payload},
			step{d: c, flags: ack}, step{d: c, flags: fin}, step{d: s, flags: fin}, step{d: c, flags: ack})},
		{"ShAdDaR", append(handshake, step{d: s, flags: ack, n: payload}, step{d: c, flags: ack, n: payload}, step{d: s, flags: ack}, step{d: c, flags: rst})},
		{"ShADTT", append(handshake, step{d: c, flags: ack, n: payload}, step{d: c, flags: ack, n: payload, m: tcp.Retransmission, times: 10})},
		{"ShADfW", append(handshake, step{d: c, flags: ack, n: payload}, step{d: s, flags: fin}, step{d: c, flags: ack, shut: true})},
		{"Agd", []step{{d: c, flags: ack}, {d: c, flags: ack, m: tcp.AckLostSegment}, {d: s, flags: ack, n: payload}}},
		{"Qi", []step{{d: c, flags: syn | tcp.FlagFIN}, {d: s, flags: tcp.FlagFIN | rst}}},
	} {
		y := &diary{}
		for _, x := range tt.steps {
			for range max(1, x.times) {
				seg := &tcp.Segment{Dir: x.d, Flags: x.flags, Seq: x.seq, Len: x.n, Window: window, NetLen: 40 + x.n}
				if x.shut {
					seg.Window = 0
				}
				y.segment(seg, x.m)
			}
		}
		var sum conn.Summary
		y.into(&sum)
		if sum.History != tt.want {
			t.Errorf("history %s, want %s", sum.History, tt.want)
		}
		if sum.Client.NetBytes == 0 {
			t.Errorf("%s: no bytes", tt.want)
		}
	}
}
