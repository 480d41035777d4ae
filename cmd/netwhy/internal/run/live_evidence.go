package run

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"netwhy/analyze/decode"
	"netwhy/analyze/flow"
	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/report"
)

// Bounds of the evidence of one diagnosis of a live run.
const (
	evidenceBefore = 5 * time.Second // of the symptom's first frame
	evidenceAfter  = 5 * time.Second // of its last one
	evidenceMost   = 8 << 20         // bytes of a file
	evidenceTotal  = 256 << 20       // of all files of a run
	ringDefault    = 64 << 20
)

// liveEvidence writes what the ring holds around a diagnosis: the frames that
// prove it, and those of the same hosts from shortly before to shortly after.
type liveEvidence struct {
	c       *liveRun
	pending []dueEvidence
	done    map[string]*report.EvidenceFile // by the diagnosis' id
	failed  bool                            // told once
	total   int                             // bytes of frames in all files
}

type dueEvidence struct {
	at time.Time // the frames after it have come
	d  report.Diagnosis
	r  *report.Report
}

func newLiveEvidence(c *liveRun) *liveEvidence {
	return &liveEvidence{c: c, done: map[string]*report.EvidenceFile{}}
}

// want notes a diagnosis that is new.
func (e *liveEvidence) want(now time.Time, r *report.Report, d *report.Diagnosis) {
	e.pending = append(e.pending, dueEvidence{now.Add(evidenceAfter), *d, r})
}

// write writes what is due.
func (e *liveEvidence) write(ctx context.Context, now time.Time) {
	for len(e.pending) > 0 && !now.Before(e.pending[0].at) {
		x := &e.pending[0]
		e.one(ctx, x.r, &x.d)
		e.pending = slices.Delete(e.pending, 0, 1)
	}
}

// finish writes what was not due yet, and what is new in the last report, and
// notes the files in it.
func (e *liveEvidence) finish(ctx context.Context, r *report.Report) {
	e.pending = nil
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		if e.done[d.ID] == nil {
			e.one(ctx, r, d)
		}
		d.File = e.done[d.ID]
	}
}

func (e *liveEvidence) one(ctx context.Context, r *report.Report, d *report.Diagnosis) {
	if e.total > evidenceTotal {
		if !e.failed {
			e.failed = true
			e.c.say("evidence: %d MiB are written; no more is, the analysis goes on", evidenceTotal>>20)
		}
		return
	}
	named := *d
	named.ID = time.Now().UTC().Format("20060102T150405") + "-" + d.ID // of several runs into one folder
	file, err := newEvidenceFile(e.c.opt.Evidence, &named, e.c.w.Version)
	if err == nil {
		err = errors.Join(e.copy(file, r, d), file.finish(&named))
	}
	if err != nil {
		if !e.failed {
			e.failed = true
			e.c.w.Log.ErrorContext(ctx, "the evidence could not be written; the analysis goes on", slog.Any("err", &EvidenceError{Dir: e.c.opt.Evidence, Err: bare(err)}))
		}
		return
	}
	e.done[d.ID] = named.File
}

func (e *liveEvidence) copy(file *evidenceFile, r *report.Report, d *report.Diagnosis) error {
	from, to := span(r, d)
	from, to = from-int64(evidenceBefore), to+int64(evidenceAfter)
	pairs := hostPairs(d)
	interfaces := e.c.src.Info().Interfaces
	var (
		pkt  decode.Packet
		size int
		err  error
	)
	e.c.ring.Each(func(f *packet.Frame, data []byte) bool {
		proves := slices.Contains(d.Frames, f.Number)
		if !proves && (f.Time < from || f.Time > to || size > evidenceMost) {
			return true
		}
		if !proves && len(pairs) > 0 {
			decode.Decode(f.Link, data, f.WireLen, &pkt)
			if !pairs[pairOf(flow.Addr(pkt.Key.A), flow.Addr(pkt.Key.B))] {
				return true
			}
		}
		of := capture.Interface{}
		if int(f.Interface) < len(interfaces) {
			of = interfaces[f.Interface]
		}
		of.Link = f.Link
		size += len(data)
		e.total += len(data)
		err = file.write(r, d, f, data, of)
		return err == nil
	})
	return err
}

// span is the time from the first to the last frame of a diagnosis' symptoms.
func span(r *report.Report, d *report.Diagnosis) (from, to int64) {
	for _, id := range d.Evidence {
		f := r.FindingByID(id)
		if f == nil {
			continue
		}
		if from == 0 || int64(f.Start) < from {
			from = int64(f.Start)
		}
		to = max(to, int64(f.End))
	}
	return from, to
}

// pair is two hosts, the lower first.
type pair struct{ a, b netip.Addr }

func pairOf(a, b netip.Addr) pair {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return pair{a, b}
}

func hostPairs(d *report.Diagnosis) map[pair]bool {
	pairs := map[pair]bool{}
	for i := range d.Connections {
		a, err1 := netip.ParseAddrPort(d.Connections[i].Client)
		b, err2 := netip.ParseAddrPort(d.Connections[i].Server)
		if errors.Join(err1, err2) == nil {
			pairs[pairOf(a.Addr(), b.Addr())] = true
		}
	}
	return pairs
}
