package ledger

import (
	"testing"

	"netwhy/analyze/flow"
)

// TestDoubtEnds: what is verified of a connection with trouble has an end, unless a
// checksum was wrong.
func TestDoubtEnds(t *testing.T) {
	t.Parallel()
	b := New(Options{}, nil)
	ref := b.Open(1, &flow.Key{Proto: flow.TCP}, true)
	r := b.records.At(uint32(ref))
	r.packets[0] = fewSegments
	k := b.talkOf(r)
	if b.Doubtful(ref, 0) {
		t.Error("doubted without trouble")
	}
	k.hurt()
	r.flags |= flagDoubt
	for resent := uint32(1); resent <= 2; resent++ {
		k.voice[0].resent = resent
		n := uint32(0)
		for b.Doubtful(ref, 0) {
			n++
		}
		if want := doubtEach + (2-resent)*doubtSegments; n != want {
			t.Errorf("%d segments are verified after %d were sent again, want %d", n, resent, want)
		}
	}
	if k.sums[0].n = 1; !b.Doubtful(ref, 0) {
		t.Error("no longer doubted though a checksum was wrong")
	}
}
