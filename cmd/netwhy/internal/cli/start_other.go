//go:build !linux

package cli

// forgetStart needs Linux, whose madvise leaves a program's file mapped.
func forgetStart() {}
