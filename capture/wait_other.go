//go:build !unix

package capture

import (
	"context"
	"os"
)

const (
	openFlags = 0
	canPoll   = false
)

// waitReadable cannot wait here: the read itself blocks until there are bytes.
func waitReadable(ctx context.Context, _ *os.File) error { return context.Cause(ctx) }
