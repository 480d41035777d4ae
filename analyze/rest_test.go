package analyze

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// lookupPacket is an IPv4 packet with a query for a name, or its answer, between
// 10.0.0.1:40000 and 10.0.0.2:53.
func lookupPacket(id uint16, back bool) []byte {
	name := []byte("\x01a\x04test\x00\x00\x01\x00\x01")
	msg := binary.BigEndian.AppendUint16(nil, id)
	if back {
		msg = append(msg, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0)
	} else {
		msg = append(msg, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	}
	msg = append(msg, name...)
	if back {
		msg = append(msg, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 9)
	}
	b := make([]byte, 28, 28+len(msg))
	b[0], b[8], b[9] = 0x45, 64, 17
	src, dst, sport, dport := []byte{10, 0, 0, 1}, []byte{10, 0, 0, 2}, uint16(40000), uint16(53)
	if back {
		src, dst, sport, dport = dst, src, dport, sport
	}
	copy(b[12:], src)
	copy(b[16:], dst)
	binary.BigEndian.PutUint16(b[20:], sport)
	binary.BigEndian.PutUint16(b[22:], dport)
	binary.BigEndian.PutUint16(b[24:], uint16(8+len(msg)))
	b = append(b, msg...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	return b
}

// TestRest: an analyzer that awaits nothing is dropped after a while, which nobody
// sees: the conversation has its name, and what comes later is read all the same.
func TestRest(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		later             []timed
		exchanges, failed uint32
	}{
		"nothing comes":         {nil, 1, 0},
		"another is answered":   {[]timed{{60_000, lookupPacket(2, false)}, {60_020, lookupPacket(2, true)}}, 2, 0},
		"another has no answer": {[]timed{{60_000, lookupPacket(2, false)}, {62_000, lookupPacket(2, false)}}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := newScripted()
			end := runLive(t, src, Options{}, nil)
			src.give(t, 30, false, timed{0, lookupPacket(1, false)}, timed{20, lookupPacket(1, true)})
			src.give(t, 30_000, false)
			src.give(t, 60_030, false, x.later...)
			src.give(t, 120_000, false)
			res := end()
			if len(res.Connections) != 1 {
				t.Fatalf("%d conversations, want 1", len(res.Connections))
			}
			c := res.Connections[0]
			if c.App != "dns" || c.Exchanges != x.exchanges || c.FailedExchanges != x.failed {
				t.Errorf("%q with %d exchanges, %d failed; want dns, %d, %d", c.App, c.Exchanges, c.FailedExchanges, x.exchanges, x.failed)
			}
			if len(res.Malformed) > 0 {
				t.Errorf("malformed: %v", res.Malformed)
			}
		})
	}
}

// sleeper is an analyzer that rests when it is told to.
type sleeper struct{ rests bool }

func (*sleeper) Data(_ *proto.Scope, _ flow.Dir, b []byte) (int, error) { return len(b), nil }
func (*sleeper) Gap(*proto.Scope, flow.Dir, int) error                  { return nil }
func (*sleeper) End(*proto.Scope, proto.End)                            {}
func (s *sleeper) Rests() bool                                          { return s.rests }

// TestDrop: only who rests is dropped, and only after a while.
func TestDrop(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		rests bool
		pause int64 // ms
		made  int32
	}{
		"rests":           {true, 60_000, 2},
		"rests for short": {true, 5_000, 1},
		"awaits":          {false, 60_000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int32
			spec := proto.Spec{
				Name: "sleeper", Carrier: proto.UDP,
				Probe: func(flow.Dir, []byte) proto.Verdict { return proto.Certain },
				New: func() proto.Analyzer {
					made.Add(1)
					return &sleeper{x.rests}
				},
			}
			src := newScripted()
			end := runLive(t, src, Options{Protocols: []proto.Spec{spec}}, nil)
			src.give(t, 10, false, timed{0, lookupPacket(1, false)})
			src.give(t, x.pause, false)
			src.give(t, x.pause+10, false, timed{x.pause, lookupPacket(1, true)})
			end()
			if n := made.Load(); n != x.made {
				t.Errorf("made %d times, want %d", n, x.made)
			}
		})
	}
}
