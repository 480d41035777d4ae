package tcp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// program reads plans from a fuzzer's bytes, eight for each, at most 60.
func program(b []byte) []plan {
	var plans []plan
	var top, acked [2]int
	for len(b) >= 8 && len(plans) < 60 {
		d := flow.Dir(b[0] & 1)
		o := d ^ 1
		p := plan{
			dir: d, n: int(b[1]) << (b[0] >> 1 & 3) * 3, at: max(top[d]+int(int8(b[2]))<<(b[0]>>3&3), 0),
			ack: max(acked[o]+int(int8(b[3]))<<(b[0]>>6), 0), fin: b[4]&0x3f == 1, rst: b[4] == 0xff,
			fill: b[5], dt: int64(b[6]) * 100_000,
		}
		if b[7] < 32 {
			p.cut = p.n * int(b[7]) / 31
		}
		if p.n > 0 || b[4]&0x80 == 0 {
			top[d] = max(top[d], p.at+p.n)
		}
		acked[o] = max(acked[o], min(p.ack, top[o]+1))
		plans = append(plans, p)
		b = b[8:]
	}
	return plans
}

// split cuts each payload into segments of at most k bytes, as a NIC does that
// segments what the host sends.
func split(plans []plan, k int) []plan {
	var out []plan
	for _, p := range plans {
		if p.rst {
			out = append(out, p)
			continue
		}
		have := p.n - p.cut
		for at := 0; ; at += k {
			q := p
			q.at, q.n = p.at+at, min(k, p.n-at)
			q.cut = q.n - min(q.n, max(have-at, 0))
			q.fin = p.fin && at+k >= p.n
			if at > 0 {
				q.dt = 0
			}
			out = append(out, q)
			if at+k >= p.n {
				break
			}
		}
	}
	return out
}

// FuzzTracker looks for a panic, memory without bound, bytes that nobody sent,
// and a stream that depends on how it was cut into segments.
func FuzzTracker(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		b := make([]byte, 8*(1+r.IntN(30)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		plans := program(b)
		whole := run(t, plans, tcp.Limits{}, true)
		parts := run(t, split(plans, 700), tcp.Limits{}, true)
		for d := range whole.out {
			if !slices.Equal(whole.out[d], parts.out[d]) {
				t.Errorf("direction %d: another stream when the segments are cut (%d and %d bytes)", d, len(whole.out[d]), len(parts.out[d]))
			}
		}
		run(t, plans, tcp.Limits{Connection: 4096, Total: 8192, Segments: 3, Nodes: 9}, false)
	})
}
