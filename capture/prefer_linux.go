package capture

import "golang.org/x/sys/unix"

// prefer puts this thread before others, as far as that is permitted, until the
// function that it returns is called.
func prefer() (restore func()) {
	const first, level = -10, 20 // the system call tells 20 less the niceness
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, 0, min(first, level-before)) != nil {
		return func() {} // it is one among others
	}
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, level-before) } // back is always permitted
}
