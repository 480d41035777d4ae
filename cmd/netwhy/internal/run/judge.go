package run

import (
	"context"
	"errors"
	"log/slog"

	"netwhy/analyze"
	"netwhy/capture"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// Judge analyses one capture and asks the rules: what tests of rules do, without
// a report. A damaged file is judged by what could be read.
func Judge(ctx context.Context, log *slog.Logger, set *rules.Set, path string) ([]diagnosis.Diagnosis, error) {
	file, err := capture.Open(ctx, []string{path}, capture.Options{})
	if err != nil {
		return nil, err
	}
	res, err := analyze.Run(ctx, file, analyze.Options{}, nil)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	said, faults := set.Diagnose(Judged(res), rules.Options{})
	for _, f := range faults {
		log.WarnContext(ctx, "a rule could not be evaluated", slog.Any("err", f))
	}
	return said, nil
}
