package analyze

import (
	"cmp"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// TestKeeperKeepsTheGravest: what has findings stays, the gravest first, and what
// has no place is kept in short.
func TestKeeperKeepsTheGravest(t *testing.T) {
	t.Parallel()
	c := newCollector(Options{MaxSummaries: 3}, newPipeline(Options{Workers: 1}, newKeyLog()), nil)
	closing := func(n uint32, score int64, has ...finding.Severity) {
		c.setNumber(0, 1, flow.ID{Proto: flow.TCP, Stream: n})
		for i, sev := range has {
			f := finding.Finding{Code: finding.Code("tcp.x" + string(rune('a'+i))), Severity: sev, Flow: c.number(0, 1)}
			f.Evidence.Add(uint64(n)+1, 0)
			c.find(0, f)
			c.find(0, f) // said again: one finding all the same
		}
		c.close(0, &closed{slot: 1, sum: &conn.Summary{
			Proto: "tcp", Score: score, App: "http",
			Client: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.1:4000"), Packets: 2}, Server: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.2:80"), Packets: 3},
		}})
	}
	closing(7, 1000)
	closing(5, 0, finding.Info)
	closing(4, 0, finding.Warning, finding.Info)
	closing(6, 2000)
	closing(3, 0, finding.Notice)
	closing(2, 0, finding.Info)
	closing(1, 1, finding.Warning)
	r := c.result()
	var kept []uint32
	for i := range r.Connections {
		kept = append(kept, r.Connections[i].ID.Stream)
	}
	if len(kept) != 3 || kept[0] != 1 || kept[1] != 3 || kept[2] != 4 || r.Connections[2].Findings != 2 {
		t.Errorf("kept %v, want 1 3 4; findings of 4: %d, want 2", kept, r.Connections[2].Findings)
	}
	for _, x := range []struct {
		stream           uint32
		brief, forgotten bool
	}{{1, false, false}, {2, true, true}, {5, true, true}, {6, false, true}, {9, false, true}} {
		b, ok := r.Forgotten(flow.ID{Proto: flow.TCP, Stream: x.stream})
		if ok != x.forgotten || b.Server.IsValid() != x.brief || x.brief && (b.Packets != 5 || b.App != "http") {
			t.Errorf("%d: forgotten %t, in short %+v", x.stream, ok, b)
		}
	}
}

// TestRankedFar: keys of any size are in the order that comparing them gives.
func TestRankedFar(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []uint64{0, 5, 1 << 11, 1 << 21, 1 << 37, math.MaxUint64} {
		keys := make([]uint64, 500)
		for i := range keys {
			keys[i] = r.Uint64() & most
		}
		want := make([]uint32, len(keys))
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(keys[a], keys[b]) })
		for i, x := range ranked(len(keys), func(i int) uint64 { return keys[i] }, func(_, _ int) int { return 0 }) {
			if x.At != want[i] || x.Key != keys[want[i]] {
				t.Fatalf("up to %d, place %d: %d, want %d", most, i, x.At, want[i])
			}
		}
	}
}

func TestRanked(t *testing.T) {
	t.Parallel()
	for _, in := range [][]int{{}, {1}, {2, 1}, {3, 1, 2}, {1, 2, 3}, {5, 4, 3, 2, 1, 0}, {2, 0, 1, 5, 3, 4}, {1, 1, 0, 1}} {
		order := ranked(len(in), func(i int) uint64 { return uint64(in[i] / 2) }, func(a, b int) int { return in[a] - in[b] })
		for i := 1; i < len(order); i++ {
			if a, b := order[i-1].At, order[i].At; in[a] > in[b] || in[a] == in[b] && a > b {
				t.Errorf("%v is not in order after place %d", in, i)
			}
		}
	}
}
