package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"netwhy/capture/packet"
)

// Options says how files are read; its zero value reads everything.
type Options struct {
	// Filter is a capture filter in tcpdump's syntax, compiled by libpcap for
	// each link type. Frames that do not match are left out, and the others
	// keep the numbers they have in the unfiltered file. Where it has no
	// meaning on a link type none of its frames matches, and Info.Unfit says so;
	// if that leaves nothing at all, Next ends with the *FilterError.
	Filter string
	// MaxPackets ends reading after so many frames (that match); 0: no limit.
	MaxPackets uint64
	// Batches and BatchBytes bound what is under way between this source and
	// its readers; 0: some for each core, of packet.DefaultBatchBytes.
	Batches    int
	BatchBytes int
	// Stdin stands for the name "-"; nil: os.Stdin.
	Stdin io.Reader
}

// ahead is how many batches there are beside one for each core: as many as the analysis
// takes, and one that is filled.
const ahead = 10

// File reads one or several capture files as one timeline.
type File struct {
	names   []string
	opt     Options
	pool    *packet.Pool
	readers []*reader
	ifaces  *interfaces
	filter  *filter
	merge   *merger // nil for a single file
	seq     uint64
	done    bool

	mu      sync.Mutex
	info    Info // the snapshot
	packets atomic.Uint64
}

