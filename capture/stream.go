package capture

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// stream gives bytes of a file or of its decompressed content. A read returns
// what is there, and waits only while there is nothing; n > 0 comes without an
// error, and the error again with the next read.
type stream interface {
	read(ctx context.Context, p []byte) (n int, err error)
	close() error
}

// rawFile is the file as it lies on disk, or a pipe.
type rawFile struct {
	r     io.Reader
	file  *os.File // nil for a reader that is not a file
	owned bool     // opened here, closed here
	polls bool     // a pipe, socket or terminal: wait for bytes in a way that can be ended
	size  int64    // -1: not known
	count atomic.Int64
}

func (f *rawFile) read(ctx context.Context, p []byte) (int, error) {
	if f.polls {
		if err := waitReadable(ctx, f.file); err != nil {
			return 0, err
		}
	} else if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	n, err := f.r.Read(p)
	f.count.Add(int64(n))
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (f *rawFile) close() error {
	if !f.owned {
		return nil
	}
	f.owned = false
	return f.file.Close()
}

// stdinName stands for standard input.
const stdinName = "-"

// openRaw opens a name; stdinName is stdin.
func openRaw(name string, stdin io.Reader) (*rawFile, error) {
	if name == stdinName {
		f, ok := stdin.(*os.File)
		if !ok {
			return &rawFile{r: stdin, size: -1}, nil
		}
		return newRawFile(name, f, false)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0) //nolint:gosec // the user names the file
	if err != nil {
		return nil, openFileError(name, err)
	}
	raw, err := newRawFile(name, f, true)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return raw, nil
}

func newRawFile(name string, f *os.File, owned bool) (*rawFile, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, openFileError(name, err)
	}
	raw := &rawFile{r: f, file: f, owned: owned, size: -1}
	switch {
	case st.IsDir():
		return nil, &OpenError{Name: name, Reason: "it is a directory", Remedy: "name the capture files in it, for example " + name + "/*.pcapng"}
	case st.Mode().IsRegular():
		raw.size = st.Size()
	default:
		raw.polls = canPoll
	}
	return raw, nil
}

func openFileError(name string, err error) error {
	e := &OpenError{Name: name, Err: err}
	switch {
	case errors.Is(err, os.ErrNotExist):
		e.Reason, e.Remedy = "there is no such file", "check the spelling of the path"
	case errors.Is(err, os.ErrPermission):
		e.Reason, e.Remedy = "no permission to read it", "ask its owner, or run with sudo (captures made as root are often readable by root only)"
	default:
		if p, ok := errors.AsType[*os.PathError](err); ok {
			err = p.Err
		}
		e.Reason = err.Error()
	}
	return e
}

// headed gives back the bytes that were read to tell what a file is.
type headed struct {
	head []byte
	stream
}

func (h *headed) read(ctx context.Context, p []byte) (int, error) {
	if len(h.head) > 0 {
		n := copy(p, h.head)
		h.head = h.head[n:]
		return n, nil
	}
	return h.stream.read(ctx, p)
}

// readHead reads the first bytes: all that detection wants from a regular
// file, but from a pipe no more than a file header, and what came with it.
func readHead(ctx context.Context, s stream) ([]byte, error) {
	head := make([]byte, headBytes)
	enough := len(head)
	if r, ok := s.(*rawFile); !ok || r.size < 0 {
		enough = pcapHeaderLen // and no more: it may pause behind it
	}
	n := 0
	for n < enough {
		m, err := s.read(ctx, head[n:])
		n += m
		if m > 0 {
			continue
		}
		if errors.Is(err, io.EOF) || err != nil && n > 0 && ctx.Err() == nil {
			return head[:n], nil
		}
		if err != nil {
			return head[:n], err
		}
	}
	return head[:n], nil
}
