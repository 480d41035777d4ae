package capture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compression is a packing that captures are kept in.
type compression string

const (
	packGzip compression = "gzip"
	packZstd compression = "zstd"
	packLZ4  compression = "lz4"
)

// compressionOf tells the packing from the first bytes, "" for none.
func compressionOf(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}): // RFC 1952: magic, deflate
		return packGzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), // RFC 8878
		len(head) >= 8 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}): // skippable frame first, as pzstd writes
		return packZstd
	case bytes.HasPrefix(head, []byte{0x04, 0x22, 0x4d, 0x18}), // frame format
		bytes.HasPrefix(head, []byte{0x02, 0x21, 0x4c, 0x18}): // legacy
		return packLZ4
	}
	return ""
}

const (
	// chunkBytes and chunkCount bound what is decompressed ahead: 1 MiB.
	chunkBytes = 256 << 10
	chunkCount = 4
	// zstdWindow bounds what a zstd frame may ask for; "zstd --long=27" is the
	// largest that the zstd tool itself decompresses without being told to.
	zstdWindow = 128 << 20
)

// chunk is a piece of content on its way from the decompressor.
type chunk struct {
	data []byte // the part not yet read
	err  error
	buf  []byte
}

// decompressed is the content of a packed file; unpacking runs on its own
// goroutine, which ends at the end of the content or by close.
type decompressed struct {
	full   chan chunk  // closed by the goroutine
	free   chan []byte // buffers that were read
	now    chunk
	err    error
	cancel context.CancelFunc
	below  stream
	wait   sync.WaitGroup
}

// decompress starts unpacking s. The goroutine outlives ctx: what ends it is
// close, because ctx may be that of one call.
func decompress(ctx context.Context, c compression, s stream) *decompressed {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &decompressed{full: make(chan chunk, chunkCount), free: make(chan []byte, chunkCount), cancel: cancel, below: s}
	for range chunkCount {
		d.free <- nil
	}
	packed := readerFunc(func(p []byte) (int, error) { return s.read(run, p) })
	d.wait.Go(func() {
		defer close(d.full)
		unpack(run, c, packed, d.free, d.full)
	})
	return d
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// unpack sends the content in pieces as they come: what a paused pipe has
// given so far does not wait for more. The last piece carries the error.
func unpack(ctx context.Context, c compression, packed io.Reader, free <-chan []byte, full chan<- chunk) {
	out := &chunkWriter{done: ctx.Done(), free: free, full: full}
	var err error
	switch c {
	case packGzip:
		err = unpackGzip(packed, out)
	case packZstd:
		err = unpackZstd(packed, out)
	case packLZ4:
		err = unpackLZ4(packed, out)
	}
	if buf, ok := out.get(); ok {
		if err == nil {
			err = io.EOF
		}
		full <- chunk{err: err, buf: buf} // has room for every buffer
	}
}

// chunkWriter passes content on in buffers that come back.
type chunkWriter struct {
	done <-chan struct{}
	free <-chan []byte
	full chan<- chunk
}

// get returns a buffer, false if nobody wants the content any more.
func (w *chunkWriter) get() ([]byte, bool) {
	select {
	case buf := <-w.free:
		if buf == nil {
			buf = make([]byte, chunkBytes)
		}
		return buf, true
	case <-w.done:
		return nil, false
	}
}

// errUnwanted ends unpacking when the source was closed.
var errUnwanted = errors.New("the content is not wanted any more")

// copy passes on what r gives, each read at once.
func (w *chunkWriter) copy(r io.Reader) error {
	for {
		buf, ok := w.get()
		if !ok {
			return errUnwanted
		}
		n, err := 0, error(nil)
		for range maxEmptyReads {
			if n, err = r.Read(buf); n > 0 || err != nil {
				break
			}
		}
		w.full <- chunk{data: buf[:n], buf: buf} // has room for every buffer
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == 0:
			return io.ErrNoProgress
		}
	}
}

// maxEmptyReads is bufio's patience with a reader that gives nothing.
const maxEmptyReads = 100

// Write implements io.Writer.
func (w *chunkWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		buf, ok := w.get()
		if !ok {
			return n, errUnwanted
		}
		m := copy(buf, p[n:])
		n += m
		w.full <- chunk{data: buf[:m], buf: buf} // has room for every buffer
	}
	return n, nil
}

func unpackGzip(packed io.Reader, out *chunkWriter) error {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	return out.copy(z)
}

func unpackZstd(packed io.Reader, out *chunkWriter) error {
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	return out.copy(z)
}

// unpackLZ4 writes block by block, because the library's Read waits until its
// buffer is full; and frame by frame, because it takes the first one's end for
// the end of the file.
func unpackLZ4(packed io.Reader, out *chunkWriter) error {
	in := bufio.NewReaderSize(packed, chunkBytes)
	z := lz4.NewReader(in)
	for {
		if _, err := z.WriteTo(out); err != nil {
			return err
		}
		if _, err := in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		z.Reset(in)
	}
}

func (d *decompressed) read(ctx context.Context, p []byte) (int, error) {
	for len(d.now.data) == 0 {
		if d.now.buf != nil {
			d.free <- d.now.buf // has room for every buffer
		}
		if d.err = d.now.err; d.err != nil {
			d.now.buf = nil
			return 0, d.err
		}
		select {
		case c, ok := <-d.full:
			if !ok {
				return 0, io.ErrUnexpectedEOF
			}
			d.now = c
		case <-ctx.Done():
			d.now = chunk{}
			return 0, context.Cause(ctx)
		}
	}
	n := copy(p, d.now.data)
	d.now.data = d.now.data[n:]
	return n, nil
}

func (d *decompressed) close() error {
	d.cancel()
	for range d.full { // until its sender has closed it
	}
	d.wait.Wait()
	return d.below.close()
}
