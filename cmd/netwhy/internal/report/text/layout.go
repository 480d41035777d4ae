package text

import (
	"strings"
	"unicode"

	"netwhy/cmd/netwhy/internal/terminal"
)

// wrap breaks a text into lines of at most width columns. Words stay whole
// unless one alone is wider than a line; Chinese breaks between any two
// characters, but never before closing punctuation. White space of any kind
// counts as one space, and what a terminal could obey is made visible.
func wrap(s string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	flush := func() {
		if line.Len() > 0 {
			lines = append(lines, strings.TrimRight(line.String(), " "))
			line.Reset()
			used = 0
		}
	}
	for _, w := range together(words(terminal.Printable(strings.Join(strings.Fields(s), " ")))) {
		text := strings.TrimRight(w, " ")
		n := terminal.Width(text)
		if used+n > width {
			flush()
		}
		for n > width { // a word wider than the line is cut
			head := cut(text, width)
			lines = append(lines, head)
			text = text[len(head):]
			w = w[len(head):]
			n = terminal.Width(text)
		}
		line.WriteString(w)
		used += terminal.Width(w)
	}
	flush()
	return lines
}

// words cuts a text at the places where a line may break; each word has the
// space that follows it.
func words(s string) []string {
	var out []string
	start := 0
	var last rune
	for i, r := range s {
		wide := terminal.Width(string(r)) > 1
		lastWide := i > 0 && terminal.Width(string(last)) > 1
		switch {
		case i == 0:
		case last == ' ' && r != ' ',
			(wide || lastWide) && r != ' ' && last != ' ' && !closing(r) && !opening(last):
			out = append(out, s[start:i])
			start = i
		}
		last = r
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// together joins a figure with its unit: "9.01 s" on one line.
func together(list []string) []string {
	out := list[:0:0]
	for _, w := range list {
		if n := len(out); n > 0 && isUnit(strings.TrimRight(w, " ,.;:)")) && endsInDigit(strings.TrimRight(out[n-1], " ")) {
			out[n-1] += w
			continue
		}
		out = append(out, w)
	}
	return out
}

func isUnit(s string) bool {
	switch s {
	case "s", "ms", "µs", "h", "d", "B", "kB", "MB", "GB", "TB", "%":
		return true
	}
	return false
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

func closing(r rune) bool {
	return strings.ContainsRune("，。、；：？！）」』】》…)],.;:?!%", r)
}

func opening(r rune) bool { return strings.ContainsRune("（「『【《([", r) }

// cut returns the longest beginning of s that fits, at least one character.
func cut(s string, width int) string {
	used := 0
	for i, r := range s {
		n := terminal.Width(string(r))
		if used+n > width && i > 0 {
			return s[:i]
		}
		used += n
	}
	return s
}

// pad fills a text with spaces to a number of columns.
func pad(s string, width int) string {
	if n := width - terminal.Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// padLeft puts the spaces in front.
func padLeft(s string, width int) string {
	if n := width - terminal.Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

// upper is for headings; Chinese has no capitals.
func upper(s string) string { return strings.Map(unicode.ToUpper, s) }
