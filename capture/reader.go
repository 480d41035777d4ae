package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"netwhy/capture/packet"
)

// parser walks the records of one format.
type parser interface {
	// parse walks the complete records of buf from pos on and appends their
	// frames to b. It returns where it stopped, how many bytes from there it
	// needs to go on (0: unknown or a fault), and the fault if there is one.
	parse(b *packet.Batch, buf []byte, pos int, st *walk) (next, need int, fault string)
	// rest says what is cut when the content ends with left, which is not empty,
	// still unread; or with a block half passed over.
	rest(left []byte) string
}

// walk is what a parser keeps on the way through one file.
type walk struct {
	frames         uint64 // read so far
	firstInterface uint16 // index in the run of the file's first interface
	timeless       bool   // its first frames carry no time, and none could be lent to them
	lensOdd        bool   // a frame claimed more captured bytes than were on the wire
	interfaces     *interfaces
	secrets        [][]byte
}

// interfaces is the table of a run, shared by its files.
type interfaces struct {
	list []Interface
}

// maxInterfaces bounds the table; Frame.Interface has 16 bits.
const maxInterfaces = 1 << 16

func (t *interfaces) add(i Interface) bool {
	if len(t.list) == maxInterfaces {
		return false
	}
	t.list = append(t.list, i)
	return true
}

// reader reads the frames of one file into batches.
type reader struct {
	info   FileInfo
	index  int // of the file in the run
	raw    *rawFile
	in     stream
	packed compression // "" for none
	parser parser
	walk   walk

	tail   []byte // read, but not yet walked
	offset int64  // of tail[0] in the content
	done   bool
}

// next fills b, which must be empty, with at least one frame (or at the end of
// the file with secrets alone); io.EOF when the
// file, or what of it can be read, is over. It hands on what is there as soon
// as the source has nothing more at the moment: a pipe's frames do not wait.
func (r *reader) next(ctx context.Context, b *packet.Batch) error {
	if r.done {
		return io.EOF
	}
	buf := b.Buf[:cap(b.Buf)]
	if len(r.tail) > len(buf) {
		buf = make([]byte, max(len(r.tail), 2*len(buf)))
	}
	n := copy(buf, r.tail)
	pos := 0
	for {
		var need int
		var fault string
		pos, need, fault = r.parser.parse(b, buf[:n], pos, &r.walk)
		switch {
		case fault != "":
			r.fail(pos, fault, nil)
		case len(b.Frames) > 0:
		case pos == n:
			r.offset += int64(pos)
			pos, n = 0, 0
		case need > len(buf)-pos && pos > 0: // make room at the end before growing
			n = copy(buf, buf[pos:n])
			r.offset += int64(pos)
			pos = 0
		case n == len(buf): // grows with the bytes that are there, not with what is claimed
			grown := make([]byte, min(2*len(buf), need))
			copy(grown, buf)
			buf = grown
		}
		if fault != "" || len(b.Frames) > 0 {
			break
		}
		m, err := r.in.read(ctx, buf[n:])
		n += m
		if m > 0 {
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				r.tail = append(r.tail[:0], buf[pos:n]...)
				r.offset += int64(pos)
				return context.Cause(ctx)
			}
			r.end(err, pos, buf[pos:n])
			break
		}
	}
	b.Buf = buf[:n]
	b.Secrets = r.walk.secrets
	r.walk.secrets = nil
	r.tail = append(r.tail[:0], buf[pos:n]...)
	r.offset += int64(pos)
	if len(b.Frames) == 0 && len(b.Secrets) == 0 {
		return io.EOF
	}
	return nil
}

// end handles the end of the content: clean, cut, or unreadable.
func (r *reader) end(err error, pos int, left []byte) {
	rest := r.parser.rest(left)
	switch {
	case !errors.Is(err, io.EOF):
		r.fail(pos, "it cannot be read further: "+r.readFault(err), err)
	case rest != "":
		r.fail(pos, rest, io.ErrUnexpectedEOF)
	default:
		r.done = true
	}
}

