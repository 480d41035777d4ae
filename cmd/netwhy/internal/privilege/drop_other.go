//go:build !linux

package privilege

import (
	"errors"
	"fmt"
)

var errNotHere = errors.New("privileges can be given up on Linux only")

// Drop cannot give privileges up here: it refuses to go on as root.
func Drop(p Plan) error {
	if p.Switch {
		return fmt.Errorf("%w; --user root says that the analysis may run as root", errNotHere)
	}
	return nil
}
