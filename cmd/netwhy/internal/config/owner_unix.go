//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// changeable says who besides the user may change a file, and what to do; "" for
// nobody. Such a file could send the user's key and findings elsewhere. The
// administrator may, and so may the user's own group.
func changeable(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	const group, others = 0o020, 0o002
	uid, mode := os.Geteuid(), st.Mode().Perm()
	switch {
	case mode&others != 0:
		return fmt.Sprintf("anybody may change it (mode %04o): chmod o-w", mode)
	case mode&group != 0 && int(sys.Gid) != os.Getegid() && sys.Gid != 0:
		return fmt.Sprintf("another group may change it (mode %04o): chmod g-w", mode)
	case uid != 0 && int(sys.Uid) != uid && sys.Uid != 0:
		return "it belongs to another user: copy it"
	}
	return ""
}
