package capture

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lookUp tells the index of an interface, 0 if it is not there, and whether it is
// up; an error if it cannot be told. It asks for this one only: the reading loop
// has no time for the thousand of a container host.
func lookUp(name string) (index int, up bool, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, false, err
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
	if err == nil {
		index = int(req.Uint32())
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req)
	}
	if err != nil {
		if errors.Is(err, unix.ENODEV) {
			err = nil
		}
		return 0, false, err
	}
	return index, req.Uint16()&unix.IFF_UP != 0, nil
}
