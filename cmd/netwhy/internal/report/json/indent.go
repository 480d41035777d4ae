package json

import "bufio"

// indenter breaks compact JSON into lines, indented by two spaces, as it is
// written: a report has tens of megabytes, and encoding/json would hold it three
// times to indent it.
type indenter struct {
	w     *bufio.Writer
	depth int
}

// compact writes a piece of compact JSON indented and quiet. A piece ends between
// two tokens; one that ends with an opening bracket has something to come in it.
func (x *indenter) compact(b []byte) {
	b = quiet(b)
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '"':
			end := closing(b, i)
			_, _ = x.w.Write(b[i:end]) // the writer keeps its first error for Flush
			i = end
			continue
		case '{', '[':
			_ = x.w.WriteByte(c)
			if i+1 < len(b) && b[i+1] == c+2 { // '}' and ']' stand two behind
				_ = x.w.WriteByte(b[i+1])
				i++
				break
			}
			x.depth++
			x.line()
		case '}', ']':
			x.depth--
			x.line()
			_ = x.w.WriteByte(c)
		case ',':
			_ = x.w.WriteByte(c)
			x.line()
		case ':':
			_, _ = x.w.WriteString(": ")
		default:
			_ = x.w.WriteByte(c)
		}
		i++
	}
}

// closing is the place after the string that begins at i.
func closing(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func (x *indenter) line() {
	_ = x.w.WriteByte('\n')
	for range x.depth {
		_, _ = x.w.WriteString("  ")
	}
}
