//go:build !linux

package capture

import "net"

// lookUp tells the index of an interface, 0 if it is not there, and whether it is
// up.
func lookUp(name string) (index int, up bool, err error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, false, nil //nolint:nilerr // it says no more than that
	}
	return i.Index, i.Flags&net.FlagUp != 0, nil
}
