package capture

import (
	"context"
	"fmt"

	"netwhy/capture/packet"
)

// Source is where frames come from: files now, a live interface later. One
// goroutine calls Next; Info and Progress may be called from any.
type Source interface {
	// Next gives the next batch, which the caller releases; io.EOF at the end.
	// What was read before an error stays valid and counted.
	Next(ctx context.Context) (*packet.Batch, error)
	// Info is a snapshot of what is known of the source up to the last batch.
	Info() Info
	// Progress is cheap enough to be asked for several times a second.
	Progress() Progress
	// Close ends every goroutine of the source; not during Next. Batches that
	// are still held stay valid until they are released.
	Close() error
}

// Kind says where frames came from.
type Kind string

// The kinds of source, as the report names them.
const (
	KindFile Kind = "file"
	KindLive Kind = "live"
)

// Info describes a source and what it gave so far.
type Info struct {
	Kind       Kind
	Names      []string    // as they were given
	Interfaces []Interface // in the order of Frame.Interface
	Counters   packet.Counters

	// Times in nanoseconds since 1970-01-01 UTC; without meaning while
	// HasTimes is false. First and Last are those of the first and last frame,
	// Earliest and Latest differ from them where time goes back. Frames that
	// carry no time (pcapng's simple packet block) do not count.
	First, Last, Earliest, Latest int64
	HasTimes                      bool

	Files []FileInfo     // one for each name; empty when live
	Unfit []*FilterError // link types on which the filter has no meaning: their frames were all left out

	Losses []Loss // live: when frames were lost, oldest first; the latest maxLosses
}

// Loss is a time in which the capture itself lost frames.
type Loss struct {
	From, To int64 // ns since 1970-01-01 UTC
	Frames   uint64
}

// Truncated returns the first fault in the order of the files, nil if all were
// read to their end.
func (i *Info) Truncated() *TruncatedError {
	for k := range i.Files {
		if f := i.Files[k].Fault; f != nil {
			return f
		}
	}
	return nil
}

// Interface is one interface of a capture.
type Interface struct {
	Name    string // if_name; empty where the file has none, as pcap
	Desc    string // if_description
	Link    packet.LinkType
	SnapLen uint32 // 0: no limit
	File    int    // index of the file in Info.Files it belongs to

	DroppedKernel    uint64 // isb_osdrop, epb_dropcount
	DroppedInterface uint64 // isb_ifdrop
}

// FileInfo is what is known of one file.
type FileInfo struct {
	Name    string
	Format  string // "pcap", "pcapng", with the compression: "pcap in gzip"
	Size    int64  // bytes on disk; -1 where it is not known, as for a pipe
	Frames  uint64 // read from this file, before any filter
	Fault   *TruncatedError
	Err     error // *OpenError: the file was left out
	LensOdd bool  // a frame claimed more captured bytes than were on the wire; it was read all the same
}

// Progress is how far a source is.
type Progress struct {
	Read    int64  // bytes read from disk, as they are there (compressed)
	Size    int64  // bytes in all; -1 where it is not known
	Packets uint64 // handed on so far
}

// OpenError says why something cannot be read as a capture, and what to do.
type OpenError struct {
	Name   string // of the file or interface
	Reason string // what it is instead, one line
	Remedy string // what the user can do; may be empty
	Err    error  // the cause, if there is one beneath
}

func (e *OpenError) Error() string {
	s := fmt.Sprintf("open %s: %s", e.Name, e.Reason)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *OpenError) Unwrap() error { return e.Err }

// TruncatedError is the place where a file ends early or is damaged. All that
// lies before it was read.
type TruncatedError struct {
	Name   string // of the file
	Frame  uint64 // 1-based number, within this file, of the frame that could not be read
	Offset int64  // byte at which its record or block begins; of the content, where the file is compressed
	Reason string // one line
	Err    error  // the cause, if there is one beneath
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s: frame %d at byte %d: %s", e.Name, e.Frame, e.Offset, e.Reason)
}

func (e *TruncatedError) Unwrap() error { return e.Err }

// FilterError says why a capture filter cannot be used.
type FilterError struct {
	Filter string
	Link   packet.LinkType
	Reason string // libpcap's words
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("filter %q: %s", e.Filter, e.Reason)
}
