package json

// indented appends compact JSON to b, quiet and broken into lines that are indented by
// two spaces, and returns the depth that it ends at: encoding/json would hold a report
// three times to indent it. A piece ends between two tokens; one that ends with an
// opening bracket has something to come in it.
func indented(b, compact []byte, depth int) ([]byte, int) {
	compact = quiet(compact)
	for i := 0; i < len(compact); {
		switch c := compact[i]; c {
		case '"':
			end := closing(compact, i)
			b = append(b, compact[i:end]...)
			i = end
			continue
		case '{', '[':
			b = append(b, c)
			if i+1 < len(compact) && compact[i+1] == c+2 { // '}' and ']' stand two behind
				b = append(b, compact[i+1])
				i++
				break
			}
			depth++
			b = line(b, depth)
		case '}', ']':
			depth--
			b = append(line(b, depth), c)
		case ',':
			b = line(append(b, c), depth)
		case ':':
			b = append(b, ": "...)
		default:
			b = append(b, c)
		}
		i++
	}
	return b, depth
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

func line(b []byte, depth int) []byte {
	b = append(b, '\n')
	for range depth {
		b = append(b, "  "...)
	}
	return b
}
