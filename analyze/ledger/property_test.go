package ledger

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"netwhy/analyze/conn"
	"netwhy/analyze/correlate"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
)

// wild makes segments that no stack would send: anything may come.
func wild(r *rand.Rand, n int) []segment {
	out := make([]segment, n)
	at := int64(1e18)
	for i := range out {
		s := &out[i]
		at += []int64{0, 10_000, 1_000_000, 30_000_000, 300_000_000, 2_000_000_000, -5_000_000}[r.IntN(7)]
		s.Time, s.Frame = at, uint64(i+1)
		s.Dir = flow.Dir(r.IntN(2))
		s.Seq = isn + uint32(r.IntN(8000))
		s.Ack = isn + uint32(r.IntN(8000))
		s.Flags = tcp.FlagACK
		switch r.IntN(20) {
		case 0:
			s.Flags = tcp.FlagSYN
			s.Seq = isn
			s.Options = []byte{kindMSS, 4, 5, 0xb4, kindScale, 3, byte(r.IntN(20)), 1}
		case 1:
			s.Flags |= tcp.FlagSYN
			s.Seq = isn
		case 2:
			s.Flags |= tcp.FlagFIN
		case 3:
			s.Flags |= tcp.FlagRST
		}
		s.Window = []uint16{0, 1, 500, 5000, 65535}[r.IntN(5)]
		s.Len = []uint32{0, 0, 1, 100, 1448, 3000}[r.IntN(6)]
		if r.IntN(3) == 0 {
			s.Options = make([]byte, r.IntN(41))
			for k := range s.Options {
				s.Options[k] = byte(r.IntN(12))
			}
		}
		s.Data = make([]byte, min(s.Len, 8))
		s.TTL, s.IPID, s.IPv6 = uint8(60+r.IntN(3)), uint16(r.IntN(50)), r.IntN(2) == 0
	}
	return out
}

// whatever an analyzer may hand over, in order or not.
func wildExchange(r *rand.Rand, from, to int64, frames int) *conn.Exchange {
	at := func() int64 { return from + r.Int64N(to-from+1) }
	x := &conn.Exchange{
		Protocol: []string{"http", "tls", "dns", "x"}[r.IntN(4)], Complete: r.IntN(2) == 0, Failed: r.IntN(2) == 0,
		ReqStart: at(), ReqEnd: at(), RespStart: at(), RespEnd: at(),
		ReqLast: uint64(r.IntN(frames)), RespFrame: uint64(r.IntN(frames)),
	}
	if r.IntN(4) == 0 {
		x.RespStart, x.RespEnd = 0, 0
	}
	return x
}

// TestLedgerAddsUp holds the promise of the ledger repeatst hostile streams: every
// nanosecond in one part, none negative, and every finding proven and complete.
func TestLedgerAddsUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w := newWorld(t)
		w.hostile(r, wild(r, 5+r.IntN(400)))
		if t.Failed() {
			return
		}
	}
}

// hostile plays segments with whatever else may happen in between.
func (w *world) hostile(r *rand.Rand, segs []segment) {
	w.t.Helper()
	from := segs[0].Time
	for i := range segs {
		w.play(segs[i : i+1])
		switch r.IntN(12) {
		case 0:
			lo, hi := min(from, segs[i].Time), max(from, segs[i].Time)
			x := wildExchange(r, lo, hi, len(segs))
			start, stop := x.ReqStart, max(x.ReqStart, x.ReqEnd, x.RespStart, x.RespEnd)
			w.books.Exchange(w.ref, x)
			w.adds(&x.Ledger)
			if x.RespStart != 0 && x.Ledger.Total < stop-start {
				w.t.Errorf("total %d of an exchange of %d ns: %+v", x.Ledger.Total, stop-start, x)
			}
		case 1:
			w.books.Checksum(w.ref, &segs[i].Segment)
		case 2:
			if r.IntN(10) == 0 {
				w.books.ICMPError(w.ref, &correlate.ICMPError{Type: uint8(r.IntN(12)), Code: uint8(r.IntN(14)), V6: r.IntN(2) == 0}, segs[i].Frame, segs[i].Time)
			}
		case 3:
			w.books.Early(w.ref)
		case 4:
			w.books.Lookup(w.ref, from-int64(r.IntN(1e9)), from)
		}
	}
	w.close()
	w.check()
	if *w.books.none != (rare{}) || *w.books.noTally != (tally{}) || *w.books.noMend != (mend{}) {
		w.t.Error("trouble was noted where all talks look")
	}
}

