package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze"
	"netwhy/rules"
)

// Scores reached on public captures: they may only be raised.
const (
	leastCorpusFirst = 135 // of 138 captures with a published fault, cause named first
	leastCorpusThree = 138 // ... or among the first three
	mostCorpusFalse  = 0   // of 32 healthy ones, with a diagnosis of warning or above
)

// TestCorpus judges the public captures. What is wrong in each was published by
// those who took it (the column condition); testdata/corpus.tsv says which cause
// that is, also where no rule knows it yet.
func TestCorpus(t *testing.T) {
	t.Parallel()
	score := corpusScore(t)
	if score.First < leastCorpusFirst || score.Three < leastCorpusThree || score.FalseAlarms > mostCorpusFalse {
		t.Errorf("first %d (least %d), in first 3 %d (least %d), false alarms %d (most %d)",
			score.First, leastCorpusFirst, score.Three, leastCorpusThree, score.FalseAlarms, mostCorpusFalse)
	}
}

// corpusLabels reads what is wrong in each of the public captures.
func corpusLabels(t *testing.T) []rules.Label {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "corpus.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	labels, err := rules.ReadLabels(f)
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

func corpusScore(t *testing.T) *rules.Score {
	t.Helper()
	dir := shared(t, "corpus")
	s, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	score, err := rules.Test(t.Context(), corpusLabels(t), runner(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := score.WriteTo(t.Output()); err != nil {
		t.Fatal(err)
	}
	return score
}
