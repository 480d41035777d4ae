//go:build unix

package capture

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep the opening of a FIFO without a writer from blocking where
// nothing could end it; waitReadable then waits for the writer.
const openFlags = syscall.O_NONBLOCK

const canPoll = true

// pollMillis is how often a waiting read looks whether it was told to stop.
const pollMillis = 50

// waitReadable waits until f has bytes, is at its end, or ctx ends. A plain
// read of standard input could not be ended without losing its goroutine.
func waitReadable(ctx context.Context, f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		ready := 0
		var pollErr error
		err := conn.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
			ready, pollErr = unix.Poll(fds, pollMillis)
		})
		switch {
		case err != nil:
			return err
		case pollErr != nil && !errors.Is(pollErr, unix.EINTR):
			return pollErr
		case ready > 0:
			return nil
		}
	}
}
