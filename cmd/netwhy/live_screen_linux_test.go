//go:build linux && cgo

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"netwhy/capture/livetest"
)

// seen is what a terminal got.
type seen struct {
	mu   sync.Mutex
	text strings.Builder
	stop atomic.Bool
	done chan struct{}
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// plain leaves out what only moves and colours.
func plain(s string) string {
	return regexp.MustCompile(`\x1b(\[[0-9;?>=<]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][0-9A-Z]|[=>78MDEc])`).ReplaceAllString(s, " ")
}

func readAll(f *os.File) *seen {
	s := &seen{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		for !s.stop.Load() { // a read that waits would keep a terminal alive that is closed
			if n, err := unix.Poll(fds, 20); n == 0 || errors.Is(err, unix.EINTR) {
				continue
			}
			n, err := f.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// screenRun is a netwhy with a screen on a terminal of 80×24.
type screenRun struct {
	t             *testing.T
	cmd           *exec.Cmd
	master, slave *os.File
	before        unix.Termios
	out           *seen
}

// races returns where the race detector writes what it sees in a program with a screen,
// and fails the test for all of it but one: the screen's library closes its input while
// its own reader may still ask for the descriptor.
func races(t *testing.T) (path string) {
	t.Helper()
	f, err := os.CreateTemp("", "screen-races-") //nolint:usetesting // a program without privileges has to write there
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	t.Cleanup(func() {
		_ = os.Remove(f.Name())
		logs, _ := filepath.Glob(f.Name() + ".*")
		for _, log := range logs {
			text, err := os.ReadFile(log)
			if err != nil {
				t.Error(err)
			}
			_ = os.Remove(log)
			for _, report := range strings.Split(string(text), "WARNING: ")[1:] {
				if !strings.Contains(report, "cancelreader.(*epollCancelReader).Close") {
					t.Errorf("WARNING: %s", report)
				}
			}
		}
	})
	return f.Name()
}

func onScreen(t *testing.T, cmd *exec.Cmd) *screenRun {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), slave.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "SUDO_UID=", "GORACE=atexit_sleep_ms=0 exitcode=0 log_path="+races(t))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &screenRun{t: t, cmd: cmd, master: master, slave: slave, before: *before, out: readAll(master)}
}

func (s *screenRun) shows(what string) {
	s.t.Helper()
	if !within(func() bool { return strings.Contains(plain(s.out.String()), what) }) {
		s.t.Fatalf("never shown: %q\n%s", what, plain(s.out.String()))
	}
}

func (s *screenRun) types(keys string) { _, _ = s.master.WriteString(keys) }

// wait returns the exit code, -1 for a signal.
func (s *screenRun) wait() int {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = s.cmd.Process.Kill()
		s.t.Fatalf("it does not end:\n%s", plain(s.out.String()))
	}
	return s.cmd.ProcessState.ExitCode()
}

// restored wants the terminal as it was, with a text behind the screen.
func (s *screenRun) restored(behind string) {
	s.t.Helper()
	var all string
	if !within(func() bool { // the terminal's bytes are read behind the end of the process
		all = s.out.String()
		leave := strings.LastIndex(all, "\x1b[?1049l")
		return leave > strings.LastIndex(all, "\x1b[?1049h") && strings.Contains(all[leave:], behind) && strings.LastIndex(all, "\x1b[?25h") > strings.LastIndex(all, "\x1b[?25l")
	}) {
		s.t.Errorf("no %q behind the screen, or it was not left:\n%s", behind, plain(all[max(0, len(all)-2000):]))
	}
	var after *unix.Termios
	if !within(func() bool {
		var err error
		after, err = unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
		return err == nil && *after == s.before
	}) {
		s.t.Errorf("the terminal's settings are %+v, were %+v", after, s.before)
	}
}

// TestCaptureEndsWithItsTerminal: a window that is closed ends the run, with its
// report, and leaves nobody behind who captures for ever.
func TestCaptureEndsWithItsTerminal(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // or netwhy ignores it where the tests run behind nohup
	defer signal.Stop(hangup)
	for _, how := range []string{"--no-color", "--no-screen"} {
		report := filepath.Join(openDir(t), "report.json")
		s := onScreen(t, netwhyCommand(t, "capture", "-i", livetest.Here, "--log-level", "info", "--buffer", "8", "--format", "json", "-o", report, how))
		if how == "--no-screen" {
			s.shows("capture begins")
		} else {
			s.shows("diagnoses")
		}
		s.out.stop.Store(true)
		<-s.out.done
		if err := s.master.Close(); err != nil {
			t.Fatal(err)
		}
		if code := s.wait(); code != 0 && code != 1 { // by the signal, or by the screen that was lost
			t.Errorf("%s: exit code %d", how, code)
		}
		if b, err := os.ReadFile(report); err != nil || !bytes.Contains(b, []byte(`"netwhy.report/1"`)) {
			t.Errorf("%s: no report: %v", how, err)
		}
	}
}

// TestCaptureScreen drives the screen as a user does, and looks whether the
// terminal is as it was afterwards, however the run ends: as it should, by a fault
// of netwhy that still brings a report, and by what no process survives.
func TestCaptureScreen(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	const report, interrupted, signalled = "connection-refused", 130, -1
	for _, tt := range []struct {
		name   string
		end    func(*screenRun)
		behind string // the screen
		code   int
	}{
		{"q", func(s *screenRun) { s.types("q") }, report, 0},
		{"ctrl-c", func(s *screenRun) { s.types("\x03") }, report, interrupted},
		{"TERM", func(s *screenRun) { _ = s.cmd.Process.Signal(syscall.SIGTERM) }, report, interrupted},
		{"a panic", func(*screenRun) { n.Flood(1, 100) }, report, 1},
		{"a crash", func(s *screenRun) { _ = s.cmd.Process.Signal(syscall.SIGABRT) }, "SIGABRT: abort", 2},
		{"KILL", func(s *screenRun) { _ = s.cmd.Process.Kill() }, "", signalled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := onScreen(t, commandAs(t, faulty, "capture", "-i", livetest.Here, "--buffer", "8"))
			s.shows("diagnoses")
			refusals(t, 3)
			s.shows("D1")
			s.shows("top talkers")
			if tt.name == "q" {
				s.types("?")
				s.shows("Keys")
				s.types("?")
				s.types("\r")
				s.shows("Symptoms and their frames")
				if err := pty.Setsize(s.master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
					t.Fatal(err)
				}
			}
			tt.end(s)
			if code := s.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			s.restored(tt.behind)
			if tt.name == "a panic" && !strings.Contains(plain(s.out.String()), "a wheel came off (script_test.go:") {
				t.Errorf("the fault is not told:\n%s", plain(s.out.String()))
			}
		})
	}
}
