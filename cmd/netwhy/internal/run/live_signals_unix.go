//go:build unix

package run

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals does what SIGHUP and SIGUSR1 ask for, until ctx ends. SIGINT and
// SIGTERM end the context of the whole run.
func (c *liveRun) signals(ctx context.Context) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(got)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-got:
			if s == syscall.SIGHUP {
				c.reload()
				continue
			}
			select {
			case c.mon.now <- struct{}{}:
			default: // one is wanted already
			}
		}
	}
}
