// Package json writes the report as one JSON document: the contract
// (schema.json beside it describes it, and tests hold every report to it).
package json

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"netwhy/cmd/netwhy/internal/report"
)

// Schema is the JSON Schema (draft 2020-12) of the document.
//
//go:embed schema.json
var Schema []byte

// New makes a sink that writes the document to w at the end.
func New(w io.Writer) report.Sink { return &sink{w: w} }

type sink struct{ w io.Writer }

// Finding says nothing: a document is whole or it is none.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish writes the document, indented by two spaces, with a final line break.
func (s *sink) Finish(r *report.Report) error {
	w := &indenter{w: bufio.NewWriterSize(s.w, 64<<10)}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return w.w.Flush()
}

// Marshal writes v as JSON of the report's kind, ending in a line break: no
// HTML escapes, and every character that a terminal could obey as \u.
func Marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return quiet(b.Bytes()), nil
}

// quiet escapes what encoding/json leaves as it is and a terminal or an eye may
// take for something else: DEL, the C1 controls, and invisible format
// characters. Outside of strings JSON has none of them, so the bytes need not be
// parsed.
func quiet(b []byte) []byte {
	clean := true
	for i := 0; i < len(b) && clean; {
		if b[i] < 0x7f { // nearly all of it
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		clean = !loud(r)
		i += n
	}
	if clean {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case !loud(r):
			out = append(out, b[i:i+n]...)
		case r > 0xffff: // RFC 8259, 7: as a surrogate pair
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

func loud(r rune) bool {
	return r == 0x7f || r >= 0x80 && r <= 0x9f || r > 0x9f && unicode.Is(unicode.Cf, r)
}
