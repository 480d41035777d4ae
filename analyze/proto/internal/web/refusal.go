package web

import "bytes"

// MaxRefusal is the longest body that is looked at for a refusal: pages are longer.
const MaxRefusal = 2 << 10

// maxWords bounds what is kept of a refusal.
const maxWords = 100

// Refusal returns the beginning of a body that says that the request failed although
// its status says 200: text that begins with a word for it, or JSON with an error in
// its outermost object. Empty: it does not.
func Refusal(b []byte) string {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if len(b) == 0 || b[0] == '<' || b[0] != '{' && !refuses(b) || b[0] == '{' && !failedJSON(b) {
		return ""
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line[:min(len(line), maxWords)])
}

// refuses reports whether a text begins with a word of refusal, in capitals or
// followed by a colon: "Error: no such user" does, "Errors of the day" does not.
func refuses(b []byte) bool {
	for _, w := range []string{"ERROR", "INVALID", "FAIL", "DENIED", "ACCESS DENIED", "UNAUTHORIZED", "FORBIDDEN", "EXCEPTION", "FATAL", "REJECTED"} {
		if len(b) < len(w) || !bytes.EqualFold(b[:len(w)], []byte(w)) {
			continue
		}
		rest := bytes.TrimLeft(b[len(w):], "EDed") // FAILED
		return bytes.HasPrefix(b, []byte(w)) || len(rest) > 0 && (rest[0] == ':' || rest[0] == '=')
	}
	return false
}

// failedJSON reports whether the outermost object of a JSON text has an error that is
// not empty, or says that it had no success.
func failedJSON(b []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
			if text && depth == 1 && failedMember(b[i:]) {
				return true
			}
		case text:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// failedMember reports whether a member of an object, from its name on, is an error.
func failedMember(b []byte) bool {
	name, value, ok := bytes.Cut(b[1:], []byte(`"`))
	if !ok {
		return false
	}
	value, ok = bytes.CutPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte(":"))
	if !ok {
		return false // a value, not a name
	}
	value = bytes.TrimLeft(value, " \t\r\n")
	starts := func(words ...string) bool {
		for _, w := range words {
			if len(value) >= len(w) && bytes.EqualFold(value[:len(w)], []byte(w)) {
				return true
			}
		}
		return false
	}
	switch string(bytes.ToLower(name)) {
	case "error", "errors", "fault", "exception", "error_message", "errormessage":
		return len(value) > 1 && !starts("null", "false", "0", `""`, "{}", "[]")
	case "success", "ok":
		return starts("false")
	case "status", "result":
		return starts(`"error`, `"fail`)
	}
	return false
}