// readFault puts an error of the disk or of a decompressor in words.
func (r *reader) readFault(err error) string {
	switch {
	case r.packed == "":
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the %s data end early", r.packed)
	default:
		return fmt.Sprintf("the %s data are damaged (%v)", r.packed, err)
	}
}

func (r *reader) fail(pos int, reason string, err error) {
	r.done = true
	r.info.Fault = &TruncatedError{
		Name: r.info.Name, Frame: r.walk.frames + 1, Offset: r.offset + int64(pos),
		Reason: reason, Err: err,
	}
}

func (r *reader) close() error {
	if r.in != nil {
		return r.in.close()
	}
	if r.raw != nil {
		return r.raw.close()
	}
	return nil
}

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 64 << 10

// start finds out what the file is and reads its header.
func (r *reader) start(ctx context.Context) error {
	head, err := readHead(ctx, r.raw)
	if err != nil {
		return r.openError(ctx, err)
	}
	r.in = &headed{head: head, stream: r.raw}
	c := compressionOf(head)
	r.packed = c
	if c != "" {
		r.in = decompress(ctx, c, r.in)
		if head, err = readHead(ctx, r.in); err != nil {
			return r.openPackedError(ctx, head, err)
		}
		r.in = &headed{head: head, stream: r.in}
	}
	return r.choose(head, c)
}

// choose makes the parser that fits the first bytes of the content.
func (r *reader) choose(head []byte, c compression) error {
	where := ""
	if c != "" {
		where = " in " + string(c)
	}
	switch {
	case len(head) >= pcapHeaderLen && isPcap(head):
		p, iface, wrong := newPcapReader(head)
		if wrong != "" {
			return &OpenError{Name: r.info.Name, Reason: wrong + where, Remedy: "open it in Wireshark, or convert it there to pcapng"}
		}
		iface.File = r.index
		r.walk.firstInterface = uint16(min(len(r.walk.interfaces.list), maxInterfaces-1))
		if !r.walk.interfaces.add(*iface) {
			return &OpenError{Name: r.info.Name, Reason: "more than 65536 interfaces in this run"}
		}
		r.parser = p
		r.info.Format = "pcap" + where
		r.discard(pcapHeaderLen)
	case len(head) >= 4 && binary.LittleEndian.Uint32(head) == blockSection:
		p := &pcapngReader{file: r.index}
		if wrong := checkPcapng(head); wrong != "" {
			return &OpenError{Name: r.info.Name, Reason: wrong + where, Remedy: "it is damaged or not a capture"}
		}
		r.parser = p
		r.info.Format = "pcapng" + where
	default:
		return notACapture(r.info.Name, head, c)
	}
	return nil
}

// discard takes n bytes of the head as read.
func (r *reader) discard(n int) {
	if h, ok := r.in.(*headed); ok {
		h.head = h.head[n:]
		r.offset = int64(n)
	}
}

func isPcap(head []byte) bool {
	return isPcapMagic(binary.LittleEndian.Uint32(head)) || isPcapMagic(binary.BigEndian.Uint32(head))
}

func (r *reader) openError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &OpenError{Name: r.info.Name, Reason: err.Error(), Err: err}
}

// openPackedError is for content that gives nothing before it fails.
func (r *reader) openPackedError(ctx context.Context, head []byte, err error) error {
	if ctx.Err() != nil || len(head) > 0 {
		return r.openError(ctx, err)
	}
	return &OpenError{
		Name: r.info.Name, Reason: "nothing of it can be read: " + r.readFault(err),
		Remedy: "copy it again from where it was captured", Err: err,
	}
}

// begin starts the reader. What fails is left out for good, and the reason kept
// unless it is only that ctx ended.
func (r *reader) begin(ctx context.Context) {
	err := r.start(ctx)
	r.done = err != nil
	if err != nil && ctx.Err() == nil {
		r.info.Err = err
	}
}

// fill is next, for a file that may not be looked at yet.
func (r *reader) fill(ctx context.Context, b *packet.Batch) error {
	if r.parser == nil && !r.done {
		r.begin(ctx)
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return r.next(ctx, b)
}
