package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"netwhy/capture/packet"
)

// RecordingOptions says where frames are recorded. With a size or a time the
// recording is cut into files, whose names are Path with a number and the time
// of their beginning before its ending: "trace_00001_20260807T101502.pcapng".
type RecordingOptions struct {
	Path        string
	RotateSize  int64         // bytes after which a new file begins; 0: never
	RotateTime  time.Duration // the same by the time of the frames
	Keep        int           // files kept, also of earlier runs; 0: all
	KeepBytes   int64         // bytes kept in all; 0: no limit
	Application string        // that records, such as "netwhy 1.2.0"
}

func (o *RecordingOptions) rotates() bool { return o.RotateSize > 0 || o.RotateTime > 0 }

// Recording writes frames into one or several pcapng files. It is used by one
// goroutine. Its first error ends it: what was written until then is a whole file.
type Recording struct {
	opt    RecordingOptions
	ifaces func() []Interface
	file   *os.File
	rec    *Recorder
	index  map[uint16]uint16 // interface of the run to interface of the file
	began  int64             // time of the file's first frame
	empty  bool              // the file has no frame yet
	base   []Interface       // what the interfaces had dropped when the file began
	number int
	whole  int64 // bytes of the file that are whole blocks
	frames uint64
	err    error
}

// NewRecording begins a recording; interfaces tells those of the run, with what
// they dropped. A single file is made at once, so that a path that cannot be
// written is told before anything is captured.
func NewRecording(opt RecordingOptions, interfaces func() []Interface) (*Recording, error) {
	r := &Recording{opt: opt, ifaces: interfaces}
	if opt.rotates() {
		dir := filepath.Dir(opt.Path)
		st, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, recordError(opt.Path, err)
		case !st.IsDir():
			return nil, recordError(opt.Path, errors.New(dir+" is no folder"))
		}
		for _, f := range r.files() {
			r.number = max(r.number, f.number)
		}
	}
	return r, r.begin(time.Now().UnixNano())
}

// RecordError says why a recording ended or cannot begin.
type RecordError struct {
	Path   string
	Err    error
	Remedy string
}

func (e *RecordError) Error() string {
	s := fmt.Sprintf("record to %s: %v", e.Path, e.Err)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *RecordError) Unwrap() error { return e.Err }

func recordError(path string, err error) error {
	out := &RecordError{Path: path, Err: err}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		out.Err = pe.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		out.Remedy = "the file is written as the user that netwhy becomes: name a folder that this user may write to, or that user with --user"
	case errors.Is(err, fs.ErrNotExist):
		out.Remedy = "make the folder first"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		out.Remedy = "the recording ends here, the analysis goes on; --keep or --keep-bytes bound what is kept"
	}
	return out
}

