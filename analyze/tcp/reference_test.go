package tcp_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// plan is a segment of a random connection, by offsets from the byte behind the
// SYN; dir 0 is the client.
type plan struct {
	dir      flow.Dir
	at, n    int // payload
	cut      int // bytes of it that the snaplen dropped
	ack      int // of the other direction, by offset
	fin, rst bool
	fill     byte // what its bytes are made from
	dt       int64
}

// Sequence numbers of the random connections: one wraps.
var isn = [2]uint32{0xffffff00, 7000}

func (p *plan) segment(frame uint64, now int64) *tcp.Segment {
	s := &tcp.Segment{
		Frame: frame, Time: now, Dir: p.dir, Seq: isn[p.dir] + 1 + uint32(p.at),
		Ack: isn[p.dir^1] + 1 + uint32(p.ack), Flags: tcp.FlagACK, Window: 5000, Len: uint32(p.n),
	}
	s.Data = make([]byte, p.n-p.cut)
	for i := range s.Data {
		s.Data[i] = byte(p.at+i)*7 ^ p.fill
	}
	if p.fin {
		s.Flags |= tcp.FlagFIN
	}
	if p.rst {
		s.Flags |= tcp.FlagRST
	}
	return s
}

// reference keeps the first copy of each byte in a plain array: slow, and easy to
// see to be right. As a Handler it compares what it is given with that.
type reference struct {
	t     testing.TB
	exact bool       // no bound was reached, so that a gap holds nothing that was seen
	first [2][]int16 // missing, cut, or a byte
	pos   [2]int     // delivered or given up so far
	out   [2][]int16 // the stream: a byte, or missing
	seen  [2]uint64  // bytes given
}

func newReference(tb testing.TB, exact bool) *reference {
	tb.Helper()
	return &reference{t: tb, exact: exact}
}

// What stands for a byte that is not known.
const (
	missing = -1 - iota
	cut     // seen on the wire, not captured
)

// next is what is known of the byte that comes next.
func (r *reference) next(d flow.Dir) int16 {
	if r.pos[d] >= len(r.first[d]) {
		return missing
	}
	return r.first[d][r.pos[d]]
}

// sent notes the bytes of a segment that nobody sent before and that were not
// given up.
func (r *reference) sent(p *plan, s *tcp.Segment) (fresh int) {
	for i := range p.n {
		at := p.at + i
		if at < r.pos[p.dir] || p.rst {
			continue
		}
		for len(r.first[p.dir]) <= at {
			r.first[p.dir] = append(r.first[p.dir], missing)
		}
		if r.first[p.dir][at] != missing {
			continue
		}
		fresh++
		r.first[p.dir][at] = cut
		if i < len(s.Data) {
			r.first[p.dir][at] = int16(s.Data[i])
		}
	}
	return fresh
}

func (r *reference) Deliver(_ uint32, s *tcp.Segment, b []byte) {
	d := s.Dir
	if len(b) == 0 {
		r.t.Error("nothing delivered")
	}
	for _, x := range b {
		if want := r.next(d); want != int16(x) && (r.exact || want == missing) {
			r.t.Fatalf("frame %d: byte %d of direction %d is %d, want %d", s.Frame, r.pos[d], d, x, want)
		}
		r.out[d] = append(r.out[d], int16(x))
		r.pos[d]++
	}
	r.seen[d] += uint64(len(b))
}

func (r *reference) Gap(_ uint32, s *tcp.Segment, n uint32) {
	d := s.Dir
	if n == 0 {
		r.t.Error("a gap of nothing")
	}
	for range n {
		if r.next(d) >= 0 && r.exact {
			r.t.Fatalf("frame %d: byte %d of direction %d was seen and is told as a gap", s.Frame, r.pos[d], d)
		}
		r.out[d] = append(r.out[d], missing)
		r.pos[d]++
	}
}

