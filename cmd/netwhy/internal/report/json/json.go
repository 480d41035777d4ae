// Package json writes the report as one JSON document: the contract
// (schema.json beside it describes it, and tests hold every report to it).
package json

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"unicode"
	"unicode/utf8"

	"netwhy/capture/packet"
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
// Findings and diagnoses are written some at a time: as a whole they would be held
// twice.
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
	lists[0].write = func(a *appender, b []byte, i int) []byte { return a.finding(b, &r.Findings[i]) }
	lists[1].write = func(_ *appender, b []byte, i int) []byte { return diagnosis(b, &r.Diagnoses[i]) }
	depth := 0
	var buf []byte
	for _, l := range lists {
		if l.n == 0 {
			continue
		}
		at := l.begins(frame)
		buf, depth = indented(buf[:0], frame[:at], depth)
		frame = frame[at:]
		if _, err := s.w.Write(buf); err != nil {
			return err
		}
		if err := l.to(s.w); err != nil {
			return err
		}
	}
	buf, _ = indented(buf[:0], frame, depth)
	_, err = s.w.Write(append(buf, '\n'))
	return err
}

// list is a list of the document that is written item by item.
type list struct {
	name  string
	n     int
	write func(a *appender, b []byte, i int) []byte
}

// begins is the place in the document where the list's first item belongs.
func (l *list) begins(frame []byte) int {
	open := []byte(`"` + l.name + `":[`) // in a text the quotes would have a backslash
	return bytes.Index(frame, append(open, ']')) + len(open)
}

// perPiece is how many items one goroutine renders at a time: enough that waiting for
// the others costs little, few enough that what is rendered takes little memory.
const perPiece = 64

// piece is a part of a list, rendered by one goroutine.
type piece struct {
	appender

	buf []byte
	err error
}

// to writes the items of the list. As many pieces as there are cores are rendered at
// a time, and written in their order.
func (l *list) to(w io.Writer) error {
	pieces := make([]piece, max(1, min(runtime.GOMAXPROCS(0), (l.n+perPiece-1)/perPiece)))
	for from := 0; from < l.n; from += len(pieces) * perPiece {
		var rendered sync.WaitGroup
		for k := range pieces {
			rendered.Go(func() { pieces[k].render(l, from+k*perPiece) })
		}
		rendered.Wait()
		for k := range pieces {
			if pieces[k].err != nil {
				return pieces[k].err
			}
			if _, err := w.Write(pieces[k].buf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *piece) render(l *list, from int) {
	defer packet.Rescue("the report", func(err error) { p.err = err })
	p.buf = p.buf[:0]
	for i := from; i < min(from+perPiece, l.n); i++ {
		if i > 0 {
			p.buf = append(p.buf, ","+inList...)
		}
		p.buf = l.write(&p.appender, p.buf, i)
	}
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
