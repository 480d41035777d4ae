package privilege

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Drop makes the process what the plan says, on every thread: prctl and capset
// are a thread's own, and the C library's setuid is not enough for them.
func Drop(p Plan) error {
	if p.Stay {
		return nil
	}
	if p.Switch {
		if err := all("prctl(PR_CAPBSET_DROP)", dropBounding); err != nil {
			return err
		}
		if err := syscall.Setgroups(p.Groups); err != nil {
			return fmt.Errorf("become %s: setgroups: %w", p.Name, err)
		}
		if err := syscall.Setresgid(p.GID, p.GID, p.GID); err != nil {
			return fmt.Errorf("become %s: setresgid: %w", p.Name, err)
		}
		if err := syscall.Setresuid(p.UID, p.UID, p.UID); err != nil {
			return fmt.Errorf("become %s: setresuid: %w", p.Name, err)
		}
	}
	if err := all("prctl(PR_CAP_AMBIENT)", func() syscall.Errno {
		return thread(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	}); err != nil {
		return err
	}
	if err := all("capset", clearCapabilities); err != nil {
		return err
	}
	if err := all("prctl(PR_SET_NO_NEW_PRIVS)", func() syscall.Errno {
		return thread(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	}); err != nil {
		return err
	}
	return verify(p)
}

func all(what string, f func() syscall.Errno) error {
	if errno := f(); errno != 0 {
		return fmt.Errorf("give up privileges: %s: %w", what, errno)
	}
	return nil
}

// thread makes a system call on all threads of the process.
func thread(call, a, b uintptr) syscall.Errno {
	_, _, errno := psx.Syscall6(call, a, b, 0, 0, 0, 0)
	return errno
}

// dropBounding empties the set beyond which no program that is started can get.
func dropBounding() syscall.Errno {
	const most = 64 // capabilities that a kernel can have
	for c := range uintptr(most) {
		if errno := thread(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c); errno != 0 {
			if errno == syscall.EINVAL { // behind the last one
				return 0
			}
			return errno
		}
	}
	return 0
}

func clearCapabilities() syscall.Errno {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0) //nolint:gosec // the kernel's interface
	return errno
}

// verify looks at what the process is now: a system call that did nothing must
// not be believed.
func verify(p Plan) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("give up privileges: capget: %w", err)
	}
	if have != ([2]unix.CapUserData{}) {
		return fmt.Errorf("give up privileges: capabilities are left: %+v", have)
	}
	if p.Switch && (syscall.Getuid() != p.UID || syscall.Geteuid() != p.UID || syscall.Getgid() != p.GID) {
		return fmt.Errorf("become %s: the process is still user %d", p.Name, syscall.Getuid())
	}
	return nil
}
