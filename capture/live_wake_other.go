//go:build !unix

package capture

import "time"

// waker has nothing to wait for where no interface can be opened.
type waker struct{}

func newWaker() (*waker, error) { return &waker{}, nil }

func (*waker) stop() {}

func (*waker) wait([]*port, time.Duration) (stopped bool) { return true }

func (*waker) close() error { return nil }
