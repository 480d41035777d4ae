// Package frames cuts the stream of a TCP conversation into messages: by a length
// in their heads, or at line ends. What is too long to be kept is given with its
// beginning only; after a gap it looks for the next message.
package frames

import (
	"bytes"
	"errors"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Keep is how much of a message longer than that an analyzer gets: enough for
// what heads and error texts say.
const Keep = 16 << 10

// MaxLine bounds the lines that are waited for; the rest of a longer one is
// passed over.
const MaxLine = 4 << 10

// Reader cuts messages. Its functions must be set.
type Reader struct {
	// Length returns the length of the message that b begins with, 0 when more
	// bytes are needed to tell. An error detaches the analyzer.
	Length func(dir flow.Dir, b []byte) (int, error)
	// Message takes one message; total is its length, of which b may be the
	// first Keep bytes only.
	Message func(s *proto.Scope, dir flow.Dir, b []byte, total int)
	// Sync reports whether b looks like the begin of a message, after a gap.
	// nil: the analyzer is detached by a gap.
	Sync func(dir flow.Dir, b []byte) bool

	skip [2]int
	lost [2]bool
}

// Data implements the analyzer's Data. It uses one message at a time, so that
// Scope.Began belongs to it.
func (r *Reader) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if n := min(r.skip[dir], len(b)); n > 0 {
		r.skip[dir] -= n
		return n, nil
	}
	if r.lost[dir] {
		if !r.Sync(dir, b) {
			return len(b), nil
		}
		r.lost[dir] = false
	}
	n, err := r.Length(dir, b)
	switch {
	case err != nil:
		return len(b), err
	case n == 0:
		return 0, nil
	case n <= Keep:
		if len(b) < n {
			return 0, nil
		}
		r.Message(s, dir, b[:n], n)
		return n, nil
	case len(b) < Keep:
		return 0, nil
	}
	r.Message(s, dir, b[:Keep], n)
	r.skip[dir] = n - Keep
	return Keep, nil
}

// ErrGap ends analyzers that cannot go on behind a gap.
var ErrGap = errors.New("bytes are missing")

// Gap implements the analyzer's Gap.
func (r *Reader) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	if r.skip[dir] >= n {
		r.skip[dir] -= n
		return nil
	}
	r.skip[dir] = 0
	if r.Sync == nil {
		return ErrGap
	}
	r.lost[dir] = true
	return nil
}

// Line returns the first line of b without its end and the bytes that it takes,
// the end included; used is 0 when there is no end yet. A line longer than
// MaxLine is cut there.
func Line(b []byte) (line []byte, used int) {
	i := bytes.IndexByte(b[:min(len(b), MaxLine)], '\n')
	if i < 0 {
		if len(b) >= MaxLine {
			return b[:MaxLine], MaxLine
		}
		return nil, 0
	}
	return bytes.TrimSuffix(b[:i], []byte{'\r'}), i + 1
}
