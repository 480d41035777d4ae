package tcp_test

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
)

// names writes marks as the test data does.
func names(m tcp.Marks) string {
	var x []string
	for i, n := range tcp.CounterNames {
		if m&(1<<i) != 0 {
			x = append(x, n)
		}
	}
	if len(x) == 0 {
		return "-"
	}
	return strings.Join(x, "+")
}

// ref follows one connection and those on its ports after it.
type ref struct {
	t *tcp.Tracker
	r tcp.Ref
}

func (c *ref) segment(s *tcp.Segment, v *tcp.View) tcp.Marks {
	switch {
	case c.r == 0:
		c.r = c.t.Open(1)
	case c.t.Reused(c.r, s):
		c.t.Close(c.r, 0)
		c.r = c.t.Reopen(1)
	}
	return c.t.Segment(c.r, s, v)
}

// parseCase reads a line of testdata/cases.txt.
func parseCase(t *testing.T, line string) (s tcp.Segment, want string) {
	t.Helper()
	col := strings.Fields(line)
	num := func(i, base, bits int) uint64 {
		v, err := strconv.ParseUint(col[i], base, bits)
		if err != nil {
			t.Fatal(line, err)
		}
		return v
	}
	s = tcp.Segment{
		Time: int64(num(1, 10, 62)) * 1000, Seq: uint32(num(2, 10, 32)), Ack: uint32(num(3, 10, 32)),
		Flags: uint16(num(4, 16, 16)), Window: uint16(num(5, 10, 16)), Len: uint32(num(6, 10, 32)),
	}
	if col[0] == "<" {
		s.Dir = flow.ToClient
	}
	if col[7] != "-" {
		var err error
		if s.Options, err = hex.DecodeString(col[7]); err != nil {
			t.Fatal(line, err)
		}
	}
	return s, col[8]
}

// TestCases gives the segments of crafted connections and compares every mark.
func TestCases(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join("testdata", "cases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tracker := tcp.NewTracker(tcp.Limits{}, nobody{})
	c := &ref{t: tracker}
	var sofar strings.Builder
	cases, wrong := 0, false
	for sc := bufio.NewScanner(file); sc.Scan(); {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case line == "":
			if wrong {
				t.Errorf("case %d:\n%s", cases, sofar.String())
			}
			cases++
			c, wrong = &ref{t: tracker}, false
			sofar.Reset()
			continue
		}
		s, want := parseCase(t, line)
		var v tcp.View
		got := names(c.segment(&s, &v))
		sofar.WriteString(line)
		if got != want {
			wrong = true
			sofar.WriteString("  but got " + got)
		}
		sofar.WriteByte('\n')
	}
	t.Logf("%d connections", cases)
}
