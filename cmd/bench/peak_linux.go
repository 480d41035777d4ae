package main

import (
	"os"
	"syscall"
)

// peak is the largest resident set of a finished process, KiB.
func peak(s *os.ProcessState) int64 {
	if r, ok := s.SysUsage().(*syscall.Rusage); ok {
		return r.Maxrss
	}
	return 0
}
