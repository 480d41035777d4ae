//go:build unix

package terminal

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
)

// Guard gives the terminal back when this process dies without having done so:
// by a signal that cannot be caught, by a fault that cannot be recovered. It is a
// shell that waits for our end of a pipe to close, and that does nothing if it is
// told before that all is well. What the runtime says of a crash goes through the
// same pipe, since the screen on which it is printed disappears with the restore.
type Guard struct {
	shell *exec.Cmd
	pipe  *os.File
}

// The sequences end synchronised output, Kitty's and xterm's keyboards, bracketed
// paste and the alternate screen, and show the cursor. What came through the pipe
// may quote packets: only what is printable is printed.
const guardScript = `trap "" HUP INT QUIT TERM TTOU
said=$(tr -cd '\11\12\40-\176')
[ "$said" = ` + released + ` ] && exit 0
stty "$1" <&1
printf '\033[?2026l\033[<u\033[>4m\033[?2004l\033[?1049l\033[?25h\033[0m'
[ -z "$said" ] || printf '%s\n' "$said"`

const released = "released"

// NewGuard remembers how the terminal is now. Without a shell there is no guard,
// and an error.
func NewGuard(tty *os.File) (*Guard, error) {
	stty := exec.Command("stty", "-g") //nolint:noctx // at once
	stty.Stdin = tty
	state, err := stty.Output()
	if err != nil {
		return nil, fmt.Errorf("read the terminal's settings: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()                                                                 // the shell has its own
	shell := exec.Command("sh", "-c", guardScript, "netwhy-guard", strings.TrimSpace(string(state))) //nolint:noctx,gosec // it outlives every context; what stty said
	shell.Stdin, shell.Stdout = r, tty
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not ended together with us
	if err := shell.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("guard the terminal: %w", err)
	}
	if err := debug.SetCrashOutput(w, debug.CrashOptions{}); err != nil {
		_ = w.Close()
		_ = shell.Wait()
		return nil, fmt.Errorf("guard the terminal: %w", err)
	}
	return &Guard{shell, w}, nil
}

// Release ends the guard: the terminal has been given back. A nil Guard is fine.
func (g *Guard) Release() {
	if g == nil {
		return
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_, _ = io.WriteString(g.pipe, released)
	_ = g.pipe.Close()
	_ = g.shell.Wait() // it has nothing to tell
}
