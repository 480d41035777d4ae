package ledger

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// long measures a segment as Segment does, without the short way.
func (w *world) long(s *tcp.Segment, m tcp.Marks, v *tcp.View) {
	b := w.books
	r := b.records.At(uint32(w.ref))
	var t *talk
	if r.talk != 0 {
		t = b.talks.At(r.talk)
	}
	if !b.copied(r, t, s) {
		b.segment(r, t, s, m, v)
	}
}

// TestCalmWay: after each segment the books are the same by the short way and by the long
// one, to the last field.
func TestCalmWay(t *testing.T) {
	t.Parallel()
	calm, all := 0, 0
	for seed := range uint64(120) {
		short, long := newWorld(t), newWorld(t)
		for i, s := range nearlyCalm(rand.New(rand.NewPCG(seed, 3)), 300) {
			s.Frame = uint64(i + 1)
			var v, w tcp.View
			var was talk
			a, b := short.books.records.At(uint32(short.ref)), long.books.records.At(uint32(long.ref))
			if a.talk != 0 {
				was = *short.books.talks.At(a.talk)
			}
			m, n := short.track.Segment(short.conv, &s, &v), long.track.Segment(long.conv, &s, &w)
			short.books.Segment(short.ref, &s, m, &v)
			long.long(&s, n, &w)
			if *a != *b {
				t.Fatalf("seed %d, %+v: record %+v, the long way %+v", seed, s, *a, *b)
			}
			all++
			if f := &was.voice[s.Dir]; m == 0 && s.Flags&(tcp.FlagSYN|tcp.FlagFIN) == 0 && s.Seq == f.next &&
				f.flags&was.voice[s.Dir^1].flags&(standing|vOdd) == standing && a.flags&flagSYN != 0 {
				calm++
			}
			if a.talk == 0 {
				continue
			}
			x, y := *short.books.talks.At(a.talk), *long.books.talks.At(b.talk)
			x.b, y.b = nil, nil
			if !reflect.DeepEqual(x, y) {
				t.Fatalf("seed %d, %+v: talk\n%+v\nthe long way\n%+v", seed, s, x, y)
			}
		}
		short.close()
		long.close()
		if !reflect.DeepEqual(short.found, long.found) || !reflect.DeepEqual(short.sum, long.sum) {
			t.Fatalf("seed %d: %+v %+v\nthe long way %+v %+v", seed, short.sum, short.found, long.sum, long.found)
		}
	}
	t.Logf("%d of %d segments were calm", calm, all)
	if calm < all/4 {
		t.Errorf("only %d of %d segments were calm", calm, all)
	}
}

