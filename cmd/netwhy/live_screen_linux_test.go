//go:build linux && cgo

package main

import (
	"os"
	"regexp"
	"strings"
	"sync"
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
		for {
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

// TestCaptureScreen drives the screen as a user does, at 80×24, and looks whether
// the terminal is as it was afterwards, however the run ends.
func TestCaptureScreen(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for _, end := range []string{"q", "\x03", "TERM"} {
		t.Run("ends with "+strings.Trim(strings.ReplaceAll(end, "\x03", "ctrl-c"), "\x00"), func(t *testing.T) {
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			defer slave.Close()
			if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
				t.Fatal(err)
			}
			before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			cmd := netwhyCommand(t, "capture", "-i", livetest.Here, "--buffer", "8")
			cmd.Env = append(cmd.Env, "TERM=xterm-256color", "SUDO_UID=")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := readAll(master)
			shows := func(what string) {
				t.Helper()
				if !within(func() bool { return strings.Contains(plain(out.String()), what) }) {
					t.Fatalf("never shown: %q\n%s", what, plain(out.String()))
				}
			}
			shows("diagnoses")
			refusals(t, 3)
			shows("D1")
			shows("top talkers")
			if end == "q" {
				_, _ = master.WriteString("?")
				shows("Keys")
				_, _ = master.WriteString("?")
				_, _ = master.WriteString("\r")
				shows("Symptoms and their frames")
				if err := pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
					t.Fatal(err)
				}
			}
			if end == "TERM" {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			} else {
				_, _ = master.WriteString(end)
			}
			finished := make(chan error, 1)
			go func() { finished <- cmd.Wait() }()
			select {
			case <-finished:
			case <-time.After(10 * time.Second):
				_ = cmd.Process.Kill()
				t.Fatalf("it does not end:\n%s", plain(out.String()))
			}
			var all string
			var enter, leave int
			if !within(func() bool { // the terminal's bytes are read behind the end of the process
				all = out.String()
				enter, leave = strings.LastIndex(all, "\x1b[?1049h"), strings.LastIndex(all, "\x1b[?1049l")
				return leave > 0 && strings.Contains(all[leave:], "refused")
			}) {
				t.Errorf("no report on the terminal behind the screen")
			}
			if enter < 0 || leave < enter {
				t.Errorf("the alternate screen was entered at %d and left at %d", enter, leave)
			}
			after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *after != *before {
				t.Errorf("the terminal's settings are %+v, were %+v", after, before)
			}
		})
	}
}
