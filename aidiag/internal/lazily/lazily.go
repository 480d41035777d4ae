// Package lazily compiles expressions when they are first asked: a run that asks no model,
// which is nearly every run, needs none of them, and would compile forty to start.
package lazily

import (
	"regexp"
	"sync"
)

// Regexp returns what compiles a constant expression at its first call. Like
// regexp.MustCompile, that call panics where the expression is wrong.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
