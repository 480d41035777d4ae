//go:build linux && cgo

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"netwhy/capture/livetest"
)

// usage is what a process holds.
type usage struct {
	rss                   int // KiB
	fds, goroutines, open int
}

func usageOf(t *testing.T, pid int) usage {
	t.Helper()
	var u usage
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
		u.rss, _ = strconv.Atoi(string(m[1]))
	}
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.fds = len(fds)
	resp, err := get(t, "http://127.0.0.1:9469/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	number := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(b)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(string(m[1]), 64)
		return int(v)
	}
	u.goroutines, u.open = number("go_goroutines"), number("netwhy_connections_open")
	return u
}

// watchBuilt is watch with the program as users have it. GOGC keeps the heap near
// what is live: by itself netwhy lets it grow by a fixed headroom first.
func watchBuilt(t *testing.T, bin string, args ...string) *watcher {
	t.Helper()
	cmd := netwhyCommand(t, captureArgs(args)...)
	cmd.Path = bin
	cmd.Env = append(cmd.Env, "GOGC=50")
	return watchBy(t, cmd)
}

// TestCaptureSoak runs hundreds of thousands of connections through a netwhy that
// may keep 20,000, and looks whether what it holds stays the same.
// NETWHY_SOAK=5m makes it millions.
func TestCaptureSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	long, err := time.ParseDuration(livetest.Soak())
	if err != nil {
		t.Fatal(err)
	}
	const connections = 20_000
	conf := filepath.Join(openDir(t), "netwhy.yaml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "limits: {connections: %d}\n", connections), 0o644); err != nil {
		t.Fatal(err)
	}
	w := watchBuilt(t, built(t), "--no-screen", "--format", "json", "--metrics", ":9469", "--config", conf)
	x := n.NewTraffic()
	sent, half := 0, usage{}
	send := func(until time.Time) {
		for time.Now().Before(until) {
			sent += x.Connections(500)
			time.Sleep(2 * time.Millisecond) // what is lost shows nothing here
		}
	}
	send(time.Now().Add(long / 2))
	within(func() bool { // a busy machine takes longer until as many are open as may be
		send(time.Now().Add(200 * time.Millisecond))
		half = usageOf(t, w.cmd.Process.Pid)
		return half.open >= connections
	})
	send(time.Now().Add(long / 2))
	time.Sleep(1500 * time.Millisecond) // a moment passes, and connections idle on
	end := usageOf(t, w.cmd.Process.Pid)
	const promptly = 10 * time.Second // other packages are tested beside it; it takes half a second
	if code, took := w.end(); code != 130 || took > promptly {
		t.Errorf("exit code %d after %v", code, took)
	}
	var r struct {
		Source struct {
			Packets uint64
			Dropped struct{ Kernel, Queue uint64 }
		}
		Counters struct{ Connections struct{ TCP uint64 } }
	}
	if err := json.Unmarshal(w.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v:\n%s", err, w.log())
	}
	t.Logf("%v: sent %d frames, seen %d, kernel dropped %d, queue %d; %d connections, %d open at the end", long, sent,
		r.Source.Packets, r.Source.Dropped.Kernel, r.Source.Dropped.Queue, r.Counters.Connections.TCP, end.open)
	t.Logf("half way: %d MiB, %d goroutines, %d descriptors; at the end: %d MiB, %d goroutines, %d descriptors",
		half.rss>>10, half.goroutines, half.fds, end.rss>>10, end.goroutines, end.fds)
	const slack = 48 << 10 // KiB: the collector's own rhythm
	if half.open >= connections && end.rss > half.rss*5/4+slack {
		t.Errorf("memory grew from %d to %d KiB", half.rss, end.rss)
	}
	if end.goroutines > half.goroutines+3 || end.fds > half.fds+3 {
		t.Errorf("goroutines or descriptors leak: %+v, then %+v", half, end)
	}
	if seen := r.Source.Packets + r.Source.Dropped.Kernel + r.Source.Dropped.Queue; seen < uint64(sent) {
		t.Errorf("sent %d, accounted for %d", sent, seen)
	}
}
