// Command bench measures netwhy against the tools that people would use
// instead, as whole processes, all in turn in one run, and prints ratios: on a
// shared machine nothing else means anything.
//
//	bench [-runs 5] [-netwhy bin/netwhy] [-table FILE] CAPTURE...
//	bench shares CAPTURE...   what each analyzer takes of a replay
//	bench walk CAPTURE        read the records in large blocks and do nothing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // main is where contexts begin
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// file stands for the capture's name in the arguments of a tool, and walker is
// the tool that this program is itself.
const (
	file   = "FILE"
	walker = "walk"
)

// tool is one program that reads a capture. FILE stands for its name.
type tool struct {
	name string
	args []string
	env  string // one setting, NAME=value
	note string
	slow bool // one run is enough: it takes minutes, and nothing depends on its last percent
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == walker {
		return walk(args[1])
	}
	if len(args) > 1 && args[0] == shareOf {
		return shares(ctx, out, args[1:])
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	runs := f.Int("runs", 5, "runs of each tool on each capture; the median counts")
	netwhy := f.String("netwhy", "bin/netwhy", "the netwhy to measure")
	table := f.String("table", "", "also write the table to this file")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return errors.New("no capture; name some, such as those of shared/bench/make-bench.sh")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find myself: %w", err)
	}
	tools, missing := installed([]tool{
		{name: "netwhy", args: []string{*netwhy, "replay", file, "--offline", "--format", "json", "-o", os.DevNull, "--progress", "never"}, note: "everything on"},
		{name: "netwhy, 1 worker", args: []string{*netwhy, "replay", file, "--offline", "--format", "json", "-o", os.DevNull, "--progress", "never"}, env: "NETWHY_LIMITS_WORKERS=1", note: "everything on"},
		{name: walker, args: []string{self, walker, file}, note: "records in large blocks, nothing else"},
		{name: "capinfos", args: []string{"capinfos", "-c", file}, note: "counts packets"},
		{name: "softflowd", args: []string{"softflowd", "-r", file, "-n", "127.0.0.1:9", "-d"}, note: "counts flows"},
		{name: "tcptrace -n", args: []string{"tcptrace", "-n", file}, note: "TCP connections"},
		{name: "tcptrace -n -l", args: []string{"tcptrace", "-n", "-l", file}, note: "the same with statistics"},
		{name: "tshark", args: []string{"tshark", "-n", "-q", "-z", "expert", "-z", "conv,tcp", "-r", file}, note: "-q -z expert -z conv,tcp", slow: true},
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s; medians of %d runs in turn (slow tools: one), whole processes.\n", machine(), runtime.NumCPU(), runtime.Version(), *runs)
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Not installed, not measured: %s.\n", strings.Join(missing, ", "))
	}
	for _, capture := range f.Args() {
		rows, err := measure(ctx, tools, capture, *runs)
		if err != nil {
			return err
		}
		render(&b, capture, tools, rows)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if *table != "" {
		if err := os.WriteFile(*table, []byte(b.String()), 0o644); err != nil { //nolint:gosec // a report for everybody
			return fmt.Errorf("keep the table: %w", err)
		}
	}
	return nil
}

func installed(all []tool) (have []tool, missing []string) {
	for _, t := range all {
		if _, err := exec.LookPath(t.args[0]); err != nil {
			missing = append(missing, t.name)
			continue
		}
		have = append(have, t)
	}
	return have, missing
}

// sample is what one run cost.
type sample struct {
	wall, cpu time.Duration
	peakKiB   int64
}

// measure runs the tools in turn, so that a busy moment of the machine hits all.
func measure(ctx context.Context, tools []tool, capture string, runs int) ([][]sample, error) {
	if err := walk(capture); err != nil { // warms the page cache, and fails early
		return nil, err
	}
	rows := make([][]sample, len(tools))
	for n := range runs {
		for i, t := range tools {
			if t.slow && n > 0 {
				continue
			}
			s, err := once(ctx, t, capture)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], s)
		}
	}
	return rows, nil
}

func once(ctx context.Context, t tool, capture string) (sample, error) {
	args := make([]string, len(t.args))
	for i, a := range t.args {
		args[i] = strings.ReplaceAll(a, file, capture)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the tools are listed above
	if t.env != "" {
		cmd.Env = append(os.Environ(), t.env)
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("%s on %s: %w: %s", t.name, filepath.Base(capture), err, strings.TrimSpace(complaint.String()))
	}
	return sample{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), peak(cmd.ProcessState)}, nil
}
