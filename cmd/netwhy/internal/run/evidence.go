package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/report"
)

// EvidenceError says why the frames of a diagnosis could not be written.
type EvidenceError struct {
	Dir string
	Err error
}

func (e *EvidenceError) Error() string { return fmt.Sprintf("write evidence to %s: %v", e.Dir, e.Err) }

func (e *EvidenceError) Unwrap() error { return e.Err }

var errStdin = errors.New("standard input cannot be read a second time; save it to a file first")

// prepareEvidence makes the folder, before anything is read.
func prepareEvidence(opt *Options) error {
	if opt.Evidence == "" {
		return nil
	}
	if slices.Contains(opt.Files, "-") {
		return &EvidenceError{Dir: opt.Evidence, Err: errStdin}
	}
	if err := os.MkdirAll(opt.Evidence, 0o750); err != nil {
		return &EvidenceError{Dir: opt.Evidence, Err: bare(err)}
	}
	return nil
}

// writeEvidence reads the captures again and writes, for each diagnosis, the
// frames that prove it: original bytes and times, each with a comment that names
// diagnosis, symptom and its number in the whole. What was written is noted in
// the diagnosis.
func writeEvidence(ctx context.Context, w World, opt *Options, r *report.Report) (err error) {
	if opt.Evidence == "" || len(r.Diagnoses) == 0 {
		return nil
	}
	defer func() {
		if err != nil {
			err = &EvidenceError{Dir: opt.Evidence, Err: bare(err)}
		}
	}()
	wanted, last := wantedFrames(r)
	src, err := capture.Open(ctx, opt.Files, capture.Options{Filter: opt.Filter})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	files := make([]*evidenceFile, len(r.Diagnoses))
	defer func() {
		for i, f := range files {
			if f != nil {
				err = errors.Join(err, f.finish(&r.Diagnoses[i]))
			}
		}
	}()
	for i := range r.Diagnoses {
		if files[i], err = newEvidenceFile(opt.Evidence, &r.Diagnoses[i], w.Version); err != nil {
			return err
		}
	}
	return copyFrames(ctx, src, last, func(f *packet.Frame, data []byte, of capture.Interface) error {
		for _, i := range wanted[f.Number] {
			if err := files[i].write(r, &r.Diagnoses[i], f, data, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// wantedFrames maps each frame to the diagnoses that it proves.
func wantedFrames(r *report.Report) (wanted map[uint64][]int, last uint64) {
	wanted = make(map[uint64][]int)
	for i := range r.Diagnoses {
		for _, n := range r.Diagnoses[i].Frames {
			wanted[n] = append(wanted[n], i)
			last = max(last, n)
		}
	}
	return wanted, last
}

// copyFrames reads up to frame last.
func copyFrames(ctx context.Context, src *capture.File, last uint64, each func(*packet.Frame, []byte, capture.Interface) error) error {
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		interfaces := src.Info().Interfaces
		for i := range b.Frames {
			f := &b.Frames[i]
			var of capture.Interface
			if int(f.Interface) < len(interfaces) {
				of = interfaces[f.Interface]
			}
			of.Link = f.Link
			if err := each(f, b.Data(f), of); err != nil {
				b.Release()
				return err
			}
		}
		done := len(b.Frames) > 0 && b.Frames[len(b.Frames)-1].Number >= last
		b.Release()
		if done {
			return nil
		}
	}
}

// evidenceFile is the pcapng of one diagnosis.
type evidenceFile struct {
	name   string
	file   *os.File
	record *capture.Recorder
	index  map[uint16]uint16 // interface of the run to interface of the file
}

func newEvidenceFile(dir string, d *report.Diagnosis, version string) (*evidenceFile, error) {
	name := d.ID + "-" + fileName(d.Cause) + ".pcapng"
	f, err := os.Create(filepath.Join(dir, name)) //nolint:gosec // the user's folder; the name is an id and a cause in letters
	if err != nil {
		return nil, err
	}
	rec, err := capture.NewRecorder(f, capture.RecordOptions{Application: "netwhy " + version, Comment: d.ID + " " + d.Cause + ": " + d.Title})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &evidenceFile{name: name, file: f, record: rec, index: map[uint16]uint16{}}, nil
}

// fileName leaves only what is harmless in a file's name: a cause may be a
// model's word.
func fileName(cause string) string {
	const most = 60
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, cause[:min(most, len(cause))])
}

func (e *evidenceFile) write(r *report.Report, d *report.Diagnosis, f *packet.Frame, data []byte, of capture.Interface) error {
	at, ok := e.index[f.Interface]
	if !ok {
		var err error
		if at, err = e.record.AddInterface(of); err != nil {
			return err
		}
		e.index[f.Interface] = at
	}
	own := *f
	own.Interface = at
	var comment strings.Builder
	fmt.Fprintf(&comment, "netwhy %s %s: frame %d", d.ID, d.Cause, f.Number)
	for _, id := range d.Evidence {
		if s := r.FindingByID(id); s != nil && slices.Contains(s.Frames, f.Number) {
			comment.WriteString(", " + s.ID + " " + s.Code)
		}
	}
	return e.record.Write(&own, data, comment.String())
}

// finish closes the file and notes its name and digest.
func (e *evidenceFile) finish(d *report.Diagnosis) error {
	err := errors.Join(e.record.Finish(nil), e.file.Close())
	if err != nil {
		return err
	}
	f, err := os.Open(e.file.Name())
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	d.File = &report.EvidenceFile{Name: e.name, SHA256: hex.EncodeToString(h.Sum(nil))}
	return nil
}
