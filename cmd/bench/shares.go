package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"netwhy/analyze"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/capture"
)

// shareOf is the subcommand that prints what each analyzer takes of a replay.
const shareOf = "shares"

// leastShare is the share below which a protocol is not worth a line.
const leastShare = 0.001

// meter measures the time that analyzers take, each without those that it hands
// bytes to. With one worker they all run in one goroutine.
type meter struct {
	took  map[string]time.Duration
	calls map[string]int
	now   string // whose time it is
	since time.Time
}

// enter gives the time from now on to a protocol; call what it returns to give it
// back.
func (m *meter) enter(name string) func() {
	outer, at := m.now, time.Now()
	m.took[outer] += at.Sub(m.since)
	m.now, m.since = name, at
	m.calls[name]++
	return func() {
		at := time.Now()
		m.took[name] += at.Sub(m.since)
		m.now, m.since = outer, at
	}
}

// metered is an analyzer under the meter.
type metered struct {
	proto.Analyzer

	name string
	m    *meter
}

func (a *metered) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	defer a.m.enter(a.name)()
	return a.Analyzer.Data(s, dir, b) //nolint:wrapcheck // passed on
}

func (a *metered) Gap(s *proto.Scope, dir flow.Dir, n int) error {
	defer a.m.enter(a.name)()
	return a.Analyzer.Gap(s, dir, n) //nolint:wrapcheck // passed on
}

func (a *metered) End(s *proto.Scope, why proto.End) {
	defer a.m.enter(a.name)()
	a.Analyzer.End(s, why)
}

// specs are all analyzers, metered. Probes are left out: they are asked a few
// times a connection, and measuring would cost more than they do.
func (m *meter) specs() []proto.Spec {
	all := analyze.Protocols()
	for i := range all {
		name, fresh := all[i].Name, all[i].New
		all[i].New = func() proto.Analyzer { return &metered{fresh(), name, m} }
	}
	return all
}

// shares replays captures with one worker and prints the share of each analyzer
// in the time of the lane that runs them.
func shares(ctx context.Context, out io.Writer, captures []string) error {
	var b strings.Builder
	for _, name := range captures {
		m := &meter{took: map[string]time.Duration{}, calls: map[string]int{}}
		src, err := capture.Open(ctx, []string{name}, capture.Options{})
		if err != nil {
			return fmt.Errorf("open the capture: %w", err)
		}
		start := time.Now()
		m.since = start
		_, err = analyze.Run(ctx, src, analyze.Options{Workers: 1, Protocols: m.specs()}, nil)
		_ = src.Close() // only read
		if err != nil {
			return fmt.Errorf("replay %s: %w", name, err)
		}
		m.print(&b, name, time.Since(start))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// print writes the protocols that took most; what the meter itself takes is not
// theirs.
func (m *meter) print(b *strings.Builder, name string, whole time.Duration) {
	each := cost()
	names := make([]string, 0, len(m.calls))
	own := map[string]time.Duration{}
	for n, calls := range m.calls {
		own[n] = max(m.took[n]-time.Duration(calls)*each, 0)
		whole -= time.Duration(calls) * 2 * each
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(own[y], own[x]), strings.Compare(x, y)) })
	fmt.Fprintf(b, "\n%s: share of each analyzer in a replay with one worker\n\n", strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "analyzer\tshare\tcalls\tns a call")
	for _, n := range names {
		share := float64(own[n]) / float64(max(whole, 1))
		if share < leastShare {
			continue
		}
		fmt.Fprintf(w, "%s\t%.1f%%\t%d\t%d\n", n, 100*share, m.calls[n], own[n].Nanoseconds()/int64(m.calls[n]))
	}
	_ = w.Flush() // a strings.Builder takes everything
}

// cost is what one measurement adds to the time it measures.
func cost() time.Duration {
	const n = 10_000
	m := &meter{took: map[string]time.Duration{}, calls: map[string]int{}, since: time.Now()}
	for range n {
		m.enter("x")()
	}
	return m.took["x"] / n
}
