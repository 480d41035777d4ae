package trace

import (
	"context"

	"netwhy/analyze"
	"netwhy/capture/packet"
)

// Traffic is how much there was when, in equal steps from Start.
type Traffic struct {
	Start int64 // ns since 1970 UTC
	Step  int64 // ns
	Slots []Slot
}

// Slot is one step of Traffic.
type Slot struct{ Frames, Bytes uint64 }

// Steps are at least a millisecond, and their number stays between half of
// maxSlots and maxSlots once the capture is long enough.
const (
	maxSlots  = 1024
	firstStep = 1_000_000
	maxStep   = 1 << 61 // beyond, another doubling would wrap
)

// Meter is a source that measures what passes through it. Its cost is one
// addition a frame, and its memory is fixed: when the capture outgrows the slots,
// neighbours are joined.
type Meter struct {
	src analyze.Source
	t   Traffic
	any bool
}

// NewMeter measures src.
func NewMeter(src analyze.Source) *Meter { return &Meter{src: src} }

// Next hands on the next batch.
func (m *Meter) Next(ctx context.Context) (*packet.Batch, error) {
	b, err := m.src.Next(ctx)
	if err != nil {
		return b, err
	}
	for i := range b.Frames {
		m.add(b.Frames[i].Time, b.Frames[i].WireLen)
	}
	return b, nil
}

// Traffic is what passed; nil before the first frame. Not during Next.
func (m *Meter) Traffic() *Traffic {
	if !m.any {
		return nil
	}
	return &m.t
}

// add counts a frame. Frames from before the first one (a clock that was set
// back) count with it.
func (m *Meter) add(at int64, length uint32) {
	if !m.any {
		m.any = true
		m.t = Traffic{Start: at, Step: firstStep, Slots: make([]Slot, 0, maxSlots)}
	}
	since := uint64(at) - uint64(m.t.Start) //nolint:gosec // a difference of int64 fits
	if at < m.t.Start {
		since = 0
	}
	for m.slot(since) >= maxSlots && m.t.Step < maxStep {
		m.join()
	}
	i := min(m.slot(since), maxSlots-1)
	for uint64(len(m.t.Slots)) <= i {
		m.t.Slots = append(m.t.Slots, Slot{})
	}
	m.t.Slots[i].Frames++
	m.t.Slots[i].Bytes += uint64(length)
}

// slot is the place of a moment, in ns since the start.
func (m *Meter) slot(since uint64) uint64 {
	return since / uint64(m.t.Step) //nolint:gosec // a step is positive
}

func (m *Meter) join() {
	half := (len(m.t.Slots) + 1) / 2
	for i := range half {
		s := m.t.Slots[2*i]
		if 2*i+1 < len(m.t.Slots) {
			s.Frames += m.t.Slots[2*i+1].Frames
			s.Bytes += m.t.Slots[2*i+1].Bytes
		}
		m.t.Slots[i] = s
	}
	m.t.Slots = m.t.Slots[:half]
	m.t.Step *= 2
}
