//go:build !linux

package resident

// Forget needs Linux, whose madvise unmaps what a fault maps again.
func Forget() {}
