package terminal

import (
	"io"
	"os"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// Columns is the width that reports are laid out for. A wider terminal does not
// make a longer line more readable, and tickets and mails have this width.
const Columns = 80

// IsTerminal reports whether w is a file that leads to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UseColour decides for one output: never when the user said so by flag, by
// NO_COLOR (any value but the empty one, no-color.org) or by TERM=dumb, else on
// a terminal only.
func UseColour(w io.Writer, noColour bool, getenv func(string) string) bool {
	if noColour || getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return false
	}
	return IsTerminal(w)
}

// Width is the number of columns of a text that is Printable. Characters whose
// width depends on the terminal count as narrow.
func Width(s string) int { return condition().StringWidth(s) }

func truncate(s string, limit int) string { return condition().Truncate(s, limit, "…") }

// condition is fixed here: the library's default follows the locale, and a
// report must not.
func condition() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}

// Style is one way to mark text.
type Style string

// Styles: parameters of SGR (ECMA-48, 8.3.117).
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "1;31"
	Yellow Style = "1;33"
	Cyan   Style = "36"
	Green  Style = "1;32"
)

// Paint marks text, or leaves it alone where the output has no colour.
type Paint bool

// As returns s in the given style. s must be Printable already.
func (p Paint) As(st Style, s string) string {
	if !p || st == Plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// IsReader reports whether reading from r waits for somebody to type.
func IsReader(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
