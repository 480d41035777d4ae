package packet

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// PanicError is a fault of netwhy's own, in a goroutine that handles packets. It
// ends the run, and not the process: what was found before is still reported,
// files are closed, and the terminal is given back.
type PanicError struct {
	Where string // the part of the program, such as "the decoder"
	Value any    // of the panic
	Stack []byte
}

func (e *PanicError) Error() string {
	text := fmt.Sprintf("a fault of netwhy itself in %s: %v", e.Where, e.Value)
	if at := e.line(); at != "" {
		text += " (" + at + ")"
	}
	return text + "; please report it"
}

// line is the place of the panic: the file and line below the runtime's own.
func (e *PanicError) line() string {
	_, rest, ok := strings.Cut(string(e.Stack), "\npanic(")
	if !ok {
		return ""
	}
	for line := range strings.Lines(rest) {
		at, ok := strings.CutPrefix(line, "\t")
		if !ok || strings.Contains(at, "/runtime/") {
			continue
		}
		at, _, _ = strings.Cut(at, " ")
		return filepath.Base(at)
	}
	return ""
}

// Rescue is deferred by a goroutine whose panic is to end the run: it hands the
// panic on as an error.
func Rescue(where string, to func(error)) {
	if v := recover(); v != nil {
		to(&PanicError{Where: where, Value: v, Stack: debug.Stack()})
	}
}