// run follows the plans through a Tracker, and checks as it goes.
func run(tb testing.TB, plans []plan, l tcp.Limits, exact bool) *reference {
	tb.Helper()
	r := newReference(tb, exact)
	tr := tcp.NewTracker(l, r)
	c := tr.Open(1)
	var v tcp.View
	now := int64(1e18)
	syn := tcp.Segment{Frame: 1, Time: now, Seq: isn[0], Flags: tcp.FlagSYN, Window: 5000}
	tr.Segment(c, &syn, &v)
	syn = tcp.Segment{Frame: 2, Time: now, Dir: flow.ToClient, Seq: isn[1], Ack: isn[0] + 1, Flags: tcp.FlagSYN | tcp.FlagACK, Window: 5000}
	tr.Segment(c, &syn, &v)
	var sent [2]uint64
	for i := range plans {
		p := &plans[i]
		now += p.dt
		s := p.segment(uint64(i+3), now)
		sent[p.dir] += uint64(len(s.Data))
		before := *r
		fresh := r.sent(p, s)
		tr.Segment(c, s, &v)
		if exact && int(v.New) > fresh {
			tb.Fatalf("segment %d of %+v: New %d, want at most %d (pos %d)", i, plans, v.New, fresh, before.pos)
		}
		if exact {
			r.stalled(p.dir)
		}
		_, segs, held := tr.Load()
		if l.Total > 0 && held > l.Total || l.Segments > 0 && segs > 2*l.Segments+l.Connection/2048 {
			tb.Fatalf("%d segments and %d bytes held", segs, held)
		}
	}
	tr.Close(c, 0)
	for d := range r.seen {
		if r.seen[d] > sent[d] {
			tb.Fatalf("%d bytes delivered of %d sent", r.seen[d], sent[d])
		}
	}
	if conns, segs, held := tr.Load(); conns != 0 || segs != 0 || held != 0 {
		tb.Fatalf("after Close: %d connections, %d segments, %d bytes held", conns, segs, held)
	}
	return r
}

// stalled complains of a byte that is in order, was seen and is not delivered.
func (r *reference) stalled(d flow.Dir) {
	if r.next(d) != missing {
		r.t.Fatalf("byte %d of direction %d is in order and waits", r.pos[d], d)
	}
}

// randomPlans makes a connection with loss at the tap, reordering, repetition,
// overlap with other content, cut payloads and early FINs.
func randomPlans(r *rand.Rand, n int) []plan {
	var top, acked [2]int
	plans := make([]plan, n)
	for i := range plans {
		p := &plans[i]
		p.dir = flow.Dir(r.IntN(2))
		p.n = []int{0, 1, 10, 100, 100, 1000, 5000}[r.IntN(7)]
		p.at = top[p.dir]
		switch r.IntN(8) {
		case 0:
			p.at = max(p.at-r.IntN(3000), 0)
		case 1:
			p.at += r.IntN(2000)
		case 2:
			p.at = max(acked[p.dir]-1, 0)
		}
		if r.IntN(10) == 0 {
			p.fill = 1
		}
		if r.IntN(10) == 0 {
			p.cut = r.IntN(p.n + 1)
		}
		o := p.dir ^ 1
		p.ack = acked[o]
		switch r.IntN(4) {
		case 0:
			p.ack = top[o]
		case 1:
			if top[o] > acked[o] {
				p.ack = acked[o] + r.IntN(top[o]-acked[o])
			}
		case 2:
			p.ack += r.IntN(2) * r.IntN(50)
		}
		acked[o] = max(acked[o], p.ack)
		p.fin = r.IntN(50) == 0
		p.rst = r.IntN(200) == 0
		p.dt = r.Int64N(30e6)
		top[p.dir] = max(top[p.dir], p.at+p.n)
	}
	return plans
}

// TestReference compares delivery with the reference, with room for all and with
// hardly any.
func TestReference(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		plans := randomPlans(r, 1+r.IntN(60))
		name := fmt.Sprint("seed ", seed)
		t.Run(name, func(t *testing.T) {
			run(t, plans, tcp.Limits{}, true)
			run(t, plans, tcp.Limits{Connection: 8192, Total: 16384, Segments: 4, Nodes: 12}, false)
		})
	}
}
