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
// Findings and diagnoses are written one by one: as a whole they would be held twice.
func (s *sink) Finish(r *report.Report) error {
	shell := *r
	lists := []list{{name: "findings"}, {name: "diagnoses"}}
	if len(r.Findings) > 0 {
		shell.Findings, lists[0].n = []report.Finding{}, len(r.Findings)
	}
	if len(r.Diagnoses) > 0 {
		shell.Diagnoses, lists[1].n = []report.Diagnosis{}, len(r.Diagnoses)
	}
	frame, err := compact(&shell)
	if err != nil {
		return err
	}
	x := &indenter{w: bufio.NewWriterSize(s.w, 64<<10)}
	var buf []byte
	a := &appender{}
	lists[0].write = func(i int) error {
		buf = a.finding(buf[:0], &r.Findings[i])
		_, _ = x.w.Write(buf) // the writer keeps its first error for Flush
		return nil
	}
	lists[1].write = func(i int) error {
		b, err := compact(&r.Diagnoses[i])
		x.compact(b)
		return err
	}
	for _, l := range lists {
		if frame, err = l.within(x, frame); err != nil {
			return err
		}
	}
	x.compact(frame)
	_ = x.w.WriteByte('\n')
	return x.w.Flush()
}

// list is a list of the document that is written item by item.
type list struct {
	name  string
	n     int
	write func(i int) error
}

// within writes the document up to the list's end, and returns what comes after it.
func (l *list) within(x *indenter, frame []byte) ([]byte, error) {
	if l.n == 0 {
		return frame, nil
	}
	open := []byte(`"` + l.name + `":[`) // in a text the quotes would have a backslash
	at := bytes.Index(frame, append(open, ']')) + len(open)
	x.compact(frame[:at])
	for i := range l.n {
		if i > 0 {
			_ = x.w.WriteByte(',')
			x.line()
		}
		if err := l.write(i); err != nil {
			return nil, err
		}
	}
	return frame[at:], nil
}

// compact is v in one line.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
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
