package analyze

import (
	"net/netip"
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// Found is a symptom when it is first seen, long before its conversation ends and
// with it what is known of it then. The ends of the conversation are those of its
// first frame.
type Found struct {
	finding.Finding
	Client, Server netip.AddrPort // zero: not of one conversation
}

// foreteller tells of symptoms while the packets are read; nil tells nobody.
//
// What all lanes say of one batch is known when the last of them has said it, so
// the symptoms of a batch come together, by frame: in the same order for any
// number of lanes. What is gathered by host is left for the end, since each lane
// sees a part of a host. A capture that ends within the first batches has nothing
// told early: its report follows at once.
type foreteller struct {
	tell func(*Found)
	held int // batches to wait for before anything is told
	ends map[flow.ID][2]netip.AddrPort
	gone []flow.ID // folded in this batch
	list []Found
	left int
}

// firstBatches are 4 MiB: a fraction of a second.
const firstBatches = 16

func newForeteller(tell func(*Found)) *foreteller {
	if tell == nil {
		return nil
	}
	return &foreteller{tell: tell, held: firstBatches, ends: make(map[flow.ID][2]netip.AddrPort), left: MaxFindings}
}

func (e *foreteller) opened(id flow.ID, o *opened) {
	if e == nil {
		return
	}
	ends := [2]netip.AddrPort{o.key.AddrA(), o.key.AddrB()}
	if !o.clientIsA {
		ends[0], ends[1] = ends[1], ends[0]
	}
	e.ends[id] = ends
}

func (e *foreteller) closed(id flow.ID) {
	if e != nil {
		e.gone = append(e.gone, id)
	}
}

func (e *foreteller) found(lane int, f *finding.Finding) {
	if e == nil || e.left == 0 || !f.Flow.Valid() && lane >= 0 {
		return
	}
	e.left--
	ends := e.ends[f.Flow]
	x := Found{Finding: *f, Client: ends[0], Server: ends[1]}
	x.Evidence.Frames, x.Values = slices.Clone(f.Evidence.Frames), slices.Clone(f.Values) // the lane goes on with its own
	e.list = append(e.list, x)
}

// batch ends a batch.
func (e *foreteller) batch() {
	if e == nil {
		return
	}
	if e.held > 0 {
		e.held--
		return
	}
	slices.SortStableFunc(e.list, func(a, b Found) int { return compareFindings(&a.Finding, &b.Finding) })
	for i := range e.list {
		e.tell(&e.list[i])
	}
	clear(e.list)
	e.list = e.list[:0]
	for _, id := range e.gone {
		delete(e.ends, id)
	}
	e.gone = e.gone[:0]
}