// Open opens the named files; "-" is standard input. It fails with an
// *OpenError if none of them is a capture; if only some are not, they are left
// out, and Info has the reason. Pipes are looked at with the first Next.
func Open(ctx context.Context, names []string, opt Options) (*File, error) {
	if len(names) == 0 {
		return nil, &OpenError{Name: "(none)", Reason: "no file was named", Remedy: `name one or more captures, or "-" for standard input`}
	}
	if opt.Stdin == nil {
		opt.Stdin = os.Stdin
	}
	if opt.Batches <= 0 {
		opt.Batches = runtime.GOMAXPROCS(0) + ahead
	}
	if opt.BatchBytes <= 0 {
		opt.BatchBytes = packet.DefaultBatchBytes
	}
	f := &File{
		names: names, opt: opt, ifaces: &interfaces{},
		pool: packet.NewPool(opt.Batches, opt.BatchBytes),
	}
	if opt.Filter != "" {
		var err error
		if f.filter, err = newFilter(opt.Filter); err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		f.readers = append(f.readers, f.open(ctx, i, name))
	}
	if err := f.unusable(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if len(names) > 1 {
		f.merge = newMerger(f.readers, opt.BatchBytes)
	}
	f.snapshot(nil)
	return f, nil
}

func (f *File) open(ctx context.Context, index int, name string) *reader {
	r := &reader{index: index, info: FileInfo{Name: name, Size: -1}}
	r.walk.interfaces = f.ifaces
	if name == stdinName && slices.Contains(f.names[:index], name) {
		r.info.Err, r.done = &OpenError{Name: name, Reason: "standard input can be read only once", Remedy: `name "-" once`}, true
		return r
	}
	raw, err := openRaw(name, f.opt.Stdin)
	if err != nil {
		r.info.Err, r.done = err, true
		return r
	}
	r.raw = raw
	r.info.Size = raw.size
	if raw.size < 0 { // a pipe may have nothing to say yet
		return r
	}
	r.begin(ctx)
	return r
}

// unusable returns the error of Open if no file can be read.
func (f *File) unusable() error {
	var errs []error
	for _, r := range f.readers {
		if r.info.Err == nil {
			return nil
		}
		errs = append(errs, r.info.Err)
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Next implements Source.
func (f *File) Next(ctx context.Context) (*packet.Batch, error) {
	if f.done {
		return nil, io.EOF
	}
	b, err := f.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	for {
		if err := f.fill(ctx, b); err != nil {
			b.Release()
			if ctx.Err() == nil {
				f.done = true
				f.snapshot(nil)
				if why := f.whyNothing(); why != nil {
					err = why
				}
			}
			return nil, err
		}
		if f.filter != nil {
			f.filter.apply(b)
			if len(b.Frames) == 0 && len(b.Secrets) == 0 {
				b.Buf = b.Buf[:0]
				continue
			}
		}
		break
	}
	if left := f.opt.MaxPackets - f.packets.Load(); f.opt.MaxPackets > 0 && uint64(len(b.Frames)) >= left {
		b.Frames = b.Frames[:left]
		f.done = true
	}
	b.Seq = f.seq
	f.seq++
	f.snapshot(b)
	return b, nil
}

// whyNothing returns the error that stands in the place of io.EOF where
// nothing was read for a reason that the user can mend.
func (f *File) whyNothing() error {
	if f.filter != nil && len(f.filter.unfit) > 0 && f.packets.Load() == 0 {
		return f.filter.unfit[0]
	}
	return f.unusable()
}

func (f *File) fill(ctx context.Context, b *packet.Batch) error {
	if f.merge != nil {
		return f.merge.next(ctx, b)
	}
	b.Frames = b.Frames[:0]
	return f.readers[0].fill(ctx, b)
}

// snapshot renews what Info gives, and the counters of b.
func (f *File) snapshot(b *packet.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := &f.info
	i.Kind, i.Names = KindFile, f.names
	if len(i.Interfaces) != len(f.ifaces.list) {
		i.Interfaces = append(i.Interfaces[:0:0], f.ifaces.list...)
	} else {
		copy(i.Interfaces, f.ifaces.list)
	}
	i.Files = i.Files[:0]
	for _, r := range f.readers {
		r.info.Frames, r.info.LensOdd = r.walk.frames, r.walk.lensOdd
		i.Files = append(i.Files, r.info)
	}
	if f.filter != nil {
		i.Unfit = f.filter.unfit
	}
	c := &i.Counters
	c.DroppedKernel, c.DroppedInterface = 0, 0
	for k := range f.ifaces.list {
		c.DroppedKernel += f.ifaces.list[k].DroppedKernel
		c.DroppedInterface += f.ifaces.list[k].DroppedInterface
	}
	if b == nil {
		return
	}
	i.count(b.Frames, f.timeless())
	f.packets.Store(c.Packets)
	b.Counters = *c
}

// timeless tells whether a time of 0 means that there is none.
func (f *File) timeless() bool {
	for _, r := range f.readers {
		if r.walk.timeless {
			return true
		}
	}
	return false
}

// count adds frames to the totals.
func (i *Info) count(frames []packet.Frame, timeless bool) {
	bytes, known, last, earliest, latest := uint64(0), i.HasTimes, i.Last, i.Earliest, i.Latest
	for k := range frames {
		t := frames[k].Time
		bytes += uint64(frames[k].WireLen)
		if t == 0 && timeless {
			continue
		}
		if !known {
			known = true
			i.First, earliest, latest = t, t, t
		}
		last = t
		earliest, latest = min(earliest, t), max(latest, t)
	}
	i.HasTimes, i.Last, i.Earliest, i.Latest = known, last, earliest, latest
	i.Counters.Packets += uint64(len(frames))
	i.Counters.Bytes += bytes
}

// Info implements Source.
func (f *File) Info() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.info
	i.Interfaces = append([]Interface(nil), i.Interfaces...)
	i.Files = append([]FileInfo(nil), i.Files...)
	i.Unfit = append([]*FilterError(nil), i.Unfit...)
	return i
}

// Progress implements Source.
func (f *File) Progress() Progress {
	p := Progress{Packets: f.packets.Load()}
	for _, r := range f.readers {
		if r.raw == nil {
			continue
		}
		p.Read += r.raw.count.Load()
		if r.raw.size < 0 || p.Size < 0 {
			p.Size = -1
		} else {
			p.Size += r.raw.size
		}
	}
	return p
}

// Close implements Source.
func (f *File) Close() error {
	var errs []error
	for _, r := range f.readers {
		if err := r.close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", r.info.Name, err))
		}
	}
	if f.filter != nil {
		f.filter.close()
	}
	return errors.Join(errs...)
}
