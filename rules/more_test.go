package rules_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// stalls makes n servers whose clients stopped reading, each for a second longer
// than the one before, in a row that is not the order of their cost.
func stalls(n int) *world {
	w := newWorld()
	for i := range n {
		k := (i*7 + 3) % n
		c := w.conn(uint32(i), "10.0.0.9:4000", fmt.Sprintf("10.1.%d.%d:80", k>>8, k&255))
		w.find(c, "", "tcp.zero-window", uint64(i)+1, finding.Num(float64(10+k)), finding.Num(1), finding.Text("server"))
	}
	return w
}

// TestManyOfOneCause: the costliest are told one by one, the rest in one diagnosis
// that leaves nobody out.
func TestManyOfOneCause(t *testing.T) {
	t.Parallel()
	s := loadText(t, zeroWindow)
	const n, told = 1100, 50
	w := stalls(n)
	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) > 0 || len(got) != told+1 {
		t.Fatalf("faults %v, %d diagnoses, want %d", faults, len(got), told+1)
	}
	if got[0].Impact.StalledSeconds != n+9 || got[told-1].Impact.StalledSeconds != n+9-told+1 || got[0].More != 0 {
		t.Errorf("the costliest come first: %v ... %v", got[0].Impact, got[told-1].Impact)
	}
	d := got[told]
	sum := 0.0
	for i := range n - told {
		sum += float64(10 + i)
	}
	if d.More != n-told || d.Impact != (diagnosis.Impact{Connections: n - told, StalledSeconds: sum}) || d.Cause != got[0].Cause || d.Severity != got[0].Severity {
		t.Errorf("the rest: %+v", d)
	}
	if !strings.HasPrefix(d.Title, "receiver-zero-window at 1,050 more servers: 1,050 connections, ") ||
		!strings.Contains(d.Explanation, "Such as: server 10.1.4.25:80 stopped reading") || len(d.Remedies) == 0 {
		t.Errorf("%q\n%q", d.Title, d.Explanation)
	}
	if len(d.Evidence) == 0 || len(d.Evidence) > 100 || len(d.Connections) > 100 || len(d.Frames) != finding.MaxFrames || !slices.IsSorted(d.Evidence) {
		t.Errorf("samples: %d findings, %d connections, %d frames", len(d.Evidence), len(d.Connections), len(d.Frames))
	}
	zh, _ := s.Diagnose(&w.in, rules.Options{Lang: rules.Chinese})
	if want := "receiver-zero-window：另外 1,050 台服务器，1,050 个连接，"; !strings.HasPrefix(zh[told].Title, want) {
		t.Errorf("zh: %q", zh[told].Title)
	}
	if again, _ := s.Diagnose(&w.in, rules.Options{}); !reflect.DeepEqual(got, again) {
		t.Error("the same input is judged differently")
	}
}

const asksForMore = `
- id: slow
  on: [tcp.no-answer]
  when: tcp.no_answer.waited_seconds >= 3 && conn.syns >= 2
  culprit: server
  severity: warning
  confidence: 0.9
  impact: {failed: 1}
  title: {en: "${conn.syns} SYNs to ${conn.server.addr}"}
  explanation: {en: "x"}
`

// TestForgottenConversations: a finding whose conversation was not kept is counted
// where it belongs, and never told as a story without people.
func TestForgottenConversations(t *testing.T) {
	t.Parallel()
	forget := func(w *world, c *conn.Summary) {
		b := c.Brief()
		delete(w.conns, c.ID)
		before := w.in.Forgotten
		w.in.Forgotten = func(id flow.ID) (conn.Brief, bool) {
			switch {
			case id == b.ID:
				return b, true
			case before != nil:
				return before(id)
			default:
				return conn.Brief{}, false
			}
		}
	}
	stall := func(w *world, c *conn.Summary, frame uint64) {
		w.find(c, "", "tcp.zero-window", frame, finding.Num(2), finding.Num(1), finding.Text("server"))
	}

	t.Run("beside others of its server", func(t *testing.T) {
		t.Parallel()
		s, w := loadText(t, zeroWindow), newWorld()
		kept, gone := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), w.conn(2, "10.0.0.8:4000", "10.0.0.5:80")
		w.find(gone, "", "tcp.zero-window", 1, finding.Num(5), finding.Num(1), finding.Text("server")) // costs more, but cannot lead
		stall(w, kept, 2)
		forget(w, gone)
		got, _ := s.Diagnose(&w.in, rules.Options{})
		if len(got) != 1 || got[0].Title != "server 10.0.0.5:80 stopped reading for 2 s" || got[0].Explanation != "2 connections, 7 s in all" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		s, w := loadText(t, zeroWindow), newWorld()
		a, b := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), w.conn(2, "10.0.0.8:4000", "10.0.0.6:80")
		stall(w, a, 1)
		stall(w, b, 2)
		forget(w, a)
		forget(w, b)
		got, _ := s.Diagnose(&w.in, rules.Options{})
		if len(got) != 1 || got[0].More != 2 || got[0].Title != "receiver-zero-window at 2 servers: 2 connections, 4 s" ||
			!strings.Contains(got[0].Explanation, "10.0.0.5:80, 10.0.0.6:80") || !strings.Contains(got[0].Explanation, "Of 2 of these connections only ends") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a rule that asks for more than is left", func(t *testing.T) {
		t.Parallel()
		s, w := loadText(t, asksForMore), newWorld()
		kept, gone, strange := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), w.conn(2, "10.0.0.8:4000", "10.0.0.5:80"), w.conn(3, "10.0.0.8:4001", "10.0.0.6:80")
		kept.SYNs = 4
		for i, c := range []*conn.Summary{kept, gone, strange} {
			w.find(c, "", "tcp.no-answer", uint64(i)+1, finding.Num(7))
		}
		forget(w, gone)
		forget(w, strange)
		got, _ := s.Diagnose(&w.in, rules.Options{})
		if len(got) != 1 || got[0].Title != "4 SYNs to 10.0.0.5:80" || got[0].Impact.Connections != 2 || !slices.Equal(got[0].Evidence, []int{0, 1}) {
			t.Errorf("%+v", got)
		}
	})
}
