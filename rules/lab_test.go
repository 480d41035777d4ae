package rules_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze"
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

// Least scores: they may only be raised.
const (
	leastFirst = 0 // captures whose cause is named first
	leastParty = 0 // captures with the right culprit
	mostFalse  = 0 // healthy captures with a false alarm
)

// TestLab judges the labelled captures of the fault lab.
func TestLab(t *testing.T) {
	t.Parallel()
	dir := shared(t, "lab")
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
	if score.First < leastFirst || score.Party < leastParty || score.FalseAlarms > mostFalse {
		t.Errorf("first %d (least %d), culprit %d (least %d), false alarms %d (most %d)",
			score.First, leastFirst, score.Party, leastParty, score.FalseAlarms, mostFalse)
	}
}
