package capture

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// outcome is what came of reading one file.
type outcome struct {
	packets uint64
	fault   *TruncatedError
	err     error
}

// message is what a user would be told, empty if all is well.
func (o outcome) message() string {
	switch {
	case o.err != nil:
		return o.err.Error()
	case o.fault != nil:
		return o.fault.Error()
	}
	return ""
}

func readAll(tb testing.TB, opt Options, names ...string) (outcome, Info) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	f, err := Open(ctx, names, opt)
	if err != nil {
		return outcome{err: err}, Info{}
	}
	defer func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	}()
	for {
		b, err := f.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			i := f.Info()
			return outcome{packets: i.Counters.Packets, fault: i.Truncated(), err: err}, i
		}
		for i := range b.Frames {
			_ = b.Data(&b.Frames[i])
		}
		b.Release()
	}
}

// expectation is one way of being right about a file.
type expectation struct {
	packets uint64
	fault   bool
	fails   bool // a clear error and no packet
}

func (e expectation) met(o outcome) bool {
	if e.fails {
		return o.packets == 0 && (o.err != nil || o.fault != nil)
	}
	return o.err == nil && o.packets == e.packets && (o.fault != nil) == e.fault
}

var readsN = regexp.MustCompile(`reads (\d+)( packets)?( undecoded)?( then)?`)

// expectations reads the manifest's column: "A, or B" leaves a choice.
func expectations(text string) []expectation {
	main, _, _ := strings.Cut(text, " (")
	var all []expectation
	for part := range strings.SplitSeq(main, ", ") {
		if strings.Contains(part, "clear error") {
			all = append(all, expectation{fails: true})
		}
		if m := readsN.FindStringSubmatch(part); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			all = append(all, expectation{packets: n, fault: m[4] != ""})
		}
	}
	// The choice may stand behind the remark in brackets.
	if _, after, ok := strings.Cut(text, "), or "); ok {
		all = append(all, expectations(after)...)
	}
	return all
}

// reasoned are the files on which netwhy differs from the manifest on purpose.
var reasoned = map[string]string{
	"suriver__bug-6875-01__fuzz.pcap": "record 2 claims 1.4 GB; tcpdump stops after frame 1 as netwhy does, Wireshark guesses a patched layout and shows one byte at a time in 1925",
}

func TestRobustness(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus-robust")
	file, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := csv.NewReader(file)
	rows.Comma, rows.LazyQuotes = '\t', true
	all, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	met, differ := 0, 0
	for _, row := range all[1:] {
		name, expected := row[0], row[8]
		o, _ := readAll(t, Options{}, filepath.Join(dir, name))
		if errors.Is(o.err, context.DeadlineExceeded) {
			t.Fatalf("%s: hangs", name)
		}
		if msg := o.message(); strings.ContainsAny(msg, "\n\x1b") {
			t.Errorf("%s: not one plain line: %q", name, msg)
		}
		ok := false
		for _, e := range expectations(expected) {
			ok = ok || e.met(o)
		}
		switch {
		case ok:
			met++
		case reasoned[name] != "":
			differ++
		default:
			t.Errorf("%s: packets %d, fault %v, error %v; want %q", name, o.packets, o.fault, o.err, expected)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > 512<<20 {
		t.Errorf("the heap grew to %d MiB", m.HeapSys>>20)
	}
	t.Logf("robustness: %d of %d files as expected, %d differ with a reason", met, len(all)-1, differ)
	if met < 1302 {
		t.Errorf("only %d files as expected", met)
	}
}
