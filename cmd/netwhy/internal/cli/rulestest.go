package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/run"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// rulesTest runs each argument by its kind. Rule files among the arguments are
// loaded for all of them.
func (s *session) rulesTest(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 {
		return usagef("rules test", "rules test needs a table of labels, a rule file or a capture")
	}
	var own []string
	for _, a := range args {
		if isRuleFile(a) {
			own = append(own, a)
		}
	}
	set, err := s.rulesForTest(c, own)
	if err != nil {
		return err
	}
	t := &ruleTest{s: s, set: set, log: slog.New(slog.NewTextHandler(s.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	var faults []error
	for _, a := range args {
		var err error
		switch {
		case isRuleFile(a):
			err = t.expectations(c.Context, a)
		case strings.HasSuffix(a, ".tsv"), isLabelled(a):
			err = t.labels(c.Context, a)
		default:
			err = t.capture(c.Context, a)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	if t.misses > 0 {
		faults = append(faults, errMisses)
	}
	return errors.Join(faults...)
}

func isRuleFile(path string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
}

func isLabelled(path string) bool {
	st, err := os.Stat(filepath.Join(path, rules.LabelsFile))
	return err == nil && st.Mode().IsRegular()
}

type ruleTest struct {
	s      *session
	set    *rules.Set
	log    *slog.Logger
	misses int
}

func (t *ruleTest) judge(ctx context.Context, path string) ([]diagnosis.Diagnosis, error) {
	return run.Judge(ctx, t.log, t.set, path)
}

// labels judges every capture that a table names and prints the score.
func (t *ruleTest) labels(ctx context.Context, path string) error {
	if isLabelled(path) {
		path = filepath.Join(path, rules.LabelsFile)
	}
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("read labels: %w", err)
	}
	list, err := rules.ReadLabels(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read labels from %s: %w", path, err)
	}
	score, err := rules.Test(ctx, list, func(ctx context.Context, name string) ([]diagnosis.Diagnosis, error) {
		return t.judge(ctx, filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
	})
	if err != nil {
		return err
	}
	if score.First < score.Faulty || score.FalseAlarms > 0 {
		t.misses++
	}
	_, err = score.WriteTo(t.s.Stdout)
	return err
}

// expectations runs the captures that the rules of a file name.
func (t *ruleTest) expectations(ctx context.Context, path string) error {
	n := 0
	for _, e := range t.set.Expectations() {
		if filepath.Clean(e.Rule.Pos.File) != filepath.Clean(path) {
			continue
		}
		n++
		said, err := t.judge(ctx, filepath.Join(filepath.Dir(path), filepath.FromSlash(e.File)))
		if err == nil {
			err = e.Meets(said)
		}
		verdict := "ok    "
		text := fmt.Sprintf("%s %s", e.Rule.ID, e.File)
		if err != nil {
			t.misses++
			verdict, text = "MISS  ", err.Error()
		}
		if _, err := fmt.Fprintln(t.s.Stdout, verdict+terminal.Printable(text)); err != nil {
			return err
		}
	}
	if n == 0 {
		return usagef("rules test", "no rule of %s names a capture (fires, silent)", path)
	}
	return nil
}

// capture prints what the rules say of a capture, a line a diagnosis.
func (t *ruleTest) capture(ctx context.Context, path string) error {
	said, err := t.judge(ctx, path)
	if err != nil {
		return err
	}
	if len(said) == 0 {
		_, err = fmt.Fprintf(t.s.Stdout, "%s: nothing\n", terminal.Printable(path))
		return err
	}
	for i := range said {
		d := &said[i]
		if _, err := fmt.Fprintf(t.s.Stdout, "%s: %s (%s, %s): %s\n", terminal.Printable(path), d.Cause, d.Culprit, d.Severity, terminal.Printable(d.Title)); err != nil {
			return err
		}
	}
	return nil
}

// rulesForTest loads the rules of flags, configuration and arguments.
func (s *session) rulesForTest(c *cli.Context, own []string) (*rules.Set, error) {
	_, l, err := s.ruleSet(c)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return run.LoadRules(l.Rules)
	}
	return run.LoadRules(slices.Concat(l.Rules, own))
}
