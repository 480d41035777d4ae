package capture

import (
	"context"
	"io"

	"netwhy/capture/packet"
)

// merger makes one timeline of several files, as mergecap does: of the files'
// next frames the earliest goes first, and the file named first where times are
// equal. Frames of one file keep their order even where its time goes back.
// Frames are numbered over the merged timeline.
type merger struct {
	inputs []*mergeInput
	number uint64
	bytes  int
}

// mergeInput is a file with its batch in hand.
type mergeInput struct {
	r     *reader
	batch packet.Batch
	next  int // frame of the batch
	over  bool
}

func newMerger(readers []*reader, batchBytes int) *merger {
	m := &merger{bytes: batchBytes}
	for _, r := range readers {
		m.inputs = append(m.inputs, &mergeInput{r: r})
	}
	return m
}

// next fills b, which is empty, from all files.
func (m *merger) next(ctx context.Context, b *packet.Batch) error {
	for {
		in, err := m.earliest(ctx, b)
		if err != nil && len(b.Frames) == 0 {
			return err
		}
		if err != nil || in == nil { // what is merged so far is not lost with ctx
			break
		}
		f := in.batch.Frames[in.next]
		data := in.batch.Data(&f)
		f.Number = m.number + 1
		if !b.Append(f, data) {
			break
		}
		m.number++
		in.next++
		if in.next == len(in.batch.Frames) && in.r.raw.size < 0 {
			break // a pipe may have nothing more at the moment
		}
	}
	if len(b.Frames) == 0 && len(b.Secrets) == 0 {
		return io.EOF
	}
	return nil
}

// earliest returns the input whose next frame comes first, nil at the end of all.
func (m *merger) earliest(ctx context.Context, b *packet.Batch) (*mergeInput, error) {
	var first *mergeInput
	for _, in := range m.inputs {
		if err := in.ready(ctx, b, m.bytes); err != nil {
			return nil, err
		}
		if in.over {
			continue
		}
		if first == nil || in.batch.Frames[in.next].Time < first.batch.Frames[first.next].Time {
			first = in
		}
	}
	return first, nil
}

// ready makes sure that the input has a frame in hand or is over. Secrets go
// into b, so that they come no later than the frames they belong to.
func (in *mergeInput) ready(ctx context.Context, b *packet.Batch, bytes int) error {
	if in.over || in.next < len(in.batch.Frames) {
		return nil
	}
	if in.batch.Buf == nil {
		in.batch.Buf = make([]byte, 0, bytes)
	}
	for {
		in.batch.Frames, in.next = in.batch.Frames[:0], 0
		err := in.r.fill(ctx, &in.batch)
		b.Secrets = append(b.Secrets, in.batch.Secrets...)
		in.batch.Secrets = nil
		switch {
		case err == nil && len(in.batch.Frames) == 0: // secrets alone
		case err != nil && ctx.Err() == nil:
			in.over = true // at its end; or no capture, and then Info says so
			return nil
		default:
			return err
		}
	}
}
