package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"netwhy/capture/packet"
)

// Recorder writes frames into a pcapng file: the evidence of a diagnosis, or
// what a live source sees. Times are kept to the nanosecond, bytes as they are.
// It is used by one goroutine and allocates nothing per frame.
type Recorder struct {
	w      *bufio.Writer
	block  []byte // the block being written, reused
	ifaces []recorded
	listed bool  // the block has options, which an end of options must close
	err    error // the first; nothing is written after it
	size   int64
}

// recorded is an interface in the file and what was written of it.
type recorded struct {
	frames      uint64
	first, last int64
}

// RecordOptions describes the file.
type RecordOptions struct {
	Application string // shb_userappl, such as "netwhy 1.2.0"
	Comment     string // of the whole file
}

// Option codes (draft-ietf-opsawg-pcapng, sections 3.5 and 4).
const (
	optComment      = 1
	optHardware     = 2 // if_name in an interface description, isb_starttime in statistics
	optDescription  = 3 // if_description; isb_endtime
	optApplication  = 4 // shb_userappl; isb_ifrecv
	optIfDrop       = 5 // isb_ifdrop
	optOSDrop       = 7 // isb_osdrop
	optResolution   = 9 // if_tsresol
	nanoResolution  = 9
	recorderBuffer  = 64 << 10
	maxOptionBytes  = 65535
	sectionNoLength = ^uint64(0)
)

// NewRecorder writes the file's header to w. The caller closes w after Finish.
func NewRecorder(w io.Writer, opt RecordOptions) (*Recorder, error) {
	r := &Recorder{w: bufio.NewWriterSize(w, recorderBuffer)}
	r.begin(blockSection)
	r.u32(byteOrderMagic)
	r.u16(1) // version 1.0
	r.u16(0)
	r.u64(sectionNoLength)
	r.text(optApplication, opt.Application)
	r.text(optComment, opt.Comment)
	r.end()
	return r, r.err
}

// AddInterface describes an interface and returns its index, which the frames
// of that interface carry. It may be called between frames.
func (r *Recorder) AddInterface(i Interface) (uint16, error) {
	if len(r.ifaces) == maxInterfaces {
		return 0, errors.New("record: more than 65536 interfaces")
	}
	r.begin(blockInterface)
	r.u16(uint16(i.Link))
	r.u16(0)
	r.u32(i.SnapLen)
	r.text(optHardware, i.Name)
	r.text(optDescription, i.Desc)
	r.option(optResolution, []byte{nanoResolution})
	r.end()
	r.ifaces = append(r.ifaces, recorded{})
	return uint16(len(r.ifaces) - 1), r.err //nolint:gosec // bounded by maxInterfaces
}

// Write writes a frame of an interface that was added (f.Interface is its index
// here), with a comment that Wireshark shows beside it unless it is empty. A
// time before 1970 becomes 0: the format has no sign.
func (r *Recorder) Write(f *packet.Frame, data []byte, comment string) error {
	if r.err != nil {
		return r.err
	}
	if int(f.Interface) >= len(r.ifaces) {
		return fmt.Errorf("record: frame %d is of interface %d, which was not added", f.Number, f.Interface)
	}
	i := &r.ifaces[f.Interface]
	if i.frames == 0 {
		i.first = f.Time
	}
	i.first, i.last = min(i.first, f.Time), max(i.last, f.Time)
	i.frames++

	ticks := uint64(max(f.Time, 0))
	r.begin(blockEnhanced)
	r.u32(uint32(f.Interface))
	r.time(ticks)
	r.u32(uint32(len(data)))                 //nolint:gosec // frames are far below 4 GiB
	r.u32(max(f.WireLen, uint32(len(data)))) //nolint:gosec // the same
	r.bytes(data)
	r.text(optComment, comment)
	r.end()
	return r.err
}

// Finish writes what is known of each interface at the end (drops is indexed
// like the interfaces, and may be shorter) and flushes.
func (r *Recorder) Finish(drops []Interface) error {
	for k := range r.ifaces {
		i := &r.ifaces[k]
		r.begin(blockStats)
		r.u32(uint32(k))
		r.time(uint64(max(i.last, 0)))
		if i.frames > 0 {
			r.optionTime(optHardware, i.first)
			r.optionTime(optDescription, i.last)
		}
		r.optionU64(optApplication, i.frames)
		if k < len(drops) {
			r.optionU64(optIfDrop, drops[k].DroppedInterface)
			r.optionU64(optOSDrop, drops[k].DroppedKernel)
		}
		r.end()
	}
	return r.Flush()
}

// Flush hands all that was written so far to the writer beneath, at a block's
// end: a reader of the file never meets half a block for long.
func (r *Recorder) Flush() error {
	if err := r.w.Flush(); err != nil && r.err == nil {
		r.err = fmt.Errorf("record: %w", err)
	}
	return r.err
}

// Size returns the bytes written so far, also those not flushed: for rotation.
func (r *Recorder) Size() int64 { return r.size }

func (r *Recorder) begin(kind uint32) {
	r.block, r.listed = r.block[:0], false
	r.u32(kind)
	r.u32(0) // the length, set by end
}

// end closes options, sets both lengths and writes the block.
func (r *Recorder) end() {
	if r.listed {
		r.u32(0) // opt_endofopt
	}
	n := uint32(len(r.block) + blockTrailer) //nolint:gosec // blocks are far below 4 GiB
	binary.LittleEndian.PutUint32(r.block[4:], n)
	r.u32(n)
	if r.err != nil {
		return
	}
	m, err := r.w.Write(r.block)
	r.size += int64(m)
	if err != nil {
		r.err = fmt.Errorf("record: %w", err)
	}
}

func (r *Recorder) u16(v uint16) { r.block = binary.LittleEndian.AppendUint16(r.block, v) }
func (r *Recorder) u32(v uint32) { r.block = binary.LittleEndian.AppendUint32(r.block, v) }
func (r *Recorder) u64(v uint64) { r.block = binary.LittleEndian.AppendUint64(r.block, v) }

// time writes a time as the format splits it: high half first, in any order.
func (r *Recorder) time(ticks uint64) {
	r.u32(uint32(ticks >> 32))
	r.u32(uint32(ticks)) //nolint:gosec // the low half is meant
}

// bytes writes b, padded to 32 bits.
func (r *Recorder) bytes(b []byte) {
	r.block = append(r.block, b...)
	r.pad(len(b))
}

func (r *Recorder) pad(n int) {
	for ; n%4 != 0; n++ {
		r.block = append(r.block, 0)
	}
}

// head begins an option of at most maxOptionBytes.
func (r *Recorder) head(code uint16, n int) {
	r.listed = true
	r.u16(code)
	r.u16(uint16(n)) //nolint:gosec // at most maxOptionBytes
}

func (r *Recorder) option(code uint16, value []byte) {
	r.head(code, len(value))
	r.bytes(value)
}

func (r *Recorder) optionU64(code uint16, v uint64) {
	r.head(code, 8)
	r.u64(v)
}

func (r *Recorder) optionTime(code uint16, t int64) {
	r.head(code, 8)
	r.time(uint64(max(t, 0)))
}

// text writes a text option in UTF-8, cut at what an option can hold; none if
// it is empty. What is not UTF-8 in it becomes U+FFFD, as the format asks.
func (r *Recorder) text(code uint16, s string) {
	if s == "" {
		return
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) > maxOptionBytes {
		n := maxOptionBytes
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	r.head(code, len(s))
	r.block = append(r.block, s...)
	r.pad(len(s))
}
