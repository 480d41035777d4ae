package web

// JSON checks, piece by piece, a body that claims to be JSON (RFC 8259). Like tshark's
// reading, it wants one or more objects and arrays with white space between them,
// gives up where they are nested too deep, and takes any byte but quotes and broken
// escapes in a string. The zero value has seen nothing.
type JSON struct {
	objects uint32 // a bit for each open container, the innermost lowest: it is an object
	depth   uint8
	spent   uint8 // of maxNesting
	want    want
	left    uint8 // letters of a word, or digits of an escape, that are still to come
	word    string
	some    bool // there was a value
	wrong   bool
}

// What tshark's reading of one value inside another costs, and all it has to spend, as
// found by nesting them.
const (
	maxNesting    = 100
	costContainer = 4
	costMember    = 1 // more, where an object has any
	costScalar    = 5
)

// want is what a checker waits for.
type want uint8

const (
	wantTop    want = iota // an object, an array, or the end
	wantFirst              // a value, or the end of the array
	wantValue              // a value
	wantNext               // a comma, or the end of the array
	wantKey                // a name, or the end of the object
	wantName               // a name
	wantColon              // a colon
	wantMember             // a comma, or the end of the object
	inName
	inString
	inNameEscape
	inEscape
	inWord
	inMinus // a digit
	inZero  // no digit
	inInteger
	inPoint // a digit
	inFraction
	inExponent // a sign or a digit
	inSign     // a digit
	inPower
)

// Write takes the next bytes.
func (j *JSON) Write(b []byte) {
	for _, c := range b {
		if j.wrong {
			return
		}
		j.one(c)
	}
}

// Whole reports whether what was written is JSON to its end.
func (j *JSON) Whole() bool { return !j.wrong && j.some && j.want == wantTop }

func (j *JSON) one(c byte) {
	switch {
	case j.want >= inMinus:
		if !j.number(c) {
			j.between(c)
		}
	case j.want == inWord:
		if j.wrong = c != j.word[len(j.word)-int(j.left)]; !j.wrong {
			if j.left--; j.left == 0 {
				j.ended()
			}
		}
	case j.want >= inName:
		j.text(c)
	default:
		j.between(c)
	}
}

// between takes a byte outside of names, strings, numbers and words.
func (j *JSON) between(c byte) {
	value := j.want <= wantValue
	switch {
	case j.wrong || c == ' ' || c == '\t' || c == '\r' || c == '\n':
	case c == '{' && value:
		j.open(1, wantKey)
	case c == '[' && value:
		j.open(0, wantFirst)
	case c == '}' && (j.want == wantKey || j.want == wantMember), c == ']' && (j.want == wantFirst || j.want == wantNext):
		j.shut()
	case c == ',' && j.want == wantNext:
		j.want = wantValue
	case c == ',' && j.want == wantMember:
		j.want = wantName
	case c == '"' && (j.want == wantKey || j.want == wantName):
		if j.want == wantKey {
			j.spent += costMember
		}
		j.want = inName
	case c == ':' && j.want == wantColon:
		j.want = wantValue
	case value && j.want != wantTop && j.spent+costScalar <= maxNesting:
		j.scalar(c)
	default:
		j.wrong = true
	}
}

func (j *JSON) open(object uint32, next want) {
	if j.spent+costContainer > maxNesting {
		j.wrong = true
		return
	}
	j.objects = j.objects<<1 | object
	j.depth++
	j.spent += costContainer
	j.want = next
}

func (j *JSON) shut() {
	j.spent -= costContainer
	if j.want == wantMember {
		j.spent -= costMember
	}
	j.objects >>= 1
	j.depth--
	j.some = true
	j.ended()
}

// ended is told that a value is over.
func (j *JSON) ended() {
	switch {
	case j.depth == 0:
		j.want = wantTop
	case j.objects&1 != 0:
		j.want = wantMember
	default:
		j.want = wantNext
	}
}

func (j *JSON) scalar(c byte) {
	switch {
	case c == '"':
		j.want = inString
	case c == '-':
		j.want = inMinus
	case c == '0':
		j.want = inZero
	case isDigit(c):
		j.want = inInteger
	case c == 't':
		j.want, j.word, j.left = inWord, "true", 3
	case c == 'f':
		j.want, j.word, j.left = inWord, "false", 4
	case c == 'n':
		j.want, j.word, j.left = inWord, "null", 3
	default:
		j.wrong = true
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// text takes a byte of a name or a string.
func (j *JSON) text(c byte) {
	escape := j.want == inNameEscape || j.want == inEscape
	switch {
	case escape && j.left > 0: // \u and four digits
		if j.wrong = !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f'); !j.wrong {
			j.left--
		}
	case escape && c == 'u':
		j.left = 4
		return
	case escape:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		default:
			j.wrong = true
		}
	case c == '\\':
		j.want += inNameEscape - inName
		return
	case c == '"' && j.want == inName:
		j.want = wantColon
	case c == '"':
		j.ended()
	}
	if escape && j.left == 0 {
		j.want -= inNameEscape - inName
	}
}

// number takes a byte of a number, and reports whether it belongs to it.
func (j *JSON) number(c byte) bool {
	digit := isDigit(c)
	switch {
	case digit && j.want == inMinus && c == '0':
		j.want = inZero
	case digit && j.want == inMinus:
		j.want = inInteger
	case digit && j.want == inPoint:
		j.want = inFraction
	case digit && (j.want == inExponent || j.want == inSign):
		j.want = inPower
	case digit && j.want != inZero:
	case c == '.' && (j.want == inZero || j.want == inInteger):
		j.want = inPoint
	case (c == 'e' || c == 'E') && (j.want == inZero || j.want == inInteger || j.want == inFraction):
		j.want = inExponent
	case (c == '+' || c == '-') && j.want == inExponent:
		j.want = inSign
	case digit || j.want == inMinus || j.want == inPoint || j.want == inExponent || j.want == inSign:
		j.wrong = true
		return true
	default:
		j.ended()
		return false
	}
	return true
}
