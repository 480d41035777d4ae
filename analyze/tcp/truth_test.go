package tcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze/tcp"
)

// exceptions are the captures whose counts differ from tshark's, each with the
// reason. No more than 3% of the captures may be here.
var exceptions = map[string]string{}

// Scores that were reached; they are raised, never lowered.
const (
	corpusSame = 170
	labSame    = 104
)

type counts [len(tcp.CounterNames)]int

// count follows the connections of a capture.
func count(t *testing.T, name string) (n counts, streams int) {
	t.Helper()
	f := newFollower(nobody{}, tcp.Limits{})
	f.each = func(_ *follow, _ *tcp.Segment, _ *tcp.View, m tcp.Marks) {
		for i := range n {
			if m&(1<<i) != 0 {
				n[i]++
			}
		}
	}
	f.file(t, name)
	f.close()
	return n, f.count
}

func diff(got, want counts) string {
	var b strings.Builder
	for i, name := range tcp.CounterNames {
		if got[i] != want[i] {
			fmt.Fprintf(&b, " %s %d want %d", name, got[i], want[i])
		}
	}
	return b.String()
}

// TestCorpus compares every counter of every capture of the corpus with tshark's.
func TestCorpus(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus")
	list, err := filepath.Glob(filepath.Join(dir, "truth", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			File     string         `json:"file"`
			TCP      int            `json:"tcp_conversations"`
			Analysis map[string]int `json:"tcp_analysis"`
			RST      int            `json:"tcp_rst"`
		}
		if err := json.Unmarshal(b, &truth); err != nil {
			t.Fatal(name, err)
		}
		var want counts
		for i, c := range tcp.CounterNames {
			want[i] = truth.Analysis[c]
		}
		want[len(want)-1] = truth.RST
		got, streams := count(t, filepath.Join(dir, truth.File))
		d := diff(got, want)
		if streams != truth.TCP {
			d += fmt.Sprintf(" connections %d want %d", streams, truth.TCP)
		}
		if d == "" {
			same++
		}
		judge(t, truth.File, d)
	}
	score(t, same, len(list), corpusSame)
}

// judge reports a difference that has no reason, and a reason without difference.
func judge(t *testing.T, file, d string) {
	t.Helper()
	why, known := exceptions[file]
	switch {
	case d == "" && known:
		t.Errorf("%s now agrees: take it out of the exceptions (%s)", file, why)
	case d != "" && known:
		t.Logf("%s:%s (%s)", file, d, why)
	case d != "":
		t.Errorf("%s:%s", file, d)
	}
}

func score(t *testing.T, same, all, reached int) {
	t.Helper()
	t.Logf("%d of %d captures have tshark's counts", same, all)
	if same < reached {
		t.Errorf("%d captures agree, %d did before", same, reached)
	}
	if 100*len(exceptions) > 3*all {
		t.Errorf("%d exceptions of %d captures: more than 3%%", len(exceptions), all)
	}
}

// TestLab does the same with the captures that the lab made; tshark's counts are
// in testdata/lab.tsv, one line a capture, a column a counter.
func TestLab(t *testing.T) {
	t.Parallel()
	dir := shared(t, "lab")
	b, err := os.ReadFile(filepath.Join("testdata", "lab.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	same, all := 0, 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		all++
		col := strings.Split(strings.TrimSpace(line), "\t")
		var want counts
		for i := range want {
			if want[i], err = strconv.Atoi(col[i+2]); err != nil {
				t.Fatal(line, err)
			}
		}
		got, streams := count(t, filepath.Join(dir, col[0]))
		d := diff(got, want)
		if strconv.Itoa(streams) != col[1] {
			d += fmt.Sprintf(" connections %d want %s", streams, col[1])
		}
		if d == "" {
			same++
		}
		judge(t, col[0], d)
	}
	score(t, same, all, labSame)
}
