package run

import (
	"context"
	"errors"
	"fmt"

	"netwhy/analyze"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/diff"
)

// DiffOptions say what is compared, and how.
type DiffOptions struct {
	Good, Bad string // files
	Filter    string
	Limits    config.Limits
	Force     bool // compare what is common even where the rest is unlike
}

// Diff analyses both captures, one after the other, and compares them. A damaged
// file is compared by what could be read.
func Diff(ctx context.Context, w World, opt *DiffOptions) (*diff.Report, error) {
	var sides [2]*diff.Side
	for i, name := range []string{opt.Good, opt.Bad} {
		s, err := side(ctx, w, opt, name)
		if err != nil {
			return nil, err
		}
		sides[i] = s
	}
	r, err := diff.Compare(sides[0], sides[1], opt.Force)
	if err != nil {
		return nil, err
	}
	r.Version = w.Version
	return r, nil
}

func side(ctx context.Context, w World, opt *DiffOptions, name string) (s *diff.Side, err error) {
	file, err := capture.Open(ctx, []string{name}, capture.Options{Filter: opt.Filter, Stdin: w.Stdin})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s = diff.NewSide(name)
	res, err := analyze.Run(ctx, file, analyze.Options{
		Workers: int(opt.Limits.Workers), MaxConnections: int(opt.Limits.Connections), Connection: s.Add,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	const second = 1e9
	s.Packets, s.Seconds = res.Packets, float64(res.Last-res.First)/second
	return s, nil
}