func FuzzSegments(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint16(50))
	f.Add(uint64(7), uint64(9), uint16(300))
	f.Fuzz(func(t *testing.T, a, b uint64, n uint16) {
		r := rand.New(rand.NewPCG(a, b))
		newWorld(t).hostile(r, wild(r, 1+int(n)%500))
	})
}

// FuzzOptions: an option list is as hostile as the rest of a packet.
func FuzzOptions(f *testing.F) {
	f.Add([]byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2})
	f.Add([]byte{1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 9})
	f.Add([]byte{5, 10, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var o options
		o.parse(b)
		if o.blocks < 0 || o.blocks > 31 {
			t.Errorf("%d blocks in %x", o.blocks, b)
		}
		var r record
		r.handshakeOptions(&tcp.Segment{Options: b})
	})
}

// TestMirrorChangesNothing plays every scenario as a mirror port that copies each
// frame shows it: the figures are those of the clean capture.
func TestMirrorChangesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			clean := played(t, c.script)
			w := newWorld(t)
			var twice []segment
			for _, s := range script(t, c.script) {
				s.Frame = s.Frame*2 - 1
				twice = append(twice, s)
				s.Frame++
				s.Time += 9000
				twice = append(twice, s)
			}
			w.play(twice)
			w.close()
			w.check()
			for code, f := range clean.found {
				g, ok := w.found[code]
				if !ok {
					t.Errorf("%s is lost", code)
					continue
				}
				if g.Severity != f.Severity {
					t.Errorf("%s: %s in place of %s", code, g.Severity, f.Severity)
				}
				if code == Reset || code == ResetAfterIdle || code == ResetInjected || code == BadChecksum || code == ChecksumOffload {
					continue // RSTs and checksums are counted as they come
				}
				for i := range f.Values {
					if name := w.defs[code].Metrics[i].Name; name == "fast" || name == "samples" || name == "max_run" && code == DuplicateAck {
						continue // doubled ACKs look like duplicate ACKs to the tracker, and give fewer samples
					}
					if f.Values[i] != g.Values[i] {
						t.Errorf("%s.%s: %v in place of %v", code, w.defs[code].Metrics[i].Name, g.Values[i], f.Values[i])
					}
				}
			}
			for code := range w.found {
				if _, ok := clean.found[code]; !ok && code != MirrorCopies {
					t.Errorf("%s is new", code)
				}
			}
			if clean.sum.Worst != nil && clean.sum.Worst.Ledger != w.sum.Worst.Ledger {
				t.Errorf("ledger\n got %s\nwant %s", ledgerText(&w.sum.Worst.Ledger), ledgerText(&clean.sum.Worst.Ledger))
			}
			if w.sum.Client.Packets != clean.sum.Client.Packets || w.sum.Server.Packets != clean.sum.Server.Packets {
				t.Errorf("packets %d+%d in place of %d+%d", w.sum.Client.Packets, w.sum.Server.Packets, clean.sum.Client.Packets, clean.sum.Server.Packets)
			}
		})
	}
}

// TestRecordIsSmall: connections without payload are most of a busy capture.
func TestRecordIsSmall(t *testing.T) {
	t.Parallel()
	if n := unsafe.Sizeof(record{}); n > 168 {
		t.Errorf("a record takes %d bytes", n)
	}
	t.Logf("record %d, talk %d, bulk %d bytes", unsafe.Sizeof(record{}), unsafe.Sizeof(talk{}), unsafe.Sizeof(bulk{}))
}

// steady is a long transfer with its ACKs.
func steady(tb testing.TB, n int) (*world, []segment) {
	tb.Helper()
	w := newWorld(tb)
	w.play(script(tb, shake+"21 c>s PA len=100"))
	segs := make([]segment, 0, 2*n)
	at := int64(1e18 + 41e6)
	opts := []byte{kindNop, kindNop, kindStamp, 10, 0, 0, 0, 0, 0, 0, 0, 0}
	for i := range n {
		at += 100_000
		d := segment{Segment: tcp.Segment{Frame: uint64(5 + 2*i), Time: at, Dir: flow.ToClient, Seq: isn + 1 + uint32(i)*1448, Ack: isn + 101, Flags: tcp.FlagACK, Window: 1000, Len: 1448, TTL: 60, IPID: uint16(i), Options: opts, Stamped: true}}
		a := segment{Segment: tcp.Segment{Frame: uint64(6 + 2*i), Time: at + 1000, Dir: flow.ToServer, Seq: isn + 101, Ack: isn + 1 + uint32(i+1)*1448, Flags: tcp.FlagACK, Window: 1000, TTL: 64, IPID: uint16(i), Options: opts, Stamped: true}}
		segs = append(segs, d, a)
	}
	return w, segs
}

