//go:build !windows

package llm

import "syscall"

// unreachable are the errors of a connect that will not mend itself in a second.
func unreachable() []syscall.Errno {
	return []syscall.Errno{
		syscall.ECONNREFUSED, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EADDRNOTAVAIL,
	}
}

// passing are the errors of a connection that was there and went away.
func passing() []syscall.Errno {
	return []syscall.Errno{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED}
}
