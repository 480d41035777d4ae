// Package terminal is what netwhy knows of the screen it writes to: which texts
// are safe to show there, whether there is one, its colours and its width.
//
// # Why every text goes through Printable
//
// Names, headers and messages come from packets, and packets come from
// whoever wants to send them. A terminal obeys escape sequences wherever they
// come from: they can recolour or erase lines above, set the window's title,
// and on some terminals type commands. So no sink decides for itself which
// text is harmless.
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s with everything that a terminal could obey, or that could
// make a text look like another, written as a Go escape: control characters
// (C0, C1, DEL; line breaks and tabs too), bytes that are not UTF-8, and the
// invisible format characters (bidirectional overrides, zero-width characters,
// tags). What is printable stays as it is. The result is one line.
func Printable(s string) string {
	clean := 0
	for clean < len(s) {
		r, n := utf8.DecodeRuneInString(s[clean:])
		if !harmless(r, n) {
			break
		}
		clean += n
	}
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:clean])
	for i := clean; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case harmless(r, n):
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// Clip is Printable, cut to at most limit columns with an ellipsis in the last.
func Clip(s string, limit int) string {
	s = Printable(s)
	if Width(s) <= limit {
		return s
	}
	return truncate(s, limit)
}

func harmless(r rune, n int) bool {
	switch {
	case r >= 0x20 && r < 0x7f:
		return true
	case r == utf8.RuneError && n <= 1:
		return false
	case r == ' ': // a space that is none of ASCII is shown for what it is
		return true
	}
	return unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r) && !isFiller(r)
}

// isFiller tells letters and marks that are printed as nothing.
func isFiller(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	}
	return false
}
