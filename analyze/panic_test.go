package analyze

import (
	"errors"
	"strings"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/capture/packet"
)

// TestPanicEndsTheRun: a fault in any stage ends the run with an error and with
// what was found before it, and no goroutine is left behind.
func TestPanicEndsTheRun(t *testing.T) {
	t.Parallel()
	// The frame lies outside of its batch.
	broken := func(src *scripted) {
		b, err := src.pool.Get(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		b.Frames = append(b.Frames, packet.Frame{Number: 1000, Time: 2_000_000_000, Link: packet.LinkRaw, Offset: 1 << 30, CapLen: 40, WireLen: 40})
		src.batches <- b
	}
	faulty := proto.Spec{
		Name: "faulty", Carrier: proto.TCP, New: func() proto.Analyzer { panic("no analyzer") },
		Probe: func(flow.Dir, []byte) proto.Verdict { return proto.Certain },
	}
	for _, tt := range []struct {
		where string
		opt   Options
		give  func(*scripted)
		found bool // what came before can be told
	}{
		{"the dealer", Options{}, broken, true},
		{"the analysis", Options{Protocols: []proto.Spec{faulty}}, func(*scripted) {}, false},
		{"the collector", Options{IdleTimeout: second, Connection: func(*conn.Summary) { panic("no list") }}, func(*scripted) {}, true},
	} {
		t.Run(tt.where, func(t *testing.T) {
			t.Parallel()
			src := newScripted()
			tt.opt.Live, tt.opt.Workers = true, 2
			src.give(t, 0, false, timed{500, segment(2, false, 7, 0, flagSYN, "")}, timed{501, segment(2, true, 0, 8, flagRST|flagACK, "")})
			src.give(t, 0, false, opening(1, 1000)...)
			tt.give(src)
			for range 8 { // the queues are full when the fault is noticed
				src.give(t, 60_000, false, opening(3, 59_000)...)
			}
			close(src.batches)
			res, err := Run(t.Context(), src, tt.opt, nil)
			var fault *packet.PanicError
			if !errors.As(err, &fault) || fault.Where != tt.where || !strings.Contains(err.Error(), ".go:") {
				t.Fatalf("error: %v", err)
			}
			if res == nil || tt.found && res.Packets < 2 {
				t.Errorf("what was found before is lost: %+v", res)
			}
			for len(src.batches) > 0 {
				(<-src.batches).Release()
			}
			if free := src.pool.Free(); free != src.pool.Size() {
				t.Errorf("%d of %d batches came back", free, src.pool.Size())
			}
		})
	}
}
