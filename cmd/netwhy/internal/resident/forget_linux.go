// Package resident keeps the program's own file from counting as its memory for longer
// than it is used: each touch of it maps 64 KiB, and what stands idle stays mapped. Some
// 200 packages prepare themselves and flags are parsed before a run begins: 5 MiB of
// the 31 that a replay of few connections took.
package resident

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Forget unmaps what was touched so far of the code and constants of the program's
// file. The kernel still has the pages; a fault maps again what is used again. Each
// costs half a microsecond: it is for the seams of a run, where one part of the
// program has done its work.
func Forget() {
	if traced() { // a debugger's breakpoints are private copies of these pages
		return
	}
	page := uintptr(os.Getpagesize())
	for _, s := range constantSegments() {
		begin, end := (s[0]+page-1)/page*page, s[1]/page*page
		if begin < end {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED) // if it fails, they stay
		}
	}
}

func traced() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err != nil || !bytes.Contains(status, []byte("\nTracerPid:\t0\n"))
}

// programHeader is Elf64_Phdr of elf(5).
type programHeader struct {
	Type, Flags                                  uint32
	Offset, Address, Physical, File, Size, Align uint64
}

// constantSegments are where code and constants of the program's file lie, which
// nothing can have written to. What the dynamic loader fills in and makes read-only
// then is writable by its header.
func constantSegments() (all [][2]uintptr) {
	const (
		headersAt, headerSize, headerCount = 3, 4, 5 // AT_PHDR, AT_PHENT, AT_PHNUM of getauxval(3)
		load, headersThemselves            = 1, 6    // PT_LOAD, PT_PHDR
		writable                           = 2       // PF_W
	)
	pairs, err := unix.Auxv()
	if err != nil {
		return nil
	}
	var about [headerCount + 1]uintptr
	for _, p := range pairs {
		if p[0] < uintptr(len(about)) {
			about[p[0]] = p[1]
		}
	}
	at := about[headersAt]
	if at == 0 || about[headerSize] != unsafe.Sizeof(programHeader{}) { // the size: of 64 bits
		return nil
	}
	// The headers lie in the program's file, which never moves.
	headers := unsafe.Slice(*(**programHeader)(unsafe.Pointer(&at)), about[headerCount]) //nolint:gosec // the kernel says where and how many
	moved := uintptr(0)                                                                  // how far from the file's addresses the program lies
	for _, h := range headers {
		if h.Type == headersThemselves { // stands before what is loaded
			moved = at - uintptr(h.Address)
		}
		if h.Type == load && h.Flags&writable == 0 {
			begin := moved + uintptr(h.Address)
			all = append(all, [2]uintptr{begin, begin + uintptr(h.Size)})
		}
	}
	return all
}
