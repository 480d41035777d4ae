//go:build !unix

package terminal

import (
	"errors"
	"os"
)

// Guard is not there on this system.
type Guard struct{}

var errNoGuard = errors.New("this system has no shell that could guard the terminal")

// NewGuard says so.
func NewGuard(*os.File) (*Guard, error) { return nil, errNoGuard }

// Release has nothing to do.
func (*Guard) Release() {}
