package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"netwhy/aidiag"
	"netwhy/aidiag/faulttest"
	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/capture"
	"netwhy/rules/diagnosis"
)

// rounds are the pairs of runs behind each ratio. The cheapest of each kind are
// compared: what else the machine does only ever slows a run down.
const rounds = 9

// cost is what a run took. On a machine that does other things too the time on
// its processors is the one that can be believed.
type cost struct{ wall, cpu []time.Duration }

func (c *cost) add(wall, cpu time.Duration) { c.wall, c.cpu = append(c.wall, wall), append(c.cpu, cpu) }

// compare prints packets/s of asking as part of those of not asking.
func compare(b *testing.B, off, on *cost) {
	b.Helper()
	b.ReportMetric(float64(slices.Min(off.wall))/float64(slices.Min(on.wall)), "pps-ratio")
	b.ReportMetric(float64(slices.Min(off.cpu))/float64(slices.Min(on.cpu)), "pps-per-cpu-ratio")
}

// BenchmarkAvalanche replays a file that raises hundreds of new cases within a
// second while the provider accepts and never answers. It prints what that does
// to packets/s and to peak memory, as ratios to the same run that asks nobody.
// The runs take turns, so that whatever else the machine does meets both.
//
//	program  the built program, --diagnose against --offline: packets/s up to
//	         the report of the rules, peak memory of the process to its end
//	beside   the analysis alone, while an engine is handed each finding as a case
//	         of its own, as a live run does
func BenchmarkAvalanche(b *testing.B) {
	const services, bulk = 400, 12_000
	path := trouble(services, bulk).write(b)
	server := faulttest.New(b, faulttest.Silent())
	b.Run("program", func(b *testing.B) { benchProgram(b, path, server.URL()) })
	b.Run("beside", func(b *testing.B) { benchBeside(b, path, server.URL()) })
}

func benchProgram(b *testing.B, path, url string) {
	b.Helper()
	dir := b.TempDir()
	bin, config := filepath.Join(dir, "netwhy"), filepath.Join(dir, "ai.yaml")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, "netwhy/cmd/netwhy").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	text := fmt.Sprintf("ai:\n  deadline: 1s\n  providers:\n    - {name: mine, model: fault-1, endpoints: [%q], timeouts: {first_byte: 300ms}}\n", url)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	attempt := func(c *cost, args ...string) (peak float64) {
		cmd := exec.CommandContext(b.Context(), bin, append([]string{"replay", path, "--diagnose", "--config", config}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		at := time.Now()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_, err = io.ReadFull(out, make([]byte, 1))
		wall, cpu := time.Since(at), spentBy(cmd.Process.Pid)
		peak = peakOf(cmd.Process.Pid)
		read := make(chan error, 1)
		go func() {
			_, copied := io.Copy(io.Discard, out)
			read <- errors.Join(err, copied)
		}()
		for open := true; open; { // a finished process tells no more, and rusage has the peak of this process in it
			select {
			case err = <-read:
				open = false
			case <-time.After(5 * time.Millisecond):
				peak = max(peak, peakOf(cmd.Process.Pid))
			}
		}
		if end := cmd.Wait(); err != nil || end != nil {
			b.Fatalf("%v, %v\n%s", err, end, stderr.String())
		}
		if cpu == 0 || peak == 0 { // it ended before it could be looked at
			return 0
		}
		c.add(wall, cpu)
		return peak
	}
	once := func(c *cost, args ...string) (peak float64) {
		for range 10 {
			if peak = attempt(c, args...); peak > 0 {
				return peak
			}
		}
		b.Fatal("the machine is too busy to look at a run")
		return 0
	}
	once(&cost{}, "--offline") // the file is in memory from here on
	for b.Loop() {
		var off, on cost
		var memory, peaks []float64
		for range rounds {
			without := once(&off, "--offline")
			with := once(&on)
			memory, peaks = append(memory, with/without), append(peaks, with)
		}
		compare(b, &off, &on)
		b.ReportMetric(median(memory), "peak-ratio")
		b.ReportMetric(slices.Max(peaks)/1024, "peak-MiB")
	}
	b.ReportMetric(0, "ns/op")
}

func benchBeside(b *testing.B, path, url string) {
	b.Helper()
	cases, packets := 0, uint64(0)
	once := func(c *cost, asking bool) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		e, err := aidiag.New(provider(url, time.Second), aidiag.Deps{Defs: analyze.Defs()})
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		if asking {
			wg.Go(func() { _ = e.Run(ctx) }) // the cancelled context
			wg.Go(func() {
				for range e.Answers() { // nobody wants them
				}
			})
		}
		file, err := capture.Open(ctx, []string{path}, capture.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		n := 0
		at, before := time.Now(), spent(b)
		res, err := analyze.Run(ctx, file, analyze.Options{Live: true}, func(f finding.Finding) {
			n++
			if !asking {
				return
			}
			e.Submit(aidiag.Case{
				ID: fmt.Sprintf("D%d", n), Findings: []aidiag.Symptom{{Index: n, Finding: f}},
				Local: diagnosis.Diagnosis{Cause: "slow-server-application", Severity: f.Severity, Confidence: 1, Evidence: []int{n}},
			})
		})
		c.add(time.Since(at), spent(b)-before)
		if err != nil {
			b.Fatal(err)
		}
		cases, packets = n, res.Packets
	}
	once(&cost{}, false)
	for b.Loop() {
		var off, on cost
		for range rounds {
			once(&off, false)
			once(&on, true)
		}
		compare(b, &off, &on)
		best := slices.Min(on.wall).Seconds()
		b.ReportMetric(float64(cases)/best, "cases/s")
		b.ReportMetric(float64(packets)/best, "packets/s")
	}
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// spent is the processors' time of this process so far.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spentBy is the processors' time of another process so far (proc(5), schedstat).
func spentBy(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, t := range tasks {
		if text, err := os.ReadFile(t); err == nil {
			var ns int64
			if _, err := fmt.Sscan(string(text), &ns); err == nil {
				sum += time.Duration(ns)
			}
		}
	}
	return sum
}

// peakOf is the largest resident set of another process so far, KiB (proc(5)).
func peakOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ = bytes.Cut(text, []byte("VmHWM:"))
	var kib float64
	if _, err := fmt.Sscan(string(text), &kib); err != nil {
		return 0
	}
	return kib
}