// begin opens the next file.
func (r *Recording) begin(at int64) error {
	name := r.opt.Path
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if r.opt.rotates() {
		r.number++
		stem, ending := split(r.opt.Path)
		name = fmt.Sprintf("%s_%05d_%s%s", stem, r.number, time.Unix(0, at).UTC().Format(stampLayout), ending)
	}
	f, err := os.OpenFile(name, flags, 0o640) //nolint:gosec // the user names it; packets are not for everybody
	if err != nil {
		r.err = recordError(name, err)
		return r.err
	}
	r.file, r.index, r.empty, r.whole = f, map[uint16]uint16{}, true, 0
	r.base = r.ifaces()
	if r.rec, err = NewRecorder(f, RecordOptions{Application: r.opt.Application}); err == nil {
		err = r.flush()
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

const (
	// flushBytes is below the recorder's buffer, so that what is written always
	// ends with a whole block, and a disk that fills up has all it can hold.
	flushBytes  = recorderBuffer / 2
	stampLayout = "20060102T150405"
	digits      = 5
)

// split takes the ending off a path.
func split(path string) (stem, ending string) {
	ending = filepath.Ext(path)
	return strings.TrimSuffix(path, ending), ending
}

// Write writes a batch, and begins a new file where one is due.
func (r *Recording) Write(b *packet.Batch) error {
	if r.err != nil {
		return r.err
	}
	for i := range b.Frames {
		f := &b.Frames[i]
		if r.due(f) {
			if err := r.rotate(f.Time); err != nil {
				return err
			}
		}
		if r.empty {
			r.began, r.empty = f.Time, false
		}
		if err := r.write(f, b.Data(f)); err != nil {
			return r.fail(err)
		}
		if r.rec.Size()-r.whole >= flushBytes {
			if err := r.flush(); err != nil {
				return r.fail(err)
			}
		}
	}
	if err := r.flush(); err != nil {
		return r.fail(err)
	}
	return nil
}

func (r *Recording) due(f *packet.Frame) bool {
	if r.empty { // each file has at least one frame
		return false
	}
	return r.opt.RotateSize > 0 && r.rec.Size() >= r.opt.RotateSize ||
		r.opt.RotateTime > 0 && f.Time-r.began >= int64(r.opt.RotateTime)
}

func (r *Recording) write(f *packet.Frame, data []byte) error {
	at, ok := r.index[f.Interface]
	if !ok {
		i := Interface{Link: f.Link}
		if list := r.ifaces(); int(f.Interface) < len(list) {
			i = list[f.Interface]
		}
		var err error
		if at, err = r.rec.AddInterface(i); err != nil {
			return err
		}
		r.index[f.Interface] = at
	}
	own := *f
	own.Interface = at
	r.frames++
	return r.rec.Write(&own, data, "")
}

func (r *Recording) flush() error {
	if err := r.rec.Flush(); err != nil {
		return err
	}
	r.whole = r.rec.Size()
	return nil
}

// fail ends the recording and leaves a file of whole blocks.
func (r *Recording) fail(err error) error {
	r.err = recordError(r.file.Name(), err)
	_ = r.file.Truncate(r.whole) // a torn block would be damage to whoever reads it
	_ = r.file.Close()
	r.file = nil
	return r.err
}

func (r *Recording) rotate(at int64) error {
	if err := r.finish(); err != nil {
		return r.fail(err)
	}
	r.file = nil
	if err := r.begin(at); err != nil {
		return err
	}
	r.prune()
	return nil
}

// finish writes the statistics of the file and closes it.
func (r *Recording) finish() error {
	now := r.ifaces()
	drops := make([]Interface, len(r.index))
	for of, at := range r.index {
		if int(of) >= len(now) {
			continue
		}
		d := now[of]
		if int(of) < len(r.base) {
			d.DroppedKernel -= r.base[of].DroppedKernel
			d.DroppedInterface -= r.base[of].DroppedInterface
		}
		drops[at] = d
	}
	if err := r.rec.Finish(drops); err != nil {
		return err
	}
	return r.file.Close()
}

// Close ends the recording. It returns the error that ended it before, if any.
func (r *Recording) Close() error {
	if r.file == nil {
		return r.err
	}
	if err := r.finish(); err != nil {
		return r.fail(err)
	}
	r.file = nil
	r.prune()
	return r.err
}

// Frames returns how many frames were recorded.
func (r *Recording) Frames() uint64 { return r.frames }

type recordFile struct {
	path   string
	number int
	size   int64
}

// files are those that this recording, or one before it, made: nothing else in
// the folder has such a name.
func (r *Recording) files() []recordFile {
	stem, ending := split(r.opt.Path)
	dir := filepath.Dir(r.opt.Path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []recordFile
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), filepath.Base(stem)+"_")
		if middle, ok = cutSuffix(middle, ending, ok); !ok || len(middle) != digits+1+len(stampLayout) || !e.Type().IsRegular() {
			continue
		}
		var number int
		var stamp string
		if n, err := fmt.Sscanf(middle, "%05d_%s", &number, &stamp); err != nil || n != 2 {
			continue
		}
		if _, err := time.Parse(stampLayout, stamp); err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		out = append(out, recordFile{filepath.Join(dir, e.Name()), number, info.Size()})
	}
	slices.SortFunc(out, func(a, b recordFile) int { return a.number - b.number })
	return out
}

func cutSuffix(s, ending string, ok bool) (string, bool) {
	if !ok {
		return s, false
	}
	return strings.CutSuffix(s, ending)
}

// prune removes the oldest files beyond what is kept; never the one at hand.
func (r *Recording) prune() {
	if !r.opt.rotates() || r.opt.Keep <= 0 && r.opt.KeepBytes <= 0 {
		return
	}
	all := r.files()
	total := int64(0)
	for _, f := range all {
		total += f.size
	}
	for len(all) > 1 && (r.opt.Keep > 0 && len(all) > r.opt.Keep || r.opt.KeepBytes > 0 && total > r.opt.KeepBytes) {
		total -= all[0].size
		_ = os.Remove(all[0].path) // what cannot be removed is tried again with the next file
		all = all[1:]
	}
}

var _ io.Closer = (*Recording)(nil)
