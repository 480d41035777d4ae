// Package finding is the vocabulary of symptoms: what was seen, where, and by
// which frames it is proven. What a symptom means is for the rules to say.
package finding

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/flow"
)

// Code names a symptom, <protocol>.<kebab-noun>, such as "tcp.zero-window". A
// code is part of the report's contract and is never reused for something else.
type Code string

// Severity says how bad a symptom can be by itself.
type Severity uint8

// Severities, least first.
const (
	Info Severity = iota
	Notice
	Warning
	Critical
)

var severityNames = [...]string{"info", "notice", "warning", "critical"} //nolint:gochecknoglobals // constant table

func (s Severity) String() string { return severityNames[min(int(s), len(severityNames)-1)] }

// MarshalText writes the name used in reports and rules.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name used in reports and rules.
func (s *Severity) UnmarshalText(text []byte) error {
	v, ok := ParseSeverity(string(text))
	if !ok {
		return fmt.Errorf("no severity %q: use %s", text, strings.Join(severityNames[:], ", "))
	}
	*s = v
	return nil
}

// ParseSeverity is the inverse of String; ok is false for any other text.
func ParseSeverity(text string) (s Severity, ok bool) {
	for i, n := range severityNames {
		if n == text {
			return Severity(i), true
		}
	}
	return 0, false
}

// Merge tells how the figures of repeated occurrences become one figure.
type Merge uint8

// Ways to merge. Text metrics keep the first value whatever is declared.
const (
	First Merge = iota
	Last
	Sum
	Max
	Min
)

// Metric declares one figure of a code. The name is snake_case and ends in its
// unit where it has one: stalled_seconds, rtt_p95_ms, lost_bytes.
type Metric struct {
	Name  string
	Text  bool  // a string (from the packets: hostile) instead of a number
	Merge Merge // of repeated occurrences
	Doc   string
}

// Def declares a code once: rules are type-checked against it, JSON is described
// and explanations are written from it.
type Def struct {
	Code     Code
	Severity Severity
	Doc      string // one or two sentences: what was seen, how it is decided, source (RFC section)
	Metrics  []Metric
}

// Value is one figure, in the order of the Def's metrics.
type Value struct {
	Num  float64
	Text string
}

// Num makes a number.
func Num[T ~int | ~int64 | ~uint64 | ~uint32 | ~uint16 | ~uint8 | ~float64](v T) Value {
	return Value{Num: float64(v)}
}

// Text makes a text. It is kept as it came; sinks escape it.
func Text(s string) Value { return Value{Text: s} }

// MaxFrames bounds the frames kept as proof of one finding (contract).
const MaxFrames = 32

// Evidence is where a finding was seen.
type Evidence struct {
	First, Last uint64   // frame numbers
	Start, End  int64    // times of these frames, ns since 1970 UTC
	Count       uint64   // occurrences
	Frames      []uint64 // ascending, at most MaxFrames; first and last are always among them
}

// Add notes one occurrence. Frames must come in ascending order; the same frame
// may come again.
func (e *Evidence) Add(frame uint64, at int64) {
	if e.Count == 0 {
		e.First, e.Start = frame, at
	}
	e.Count++
	if n := len(e.Frames); n > 0 && e.Frames[n-1] == frame {
		return
	}
	e.Last, e.End = frame, at
	if len(e.Frames) < MaxFrames {
		e.Frames = append(e.Frames, frame)
		return
	}
	e.Frames[MaxFrames-1] = frame
}

// Join adds the occurrences of o, which begin no earlier than those of e.
func (e *Evidence) Join(o *Evidence) {
	frames := make([]uint64, 0, len(e.Frames)+len(o.Frames))
	frames = append(append(frames, e.Frames...), o.Frames...)
	slices.Sort(frames)
	frames = slices.Compact(frames)
	if n := len(frames); n > MaxFrames {
		frames[MaxFrames-1] = frames[n-1]
		frames = frames[:MaxFrames]
	}
	e.Frames = frames
	e.Count += o.Count
	if o.Last > e.Last {
		e.Last, e.End = o.Last, o.End
	}
}

// Finding is a symptom with its proof.
type Finding struct {
	Code     Code
	Severity Severity
	Flow     flow.ID    // zero: not of one conversation
	Host     netip.Addr // zero: not of one host
	Evidence Evidence   // never empty
	Values   []Value    // in the order of the Def's metrics
}
