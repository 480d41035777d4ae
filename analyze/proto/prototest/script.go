package prototest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Step is one frame of a script: bytes, or a gap of Gap bytes.
type Step struct {
	Dir flow.Dir
	At  time.Duration
	B   []byte
	Gap int
}

// Run plays a script and ends the conversation with why at the last step's time.
func Run(tb testing.TB, c *Conversation, steps []Step, why proto.End) *Conversation {
	tb.Helper()
	var at time.Duration
	for _, s := range steps {
		at = s.At
		if s.Gap > 0 {
			c.Gap(s.Dir, s.At, s.Gap)
			continue
		}
		c.Send(s.Dir, s.At, s.B)
	}
	c.End(at, why)
	for _, f := range c.Rec.Faults {
		tb.Errorf("broken promise: %s", f)
	}
	return c
}

// EveryCut plays the steps once as they are and once for each way to cut one of
// them in two (both halves at the same time), and fails when codes, malformed
// reasons, counters or the number and codes of exchanges differ. It is for TCP:
// TCP may cut anywhere.
func EveryCut(t *testing.T, fresh func() *Conversation, steps []Step) {
	t.Helper()
	want := digest(Run(t, fresh(), steps, proto.Closed))
	for i, s := range steps {
		for cut := 1; cut < len(s.B); cut++ {
			parts := make([]Step, 0, len(steps)+1)
			parts = append(parts, steps[:i]...)
			parts = append(parts,
				Step{Dir: s.Dir, At: s.At, B: s.B[:cut]},
				Step{Dir: s.Dir, At: s.At, B: s.B[cut:]})
			parts = append(parts, steps[i+1:]...)
			if got := digest(Run(t, fresh(), parts, proto.Closed)); got != want {
				t.Fatalf("step %d cut at %d of %d:\n got %s\nwant %s", i, cut, len(s.B), got, want)
			}
		}
	}
}

// EveryPrefix plays the steps with each one cut off at every byte, the rest of
// its direction missing, and checks promises only: nothing panics, nothing
// undeclared is said.
func EveryPrefix(t *testing.T, fresh func() *Conversation, steps []Step) {
	t.Helper()
	for i, s := range steps {
		for cut := range s.B {
			parts := append(append([]Step(nil), steps[:i]...), Step{Dir: s.Dir, At: s.At, B: s.B[:cut]})
			parts = append(parts, Step{Dir: s.Dir, At: s.At, Gap: len(s.B) - cut})
			Run(t, fresh(), append(parts, steps[i+1:]...), proto.Over)
		}
	}
}

func digest(c *Conversation) string {
	var b strings.Builder
	for i := range c.Rec.Reports {
		b.WriteString(string(c.Rec.Reports[i].Code))
		b.WriteByte(' ')
	}
	b.WriteString("| ")
	b.WriteString(strings.Join(c.Rec.Bad, ", "))
	for k := range c.Rec.Counts {
		for _, key := range sortedKeys(c.Rec.Counts[k]) {
			b.WriteString("| " + key)
		}
	}
	for i := range c.Rec.Exchanges {
		x := &c.Rec.Exchanges[i]
		b.WriteString("| " + x.Label + " -> " + x.Code)
	}
	b.WriteString("| " + c.Facts.App + " " + c.Facts.Name)
	for _, key := range sortedKeys(c.Facts.Attrs()) {
		b.WriteString("| " + key + "=" + c.Facts.Attrs()[key])
	}
	return b.String()
}

// Hostile is the body of a fuzz target: data is chopped into frames by its own
// bytes and fed in both directions with gaps. It fails on a broken promise; a
// panic or an endless loop fails by itself.
func Hostile(tb testing.TB, c *Conversation, data []byte) {
	tb.Helper()
	at := time.Duration(0)
	for len(data) > 0 {
		// One byte of control: direction, a gap now and then, and the length of
		// the frame; small frames find the edges, large ones the depth.
		ctl := data[0]
		data = data[1:]
		dir := flow.Dir(ctl & 1)
		at += time.Duration(ctl) * time.Millisecond
		n := int(ctl>>2) * int(ctl>>2) / 2
		if ctl>>1 == 0x7f {
			c.Gap(dir, at, 1+n)
			continue
		}
		n = min(max(n, 1), len(data))
		c.Send(dir, at, data[:n])
		data = data[n:]
	}
	c.End(at, proto.Over)
	for _, f := range c.Rec.Faults {
		tb.Errorf("broken promise: %s", f)
	}
}

// Seed turns steps into input for Hostile, so that real conversations seed the
// fuzzing.
func Seed(steps []Step) []byte {
	var out []byte
	for _, s := range steps {
		for b := s.B; len(b) > 0; {
			ctl := byte(0)
			for k := range 63 {
				if k*k/2 <= len(b) {
					ctl = byte(k)
				}
			}
			n := min(max(int(ctl)*int(ctl)/2, 1), len(b))
			out = append(append(out, ctl<<2|byte(s.Dir)), b[:n]...)
			b = b[n:]
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