// nearlyCalm is a connection of which most segments are the next in order.
func nearlyCalm(r *rand.Rand, n int) (list []tcp.Segment) {
	next, acked := [2]uint32{r.Uint32(), r.Uint32()}, [2]uint32{}
	window, id, ttl := [2]uint16{500, 65535}, [2]uint16{}, [2]uint8{64, 60}
	stamped, v6 := r.IntN(2) == 0, r.IntN(4) == 0
	now := int64(1e18)
	stamp := []byte{kindNop, kindNop, kindStamp, 10, 0, 0, 0, 0, 0, 0, 0, 0}
	add := func(d flow.Dir, seq uint32, flags uint16, size uint32) *tcp.Segment {
		now += []int64{10_000, 100_000, 1_000_000, 4_000_000, 6_000_000, 40_000_000, 300_000_000, 2_000_000_000, 0, -1000}[min(r.IntN(10), r.IntN(10), r.IntN(10))]
		id[d]++
		list = append(list, tcp.Segment{
			Time: now, Dir: d, Seq: seq, Ack: acked[d], Flags: flags, Window: window[d], Len: size, Data: make([]byte, size),
			TTL: ttl[d], IPID: id[d], IPv6: v6, WireLen: 54 + size,
		})
		s := &list[len(list)-1]
		for i := range s.Data {
			s.Data[i] = 'a' + byte(seq+uint32(i))%26
		}
		s.Head = decode.HeadOf(s.Data)
		if stamped {
			s.Stamped, s.Options = true, stamp
			s.TSVal, s.TSEcr = uint32(now/1e6), uint32(now/1e6)-uint32(r.IntN(3))
		}
		return s
	}
	syn := func(d flow.Dir, flags uint16) {
		s := add(d, next[d], flags, 0)
		s.Stamped, s.Options = false, []byte{kindMSS, 4, 1, byte(r.IntN(3)), kindScale, 3, byte(r.IntN(3)), 1}
		if r.IntN(12) == 0 {
			s.Header, s.Options = tcp.HeaderCut, s.Options[:4]
		}
		next[d]++
		acked[d^1] = next[d]
	}
	if r.IntN(6) > 0 { // else begun before the capture
		syn(0, tcp.FlagSYN)
		syn(1, tcp.FlagSYN|tcp.FlagACK)
		add(0, next[0], tcp.FlagACK, 0)
	}
	busy := flow.Dir(0)
	for len(list) < n {
		if r.IntN(6) == 0 {
			busy ^= 1
		}
		d := busy
		switch r.IntN(60) {
		case 0:
			add(d, next[d]-uint32(r.IntN(300)), tcp.FlagACK, uint32(r.IntN(200)))
		case 1:
			next[d] += uint32(1 + r.IntN(300))
		case 2:
			add(d, next[d]-1, tcp.FlagACK, uint32(r.IntN(2)))
		case 3:
			window[d] = []uint16{0, 1, 100, 500, 65535}[r.IntN(5)]
			add(d, next[d], tcp.FlagACK, 0)
		case 4:
			add(d, next[d], tcp.FlagACK, uint32(r.IntN(2))).CE = true
		case 5:
			s := add(d, next[d], tcp.FlagACK, uint32(r.IntN(100)))
			s.Data = s.Data[:len(s.Data)/2]
			s.Head = decode.HeadOf(s.Data)
			next[d] += s.Len
		case 6:
			add(d, next[d], tcp.FlagACK, 0).Ack += uint32(r.IntN(2000))
		case 7:
			if r.IntN(20) == 0 {
				add(d, next[d], []uint16{tcp.FlagFIN | tcp.FlagACK, tcp.FlagRST}[r.IntN(2)], 0)
				next[d]++
			}
		case 8:
			ttl[d] = uint8(60 + r.IntN(5))
		case 9:
			id[d] += uint16(r.IntN(100))
		case 10:
			if r.IntN(20) == 0 && len(list) > 0 {
				list = append(list, list[len(list)-1]) // a copy
			}
		case 11:
			if s := add(d, next[d], tcp.FlagACK, uint32(r.IntN(2))); !stamped {
				s.Options = binary.BigEndian.AppendUint32([]byte{kindNop, kindNop, kindSACK, 10}, s.Ack-uint32(r.IntN(300)))
				s.Options = binary.BigEndian.AppendUint32(s.Options, s.Ack)
				next[d] += s.Len
			}
		case 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22:
			acked[d] = next[d^1]
			add(d, next[d], tcp.FlagACK, 0)
		case 23:
			acked[d^1] = next[d] - uint32(r.IntN(100))
			add(d^1, next[d^1], tcp.FlagACK, 0)
		default:
			if r.IntN(2) == 0 {
				acked[d] = next[d^1]
			}
			size := uint32(1 + r.IntN(250))
			add(d, next[d], tcp.FlagACK|tcp.FlagPSH, size)
			next[d] += size
			if r.IntN(2) == 0 {
				acked[d^1] = next[d]
				add(d^1, next[d^1], tcp.FlagACK, 0)
			}
		}
	}
	return list
}

// TestBriefTurn: a turn is accounted for in the same way briefly and as a whole.
func TestBriefTurn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	brief := 0
	const n = 20_000
	var short, long *talk
	var rec record
	at := int64(1e18)
	for i := range n {
		if i%40 == 0 {
			short, long = newWorld(t).books.talkOf(&record{}), newWorld(t).books.talkOf(&record{})
			f := &short.voice[flow.ToServer]
			f.rtt.min, f.rtt.smooth, f.shake = int64(r.IntN(3)*r.IntN(1e6)), int64(r.IntN(3)*r.IntN(3e8)), int64(r.IntN(2)*r.IntN(1e6))
			long.voice = short.voice
		}
		step := func() int64 {
			at += []int64{0, -1000, 10_000, 1_000_000, 300_000_000}[min(r.IntN(5), r.IntN(5))]
			return at
		}
		x := turn{
			state: turnResponse, reqStart: step(), reqEnd: step(), ackTime: step(), respStart: step(), respEnd: step(),
			ackFrame: uint64(r.IntN(3)), respFrame: uint64(1 + r.IntN(2)), reqLast: 7, reqBytes: 9, respBytes: 8, greeting: r.IntN(9) == 0,
		}
		if short.brief(&x) {
			brief++
		} else {
			short.whole(&rec, &x)
		}
		long.whole(&rec, &x)
		if *short.own != *long.own || !reflect.DeepEqual(short.worst, long.worst) {
			t.Fatalf("%+v: %+v\nas a whole %+v", x, *short.own, *long.own)
		}
	}
	if brief < n/4 || brief == n {
		t.Errorf("%d of %d were brief", brief, n)
	}
	t.Logf("%d of %d were brief", brief, n)
}
