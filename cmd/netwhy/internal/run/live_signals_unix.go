//go:build unix

package run

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals does what SIGHUP and SIGUSR1 ask for, until ctx ends. SIGINT and
// SIGTERM end the context of the whole run. SIGHUP with the terminal gone is what
// it always was: the end, unless nohup says otherwise.
func (c *liveRun) signals(ctx context.Context) {
	stays := signal.Ignored(syscall.SIGHUP)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(got)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-got:
			if s == syscall.SIGHUP {
				if c.terminalGone() && !stays {
					c.src.Stop()
					return
				}
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
