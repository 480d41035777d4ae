package capture

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// benchFile is a pcap file of n frames of about 800 bytes, as web traffic has.
func benchFile(n int) []byte {
	frames := make([]sample, n)
	for i := range frames {
		frames[i] = sample{Time: int64(i) * 1000, Data: strings.Repeat("x", 60+i*37%1454)}
	}
	return pcapFile(1, frames...)
}

// endless gives the same records again and again after one header.
type endless struct {
	head, records []byte
	at            int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	n := copy(p, e.records[e.at:])
	e.at = (e.at + n) % len(e.records)
	return n, nil
}

func TestReadingAllocatesNothingInTheSteadyState(t *testing.T) {
	for name, content := range map[string][]byte{
		"pcap":   benchFile(2000),
		"pcapng": record(t, []Interface{{Link: 1}}, ngFrames(2000)),
	} {
		head := 24
		if name == "pcapng" { // without the statistics at the end
			head = strings.Index(string(content), "\x06\x00\x00\x00")
			content = content[:strings.LastIndex(string(content), "\x05\x00\x00\x00")]
		}
		f := open(t, Options{Stdin: &endless{head: content[:head], records: content[head:]}, Batches: 4}, "-")
		next := func() {
			b, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		for range 50 { // until every batch and tail has its size
			next()
		}
		if n := testing.AllocsPerRun(200, next); n != 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}

func ngFrames(n int) []sample {
	frames := make([]sample, n)
	for i := range frames {
		frames[i] = sample{Number: uint64(i + 1), Time: int64(i) * 1000, Data: strings.Repeat("x", 60+i*37%1454)}
	}
	return frames
}

func BenchmarkRead(b *testing.B) {
	const frames = 100_000
	plain := benchFile(frames)
	for name, content := range map[string][]byte{
		"pcap": plain, "pcapng": record(b, []Interface{{Link: 1}}, ngFrames(frames)),
		"gzip": pack(b, "gzip", plain), "zstd": pack(b, "zstd", plain), "lz4": pack(b, "lz4", plain),
	} {
		file := write(b, "x", content)
		for _, files := range [][]string{{file}, {file, file}} {
			run := name
			if len(files) > 1 {
				if name != "pcap" {
					continue
				}
				run = "two files"
			}
			b.Run(run, func(b *testing.B) {
				b.SetBytes(int64(len(plain) * len(files)))
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					f, err := Open(b.Context(), files, Options{})
					if err != nil {
						b.Fatal(err)
					}
					for {
						batch, err := f.Next(b.Context())
						if errors.Is(err, io.EOF) {
							break
						}
						if err != nil {
							b.Fatal(err)
						}
						n += len(batch.Frames)
						batch.Release()
					}
					if err := f.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
			})
		}
	}
}
