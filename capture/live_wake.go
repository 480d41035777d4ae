//go:build unix

package capture

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waker waits for rings with frames, and can be told to wait no more.
type waker struct {
	once sync.Once
	r, w *os.File
	fds  []unix.PollFd
}

func newWaker() (*waker, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &waker{r: r, w: w}, nil
}

// stop ends all waiting, now and later. Any goroutine may call it, often.
func (k *waker) stop() { k.once.Do(func() { _ = k.w.Close() }) } // the reader's end sees the hang-up

// wait returns when one of the ports has frames, after a time, or when stop was
// called: then it reports true, at once.
func (k *waker) wait(ports []*port, most time.Duration) (stopped bool) {
	k.fds = append(k.fds[:0], unix.PollFd{Fd: int32(k.r.Fd()), Events: unix.POLLIN}) //nolint:gosec // descriptors are small
	for _, p := range ports {
		if !p.gone {
			k.fds = append(k.fds, unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN}) //nolint:gosec // the same
		}
	}
	millis := int((most + time.Millisecond - 1) / time.Millisecond)
	if _, err := unix.Poll(k.fds, millis); err != nil && !errors.Is(err, unix.EINTR) {
		return true // nothing can be waited for any more
	}
	return k.fds[0].Revents != 0
}

func (k *waker) close() error {
	k.stop()
	if err := k.r.Close(); err != nil && !errors.Is(err, os.ErrClosed) { // closing twice is no fault
		return err
	}
	return nil
}
