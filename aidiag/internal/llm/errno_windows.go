package llm

import "syscall"

// Winsock's own numbers: syscall.ECONNREFUSED and its like do not match there.
const (
	wsaENETDOWN      = syscall.Errno(10050)
	wsaENETUNREACH   = syscall.Errno(10051)
	wsaECONNABORTED  = syscall.Errno(10053)
	wsaECONNRESET    = syscall.Errno(10054)
	wsaETIMEDOUT     = syscall.Errno(10060)
	wsaECONNREFUSED  = syscall.Errno(10061)
	wsaEHOSTDOWN     = syscall.Errno(10064)
	wsaEHOSTUNREACH  = syscall.Errno(10065)
	wsaEADDRNOTAVAIL = syscall.Errno(10049)
)

// unreachable are the errors of a connect that will not mend itself in a second.
func unreachable() []syscall.Errno {
	return []syscall.Errno{
		wsaECONNREFUSED, wsaETIMEDOUT, wsaEHOSTUNREACH, wsaENETUNREACH, wsaEHOSTDOWN, wsaENETDOWN, wsaEADDRNOTAVAIL,
	}
}

// passing are the errors of a connection that was there and went away.
func passing() []syscall.Errno { return []syscall.Errno{wsaECONNRESET, wsaECONNABORTED} }