func TestSegmentAllocatesNothing(t *testing.T) {
	w, segs := steady(t, 4000)
	var v tcp.View
	i := 0
	one := func() {
		s := &segs[i%len(segs)]
		m := w.track.Segment(w.conv, &s.Segment, &v)
		w.books.Segment(w.ref, &s.Segment, m, &v)
		i++
	}
	for range 200 {
		one()
	}
	if n := testing.AllocsPerRun(5000, one); n != 0 {
		t.Errorf("%v allocations a segment", n)
	}
}

// TestShortConnectionsAllocateNothing: records, talks and their lists are used again.
func TestShortConnectionsAllocateNothing(t *testing.T) {
	segs := script(t, shake+"21 c>s PA len=100; 41 s>c A; 42 s>c PA len=300; 42 c>s FA; 62 s>c FA; 62 c>s A")
	books := New(Options{}, func(uint32, finding.Finding) {})
	track := tcp.NewTracker(tcp.Limits{}, deafHandler{})
	var v tcp.View
	var sum conn.Summary
	key := flow.Key{Proto: flow.TCP}
	one := func() {
		ref, c := books.Open(1, &key, true), track.Open(1)
		for i := range segs {
			m := track.Segment(c, &segs[i].Segment, &v)
			books.Segment(ref, &segs[i].Segment, m, &v)
		}
		track.Close(c, 0)
		sum = conn.Summary{}
		books.Close(ref, proto.Closed, &sum)
	}
	one()
	// The worst exchange goes out with the summary; what is ranked is a copy.
	if n := testing.AllocsPerRun(200, one); n > 12 {
		t.Errorf("%v allocations a connection", n)
	}
}

func BenchmarkSegment(b *testing.B) {
	w, segs := steady(b, 50_000)
	marks := make([]tcp.Marks, len(segs))
	views := make([]tcp.View, len(segs))
	for i := range segs {
		marks[i] = w.track.Segment(w.conv, &segs[i].Segment, &views[i])
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i == len(segs) {
			i = 0
		}
		w.books.Segment(w.ref, &segs[i].Segment, marks[i], &views[i])
		i++
	}
}

func TestStallLogKeepsSums(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var g stallLog
	var want int64
	at := int64(1e18)
	for range 1000 {
		at += 1 + r.Int64N(1e9)
		n := 1 + r.Int64N(1e8)
		g.add(wait(r.IntN(int(waits))), flow.Dir(r.IntN(2)), at, at+n)
		at += n
		want += n
	}
	if len(g.list) > maxStalls {
		t.Errorf("%d entries", len(g.list))
	}
	got := g.within(1e18, at)
	if sum := got[0] + got[1] + got[2]; sum > want || sum < want-int64(len(g.list)) {
		t.Errorf("sum %d, want %d", sum, want)
	}
	half := g.within(1e18, 1e18+(at-1e18)/2)
	for k := range half {
		if half[k] < 0 || half[k] > got[k] {
			t.Errorf("half %v of %v", half, got)
		}
	}
}

func TestDefs(t *testing.T) {
	t.Parallel()
	seen := map[finding.Code]bool{}
	for _, d := range Defs() {
		if seen[d.Code] {
			t.Errorf("%s twice", d.Code)
		}
		seen[d.Code] = true
		if !strings.HasPrefix(string(d.Code), "tcp.") || d.Doc == "" {
			t.Errorf("%s: name or doc", d.Code)
		}
		names := map[string]bool{}
		for _, m := range d.Metrics {
			if names[m.Name] || m.Doc == "" {
				t.Errorf("%s.%s: twice or without doc", d.Code, m.Name)
			}
			names[m.Name] = true
		}
	}
}

// TestLateCopies: a hub that doubles frames some milliseconds later is told from a
// sender by the IP ID. The first copies may come before the connection has a memory.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	w := played(t, shake+`
		21 c>s PA len=100 id=500
		27 c>s PA len=100 seq=0 id=500
		41 s>c A ack=100
		60 c>s PA len=100 seq=100 id=501
		61 c>s PA len=100 seq=200 id=502
		69 c>s PA len=100 seq=100 id=501
		70 c>s PA len=100 seq=200 id=502
		81 s>c A ack=300`)
	if got := w.value(MirrorCopies, "frames"); got != 3 {
		t.Errorf("copies: got %v, want 3; there is %s", got, w.codes())
	}
	for _, code := range []finding.Code{Loss, Retransmission} {
		if f, ok := w.found[code]; ok {
			t.Errorf("%s, but: %+v", code, f)
		}
	}
}
