package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// render writes what the tools took as ratios to the first one, netwhy.
func render(b *strings.Builder, capture string, tools []tool, rows [][]sample) {
	fmt.Fprintf(b, "\n%s\n\n", strings.TrimSuffix(filepath.Base(capture), filepath.Ext(capture)))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tool\ttime, netwhy = 1\tCPU, netwhy = 1\tpeak memory\twhat it does")
	base := median(rows[0], func(s sample) time.Duration { return s.wall })
	baseCPU := median(rows[0], func(s sample) time.Duration { return s.cpu })
	for i, t := range tools {
		wall := median(rows[i], func(s sample) time.Duration { return s.wall })
		cpu := median(rows[i], func(s sample) time.Duration { return s.cpu })
		mem := median(rows[i], func(s sample) int64 { return s.peakKiB })
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%d MiB\t%s\n", t.name, float64(wall)/float64(base), float64(cpu)/float64(baseCPU), mem/1024, t.note)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func median[T ~int64](rows []sample, of func(sample) T) T {
	v := make([]T, 0, len(rows))
	for _, s := range rows {
		v = append(v, of(s))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// machine names the processor, as far as the system tells.
func machine() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	for line := range bytes.Lines(b) {
		if name, ok := bytes.CutPrefix(line, []byte("model name")); ok {
			return strings.Trim(string(name), ": \t\n")
		}
	}
	return runtime.GOARCH
}

// walk reads the records of a little-endian pcap file in blocks of 256 KiB and
// looks at nothing but their lengths: the least that any reader has to do.
func walk(name string) error {
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("open the capture: %w", err)
	}
	defer f.Close()
	const block, fileHeader, recordHeader = 256 << 10, 24, 16
	buf := make([]byte, 2*block)
	have, skip := 0, fileHeader
	for {
		n, err := f.Read(buf[have : have+block])
		if n == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read %s: %w", name, err)
		}
		have += n
		at := min(skip, have)
		skip -= at
		for skip == 0 && have-at >= recordHeader {
			size := recordHeader + int(binary.LittleEndian.Uint32(buf[at+8:]))
			if at+size > have {
				if size > block {
					skip, at = size-(have-at), have
				}
				break
			}
			at += size
		}
		have = copy(buf, buf[at:have])
	}
}
