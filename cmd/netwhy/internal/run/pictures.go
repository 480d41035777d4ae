package run

import (
	"context"
	"errors"
	"slices"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/trace"
)

// Bounds of what charts show.
const (
	maxTraced       = 40 // connections in all
	maxTracedOfEach = 3  // of one diagnosis
)

// measured puts a meter before the analysis, where an output has charts.
func (o *outputs) measured(src analyze.Source) (analyze.Source, *trace.Meter) {
	if !o.pictures {
		return src, nil
	}
	m := trace.NewMeter(src)
	return m, m
}

// illustrate reads the captures again and gathers what the charts of the report
// are drawn from.
func illustrate(ctx context.Context, opt *Options, res *analyze.Result, r *report.Report, m *trace.Meter) (err error) {
	if m == nil {
		return nil
	}
	r.Traffic = m.Traffic()
	connections, frames := diagnosed(res, r)
	if len(connections) == 0 && len(frames) == 0 {
		return nil
	}
	if len(opt.Files) == 0 || slices.Contains(opt.Files, "-") {
		r.NoPictures = true
		return nil
	}
	src, err := capture.Open(ctx, opt.Files, capture.Options{Filter: opt.Filter})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	set := trace.NewSet(connections, frames)
	err = copyFrames(ctx, src, set.Last(), func(f *packet.Frame, data []byte, _ capture.Interface) error {
		set.Add(f, data)
		return nil
	})
	r.Traces, r.Exhibits = set.Traces, set.Exhibits
	return err
}

// diagnosed lists the connections and frames that the diagnoses name, worst
// first.
func diagnosed(res *analyze.Result, r *report.Report) (connections []*conn.Summary, frames []uint64) {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		frames = append(frames, d.Frames...)
		for j := range min(maxTracedOfEach, len(d.Connections)) {
			id := flow.ID{Proto: flow.TCP, Stream: d.Connections[j].Stream}
			if d.Connections[j].Proto == protoUDP {
				id.Proto = flow.UDP
			}
			if s := res.Connection(id); s != nil && len(connections) < maxTraced && !slices.Contains(connections, s) {
				connections = append(connections, s)
			}
		}
	}
	return connections, frames
}
