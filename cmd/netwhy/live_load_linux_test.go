//go:build linux && cgo

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"netwhy/capture/livetest"
)

// load is one tool that captures while traffic is sent.
type load struct {
	name  string
	begin func(t *testing.T) (end func() (seen, lost uint64))
}

// ringMiB is the kernel's ring of every tool: too small to hold what a tool does
// not keep up with.
const ringMiB = 4

// loads are netwhy with full analysis, with a recording besides, tcpdump that only
// records, tshark that only records, and tshark with what it has for analysis.
func loads(bin string) []load {
	const filter = "tcp port 80"
	ring := strconv.Itoa(ringMiB)
	netwhy := func(args ...string) func(t *testing.T) func() (seen, lost uint64) {
		return func(t *testing.T) func() (seen, lost uint64) {
			t.Helper()
			recorded := ""
			if len(args) > 0 {
				recorded = filepath.Join(openDir(t), "trace.pcapng")
				args[1] = recorded
			}
			w := watchBuilt(t, bin, append([]string{"--no-screen", "--format", "json", "--buffer", ring, "-f", filter}, args...)...)
			return func() (seen, lost uint64) {
				t.Helper()
				w.end()
				var r struct {
					Source struct {
						Packets uint64
						Dropped struct{ Kernel, Queue uint64 }
					}
					NotAssessed []string `json:"not_assessed"`
				}
				if err := json.Unmarshal(w.stdout.Bytes(), &r); err != nil {
					t.Fatalf("%v:\n%s", err, w.log())
				}
				for _, line := range r.NotAssessed {
					if strings.HasPrefix(line, "payload:") {
						t.Log("  " + line)
					}
				}
				if recorded != "" {
					if got := countFrames(t, recorded); got != r.Source.Packets+r.Source.Dropped.Queue {
						t.Errorf("recorded %d frames, seen %d and shed %d", got, r.Source.Packets, r.Source.Dropped.Queue)
					}
				}
				return r.Source.Packets, r.Source.Dropped.Kernel + r.Source.Dropped.Queue
			}
		}
	}
	return []load{
		{"netwhy, full analysis", netwhy()},
		{"netwhy, full analysis, -w", netwhy("-w", "")},
		{"tcpdump -w", func(t *testing.T) func() (seen, lost uint64) {
			t.Helper()
			file := filepath.Join(openDir(t), "trace.pcap")
			o := startOther(t, "listening on", "tcpdump", "-i", livetest.Here, "-w", file, "-B", strconv.Itoa(ringMiB<<10), "-Z", "root", filter)
			return func() (seen, lost uint64) {
				t.Helper()
				o.end()
				return countFrames(t, file), o.figure(`(\d+) packets dropped by kernel`)
			}
		}},
		{"tshark -w", func(t *testing.T) func() (seen, lost uint64) {
			t.Helper()
			file := filepath.Join(openDir(t), "trace.pcapng")
			o := startOther(t, "Capture started", "tshark", "-i", livetest.Here, "-w", file, "-B", ring, "-f", filter)
			return func() (seen, lost uint64) {
				t.Helper()
				o.end()
				return countFrames(t, file), o.figure(`(\d+) packets? dropped`)
			}
		}},
		{"tshark -q -z expert -z conv,tcp", func(t *testing.T) func() (seen, lost uint64) {
			t.Helper()
			o := startOther(t, "Capture started", "tshark", "-i", livetest.Here, "-q", "-z", "expert", "-z", "conv,tcp", "-B", ring, "-f", filter)
			return func() (seen, lost uint64) {
				t.Helper()
				o.end()
				return o.figure(`(\d+) packets? captured`), o.figure(`(\d+) packets? dropped`)
			}
		}},
	}
}

// other is a tool that is not ours.
type other struct {
	t    *testing.T
	cmd  *exec.Cmd
	said lockedBuffer
}

// lockedBuffer is written by a process while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func startOther(t *testing.T, ready, name string, args ...string) *other {
	t.Helper()
	o := &other{t: t, cmd: exec.CommandContext(t.Context(), name, args...)}
	o.cmd.Stderr = &o.said
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(func() bool { return strings.Contains(o.said.String(), ready) }) {
		t.Fatalf("%s does not begin: %s", name, o.said.String())
	}
	time.Sleep(300 * time.Millisecond) // what it says before it is ready is lost to its own figures only
	return o
}

func (o *other) end() {
	o.t.Helper()
	time.Sleep(1200 * time.Millisecond) // tcpdump's ring is handed out once a second
	_ = o.cmd.Process.Signal(syscall.SIGINT)
	_ = o.cmd.Wait() // tshark says that it was interrupted
}

func (o *other) figure(pattern string) uint64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(o.said.String())
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseUint(m[1], 10, 64)
	return v
}

// paced sends connections at so many frames a second (0: as fast as can be), and
// returns how many frames, and how fast they were.
func paced(x *livetest.Traffic, connections, rate int) (sent int, per float64) {
	const step = 50 // connections
	began := time.Now()
	for done := 0; done < connections; done += step {
		sent += x.Connections(step)
		if rate > 0 {
			time.Sleep(time.Duration(sent)*time.Second/time.Duration(rate) - time.Since(began))
		}
	}
	return sent, float64(sent) / time.Since(began).Seconds()
}

// TestCaptureAtFullLoad sends as fast as this machine can to each tool in turn,
// and prints what each saw and lost. With NETWHY_LOAD=2s the rate rises in steps
// of that length, until the tool loses frames: that is how the figures in README
// come about.
func TestCaptureAtFullLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	long, _ := time.ParseDuration(os.Getenv("NETWHY_LOAD"))
	x := n.NewTraffic()
	for _, tool := range loads(built(t)) {
		if _, err := exec.LookPath(strings.Fields(tool.name)[0]); err != nil && !strings.HasPrefix(tool.name, "netwhy") {
			t.Logf("%s: not installed", tool.name)
			continue
		}
		if long == 0 {
			end := tool.begin(t)
			sent, per := paced(x, 15_000, 0)
			seen, lost := end()
			t.Logf("%-34s %7.0f frames a second: sent %d, seen %d, lost %d", tool.name+":", per, sent, seen, lost)
			// Where there was no time to empty the ring, frames from before the filter
			// may be among the lost.
			if strings.HasPrefix(tool.name, "netwhy") && (seen+lost < uint64(sent) || seen > uint64(sent)) {
				t.Errorf("sent %d, accounted for %d", sent, seen+lost)
			}
			continue
		}
		best := 0.0
		const first, step = 25_000, 25_000
		for rate := first; ; rate += step {
			end := tool.begin(t)
			sent, per := paced(x, int(long.Seconds()*float64(rate))/livetest.FramesEach, rate)
			seen, lost := end()
			t.Logf("%-34s %7.0f frames a second: sent %d, seen %d, lost %d", tool.name+":", per, sent, seen, lost)
			if lost > 0 || seen < uint64(sent) || per < 0.9*float64(rate) { // or the sender is at its end
				break
			}
			best = per
		}
		t.Logf("%-34s no loss up to %.0f frames a second", tool.name+":", best)
	}
}
