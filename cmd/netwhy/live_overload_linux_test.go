//go:build linux && cgo

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"netwhy/capture/livetest"
)

// TestCaptureOverloaded stops netwhy while frames come, as a busy machine does.
// Each one that is lost is counted, by who lost it; the recording has all that the
// kernel has not lost; and what may have been missed for that reason says so.
func TestCaptureOverloaded(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	n.IP("neigh add 10.77.0.99 lladdr 02:00:00:00:00:99 dev " + livetest.Here) // nobody has this address
	file := filepath.Join(openDir(t), "all.pcapng")
	w := watch(t, "--no-screen", "--buffer", "1", "-f", "udp port 9 or tcp port 82", "-w", file, "--format", "json", "--min-severity", "info")
	d := net.Dialer{Timeout: 1200 * time.Millisecond} // the SYN is sent again after a second
	if c, err := d.DialContext(t.Context(), "tcp", "10.77.0.99:82"); err == nil {
		_ = c.Close()
		t.Fatal("somebody answers")
	}
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sent := uint64(n.Flood(20_000, 400))
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code, _ := w.end(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	var r struct {
		Source struct {
			Packets uint64
			Dropped struct{ Kernel, Interface, Queue uint64 }
		}
		Counters struct{ Protocols map[string]uint64 }
		Findings []struct {
			Code    string
			Caveats []string
		}
	}
	if err := json.Unmarshal(w.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v:\n%s", err, w.log())
	}
	lost, syns := r.Source.Dropped, r.Counters.Protocols["tcp"]
	t.Logf("sent %d = seen %d + kernel %d + interface %d + queue %d, besides %d SYNs", sent, r.Source.Packets-syns, lost.Kernel, lost.Interface, lost.Queue, syns)
	if lost.Kernel == 0 || syns == 0 || r.Source.Packets+lost.Kernel+lost.Interface+lost.Queue != sent+syns {
		t.Errorf("sent %d and %d SYNs, seen %d, lost %+v", sent, syns, r.Source.Packets, lost)
	}
	if got := countFrames(t, file); got != sent+syns-lost.Kernel {
		t.Errorf("recorded %d, want all but the kernel's %d of %d", got, lost.Kernel, sent+syns)
	}
	told := false
	for _, f := range r.Findings {
		missing := strings.HasPrefix(f.Code, "tcp.syn-retry") || f.Code == "tcp.no-answer"
		told = told || missing
		if missing && (len(f.Caveats) != 1 || !strings.Contains(f.Caveats[0], "the capture lost frames")) {
			t.Errorf("%s has the caveats %q", f.Code, f.Caveats)
		}
	}
	if !told {
		t.Errorf("nothing is told of the SYN without an answer: %+v", r.Findings)
	}
}

// TestCaptureOutlivesItsInterface: with all privileges given up, netwhy says that
// an interface has gone and that it is back, and sees what it carries then.
func TestCaptureOutlivesItsInterface(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	w := watch(t, "--no-screen")
	n.IP("link set " + livetest.Here + " down")
	w.said(livetest.Here + ": the interface is down; waiting for it to come up")
	n.IP("link set " + livetest.Here + " up")
	w.said(livetest.Here + ": the interface is up again")
	n.Unplug()
	w.said(livetest.Here + ": the interface disappeared; waiting for it to come back")
	n.Plug()
	w.said(livetest.Here + ": the interface is back")
	refusals(t, 3)
	w.said(" D1: ")
	if code, _ := w.end(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// TestSecondInterruptEndsAtOnce: where the report cannot be written because
// nobody reads it, the second SIGINT ends the process.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	r, full, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer full.Close()
	fd := int(full.Fd()) // each call makes it blocking
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	cmd := netwhyCommand(t, captureArgs([]string{"--no-screen"})...)
	w := &watcher{t: t, cmd: cmd, read: make(chan struct{})}
	w.startTo(full)
	signals := 0
	ended := make(chan struct{})
	go func() { defer close(ended); w.wait() }()
	within(func() bool {
		select {
		case <-ended:
			return true
		default:
			signals++
			_ = cmd.Process.Signal(os.Interrupt)
			return false
		}
	})
	<-ended
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGINT || signals < 2 {
		t.Errorf("ended by %v after %d signals", cmd.ProcessState, signals)
	}
}
