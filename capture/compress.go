package capture

import (
	"bytes"
	"context"
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
// given so far does not wait for more.
func unpack(ctx context.Context, c compression, packed io.Reader, free <-chan []byte, full chan<- chunk) {
	r, err := unpacker(c, packed)
	if err != nil {
		full <- chunk{err: err} // has room: nothing was sent yet
		return
	}
	defer r.Close()
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-ctx.Done():
			return
		}
		if buf == nil {
			buf = make([]byte, chunkBytes)
		}
		n, err := 0, error(nil)
		for empty := 0; n == 0 && err == nil; empty++ {
			if n, err = r.Read(buf); empty > 100 {
				err = io.ErrNoProgress
			}
		}
		full <- chunk{data: buf[:n], err: err, buf: buf} // has room for every buffer
		if err != nil {
			return
		}
	}
}

func unpacker(c compression, r io.Reader) (io.ReadCloser, error) {
	switch c {
	case packGzip:
		return gzip.NewReader(r)
	case packZstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	default:
		return io.NopCloser(lz4.NewReader(r)), nil
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
	for range d.full { //nolint:revive // emptied until its sender has closed it
	}
	d.wait.Wait()
	return d.below.close()
}
