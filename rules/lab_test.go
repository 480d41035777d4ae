package rules_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/capture"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// shared returns a folder of captures kept beside the repository.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("captures are missing: %v", err)
		}
		tb.Skipf("captures are missing: %v", err)
	}
	return dir
}

// runner replays a capture and judges it.
func runner(s *rules.Set, dir string) rules.Runner {
	return func(ctx context.Context, name string) ([]diagnosis.Diagnosis, error) {
		f, err := capture.Open(ctx, []string{filepath.Join(dir, name)}, capture.Options{})
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r, err := analyze.Run(ctx, f, analyze.Options{}, nil)
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", name, err)
		}
		said, faults := s.Diagnose(input(r), rules.Options{})
		for _, e := range faults {
			err = fmt.Errorf("%w; %w", err, e)
		}
		return said, err
	}
}

func input(r *analyze.Result) *rules.Input {
	return &rules.Input{
		Findings: r.Findings, Connection: r.Connection, Trust: r.Trust, Packets: r.Packets, Bytes: r.Bytes,
		Duration: r.Last - r.First, TCP: r.TCPConversations, UDP: r.UDPConversations,
	}
}

// Scores reached: they may only be raised.
const (
	leastFirst = 92 // of 92 captures of the fault lab, cause named first
	leastParty = 92 // of these, right culprit
	mostFalse  = 0  // of 12 healthy ones, with a diagnosis of warning or above
)

// TestLab judges the labelled captures of the fault lab.
func TestLab(t *testing.T) {
	t.Parallel()
	score := judged(t, shared(t, "lab"))
	if score.First < leastFirst || score.Party < leastParty || score.FalseAlarms > mostFalse {
		t.Errorf("first %d (least %d), culprit %d (least %d), false alarms %d (most %d)",
			score.First, leastFirst, score.Party, leastParty, score.FalseAlarms, mostFalse)
	}
}

// TestFixtures judges the repository's own labelled captures: all of them, right.
func TestFixtures(t *testing.T) {
	t.Parallel()
	score := judged(t, filepath.Join("..", "fixtures", "rules"))
	if score.First != score.Faulty || score.Party != score.Faulty || score.FalseAlarms > 0 {
		t.Errorf("first %d and culprit %d of %d, false alarms %d of %d",
			score.First, score.Party, score.Faulty, score.FalseAlarms, score.Healthy)
	}
}

// judged scores a folder of labelled captures and prints the table.
func judged(t *testing.T, dir string) *rules.Score {
	t.Helper()
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, rules.LabelsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	labels, err := rules.ReadLabels(f)
	if err != nil {
		t.Fatal(err)
	}
	score, err := rules.Test(t.Context(), labels, runner(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := score.WriteTo(t.Output()); err != nil {
		t.Fatal(err)
	}
	return score
}

// clean are the categories of the corpus that its manifest calls healthy, or
// that are there for the sake of a format. Nothing of warning or above may be
// said of them.
func clean() []string {
	return []string{"clean", "encapsulation", "link-type", "vlan", "sctp", "quic", "ip-fragments", "long-connection", "file-format"}
}

// TestCleanCorpus judges the public captures of healthy traffic.
func TestCleanCorpus(t *testing.T) {
	t.Parallel()
	dir := shared(t, "corpus")
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	run, n := runner(s, dir), 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		const name, category, columns = 0, 9, 11
		if len(cells) < columns || !slices.Contains(clean(), cells[category]) {
			continue
		}
		n++
		said, err := run(t.Context(), cells[name])
		if err != nil {
			t.Errorf("%s: %v", cells[name], err)
		}
		for _, d := range said {
			if d.Severity >= finding.Warning {
				t.Errorf("%s (%s): said %s: %s", cells[name], cells[category], d.Cause, d.Title)
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d healthy captures were judged", n)
	}
}
