//go:build !unix

package run

import "context"

// signals has nothing to wait for here.
func (*liveRun) signals(ctx context.Context) { <-ctx.Done() }
