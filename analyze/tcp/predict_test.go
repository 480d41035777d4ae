package tcp_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// words notes what a tracker hands on.
type words struct{ said []string }

func (w *words) Deliver(_ uint32, s *tcp.Segment, b []byte) {
	w.said = append(w.said, fmt.Sprint(s.Frame, s.Dir, s.Marks, string(b)))
}

func (w *words) Gap(_ uint32, s *tcp.Segment, n uint32) {
	w.said = append(w.said, fmt.Sprint(s.Frame, s.Dir, "gap", n))
}

// TestShortWay: the expected segment has the same marks, the same view and the same bytes
// by the short way and by the long one, which options without a meaning lead to.
func TestShortWay(t *testing.T) {
	t.Parallel()
	nops := []byte{1, 1, 1, 1}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		var say [2]words
		short, long := tcp.NewTracker(tcp.Limits{}, &say[0]), tcp.NewTracker(tcp.Limits{}, &say[1])
		a, b := short.Open(1), long.Open(1)
		if r.IntN(8) == 0 {
			short.Want(a, flow.ToClient, false)
			long.Want(b, flow.ToClient, false)
		}
		for i, s := range randomSegments(r, 200) {
			s.Frame = uint64(i + 1)
			other := s
			if s.Options == nil {
				other.Options = nops
			}
			var v, w tcp.View
			m, n := short.Segment(a, &s, &v), long.Segment(b, &other, &w)
			if m != n || v != w || s.Marks != other.Marks {
				t.Fatalf("seed %d, segment %+v: got %s %+v, the long way %s %+v", seed, s, names(m), v, names(n), w)
			}
		}
		short.Close(a, 201)
		long.Close(b, 201)
		if got, want := fmt.Sprint(say[0].said), fmt.Sprint(say[1].said); got != want {
			t.Fatalf("seed %d: handed on %s\nthe long way %s", seed, got, want)
		}
	}
}

// TestYoungest: the youngest segment measures the same whether its direction remembers it or
// the list does, where its frame number is too long.
func TestYoungest(t *testing.T) {
	t.Parallel()
	const far = 1 << 32
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 8))
		near, list := tcp.NewTracker(tcp.Limits{}, nobody{}), tcp.NewTracker(tcp.Limits{}, nobody{})
		a, b := near.Open(1), list.Open(1)
		for i, s := range randomSegments(r, 200) {
			s.Frame = uint64(i + 1)
			other := s
			other.Frame += far
			var v, w tcp.View
			near.Segment(a, &s, &v)
			list.Segment(b, &other, &w)
			if v.RTT != 0 {
				v.RTTFrame += far
			}
			if v != w {
				t.Fatalf("seed %d, segment %+v: got %+v, by the list %+v", seed, s, v, w)
			}
		}
		near.Close(a, 201)
		list.Close(b, 201)
		if _, n, _ := near.Load(); n != 0 {
			t.Fatalf("seed %d: %d segments were not given back", seed, n)
		}
	}
}

// randomSegments is a connection of which most segments are as expected.
func randomSegments(r *rand.Rand, n int) (list []tcp.Segment) {
	next, acked := [2]uint32{r.Uint32(), r.Uint32()}, [2]uint32{}
	window := [2]uint16{500, 65535}
	now := int64(1e18)
	add := func(d flow.Dir, seq uint32, flags uint16, size uint32) *tcp.Segment {
		now += r.Int64N(5_000_000) - 1000
		list = append(list, tcp.Segment{
			Time: now, Dir: d, Seq: seq, Ack: acked[d], Flags: flags, Window: window[d], Len: size, Data: make([]byte, size),
		})
		s := &list[len(list)-1]
		for i := range s.Data {
			s.Data[i] = 'a' + byte(seq+uint32(i))%26
		}
		return s
	}
	if r.IntN(4) > 0 { // else begun before the capture
		add(0, next[0], tcp.FlagSYN, 0).Options = []byte{3, 3, 2, 1}
		next[0]++
		acked[1] = next[0]
		add(1, next[1], tcp.FlagSYN|tcp.FlagACK, 0).Options = []byte{3, 3, byte(r.IntN(3)), 1}
		next[1]++
		acked[0] = next[1]
		add(0, next[0], tcp.FlagACK, 0)
	}
	for len(list) < n {
		d := flow.Dir(r.IntN(2))
		switch r.IntN(24) {
		case 0:
			add(d, next[d]-uint32(r.IntN(300)), tcp.FlagACK, uint32(r.IntN(200)))
		case 1:
			add(d, next[d]+uint32(1+r.IntN(300)), tcp.FlagACK, uint32(r.IntN(200)))
		case 2:
			add(d, next[d]-1, tcp.FlagACK, uint32(r.IntN(2)))
		case 3:
			window[d] = []uint16{0, 1, 100, 500, 65535}[r.IntN(5)]
			add(d, next[d], tcp.FlagACK, 0)
		case 4:
			if r.IntN(12) == 0 {
				add(d, next[d], []uint16{tcp.FlagFIN | tcp.FlagACK, tcp.FlagRST, tcp.FlagACK | tcp.FlagRST}[r.IntN(3)], 0)
				next[d]++
			}
		case 5:
			s := add(d, next[d], tcp.FlagACK, uint32(r.IntN(100)))
			s.Data = s.Data[:len(s.Data)/2]
			next[d] += s.Len
		case 6:
			s := add(d, next[d], tcp.FlagACK, 0)
			s.Ack += uint32(r.IntN(2000))
		case 7, 8, 9, 10, 11:
			acked[d] = next[d^1]
			add(d, next[d], tcp.FlagACK, 0)
		default:
			if r.IntN(2) == 0 {
				acked[d] = next[d^1]
			}
			size := uint32(1 + r.IntN(250))
			add(d, next[d], tcp.FlagACK|tcp.FlagPSH, size)
			next[d] += size
		}
	}
	return list
}
