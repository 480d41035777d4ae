package tcp_test

import (
	"runtime"
	"testing"
	"unsafe"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// transfer is one side sending full segments, acknowledged two by two.
type transfer struct {
	t     *tcp.Tracker
	r     tcp.Ref
	data  []byte
	s     tcp.Segment
	v     tcp.View
	n     uint32
	frame uint64
}

func newTransfer(l tcp.Limits) *transfer {
	x := &transfer{t: tcp.NewTracker(l, nobody{}), data: make([]byte, 1448)}
	x.r = x.t.Open(1)
	x.give(flow.ToServer, 0, 0, tcp.FlagSYN, nil)
	x.give(flow.ToClient, 0, 1, tcp.FlagSYN|tcp.FlagACK, nil)
	x.give(flow.ToServer, 1, 1, tcp.FlagACK, nil)
	x.n = 1
	return x
}

func (x *transfer) give(d flow.Dir, seq, acked uint32, flags uint16, data []byte) {
	x.frame++
	x.s = tcp.Segment{
		Frame: x.frame, Time: int64(x.frame) * 10_000, Dir: d, Seq: seq, Ack: acked, Flags: flags,
		Window: 60000, Data: data, Len: uint32(len(data)),
	}
	x.t.Segment(x.r, &x.s, &x.v)
}

// plain sends three segments.
func (x *transfer) plain() {
	x.give(flow.ToClient, x.n, 1, tcp.FlagACK, x.data)
	x.give(flow.ToClient, x.n+1448, 1, tcp.FlagACK, x.data)
	x.n += 2 * 1448
	x.give(flow.ToServer, 1, x.n, tcp.FlagACK, nil)
}

// lossy sends five: one late by two, with the duplicate acknowledgement.
func (x *transfer) lossy() {
	x.give(flow.ToClient, x.n+1448, 1, tcp.FlagACK, x.data)
	x.give(flow.ToServer, 1, x.n, tcp.FlagACK, nil)
	x.give(flow.ToClient, x.n+2*1448, 1, tcp.FlagACK, x.data)
	x.give(flow.ToClient, x.n, 1, tcp.FlagACK, x.data)
	x.n += 3 * 1448
	x.give(flow.ToServer, 1, x.n, tcp.FlagACK, nil)
}

// TestAllocations: nothing is allocated for a segment in the steady state.
func TestAllocations(t *testing.T) {
	x := newTransfer(tcp.Limits{})
	for name, f := range map[string]func(){"plain": x.plain, "lossy": x.lossy} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	tr := tcp.NewTracker(tcp.Limits{}, nobody{})
	if n := testing.AllocsPerRun(1000, func() { tr.Close(tr.Open(1), 0) }); n != 0 {
		t.Errorf("open and close: %v allocations", n)
	}
}

// TestHandshakeMemory: a connection that did no more than a handshake costs at
// most 120 bytes.
func TestHandshakeMemory(t *testing.T) {
	const conns, most = 200_000, 120
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tr := tcp.NewTracker(tcp.Limits{}, nobody{})
	var v tcp.View
	for i := range uint32(conns) {
		r := tr.Open(i)
		for _, s := range []tcp.Segment{
			{Seq: 9, Flags: tcp.FlagSYN},
			{Dir: flow.ToClient, Seq: 99, Ack: 10, Flags: tcp.FlagSYN | tcp.FlagACK},
			{Seq: 10, Ack: 100, Flags: tcp.FlagACK},
		} {
			tr.Segment(r, &s, &v)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / conns
	t.Logf("%.0f bytes a connection", each)
	if each > most {
		t.Errorf("%.0f bytes a connection, more than %d", each, most)
	}
	runtime.KeepAlive(tr)
}

func BenchmarkPlain(b *testing.B) {
	x := newTransfer(tcp.Limits{})
	b.ReportAllocs()
	for i := 0; i < b.N; i += 3 {
		x.plain()
	}
	b.ReportMetric(float64(unsafe.Sizeof(x.v)), "view-bytes")
}

func BenchmarkLossy(b *testing.B) {
	x := newTransfer(tcp.Limits{})
	b.ReportAllocs()
	for i := 0; i < b.N; i += 5 {
		x.lossy()
	}
}

// BenchmarkInFlight keeps a thousand segments unacknowledged.
func BenchmarkInFlight(b *testing.B) {
	x := newTransfer(tcp.Limits{})
	for range 1000 {
		x.give(flow.ToClient, x.n, 1, tcp.FlagACK, x.data)
		x.n += 1448
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += 2 {
		x.give(flow.ToClient, x.n, 1, tcp.FlagACK, x.data)
		x.n += 1448
		x.give(flow.ToServer, 1, x.n-1000*1448, tcp.FlagACK, nil)
	}
}
