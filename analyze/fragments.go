package analyze

import (
	"netwhy/analyze/correlate"
	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
)

// fragments is what the first lane, which sees all fragments as every lane does,
// has told of them.
type fragments struct {
	told decode.DefragStats
	tiny uint64
}

// tinyFragment is less than any link makes of a datagram that it has to cut (RFC
// 791, 3.1: 576 bytes for everybody; RFC 8200, 5: 1280).
const tinyFragment = 256

// fragment tells the correlators what fragments amount to: when one is odd, and
// now and then.
func (l *lane) fragment(p *decode.Packet) {
	const step = 32
	f, now := &l.fragments, &l.defrag.Stats
	if p.MF && p.End-p.L4 < tinyFragment {
		f.tiny++
	}
	odd := now.Conflicts != f.told.Conflicts || now.Overlaps != f.told.Overlaps || now.Malformed != f.told.Malformed
	if !odd && now.Fragments < f.told.Fragments+step {
		return
	}
	f.told = *now
	l.publish(&correlate.Fragments{
		From: flow.Addr(p.Src()), To: flow.Addr(p.Dst()), V6: p.IPVersion == 6, Odd: odd, Tiny: f.tiny,
		Fragments: now.Fragments, Whole: now.Whole, Conflicts: now.Conflicts, Overlaps: now.Overlaps, Malformed: now.Malformed,
	})
}
