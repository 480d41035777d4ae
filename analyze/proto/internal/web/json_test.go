package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"

	"netwhy/analyze/proto/internal/web"
)

// TestJSON checks what is taken for JSON, whatever the pieces are that it comes in. Wanted
// is what tshark 4.0.17 makes of the same bodies.
func TestJSON(t *testing.T) {
	t.Parallel()
	whole := []string{
		`{"a":1}`, "{\"a\":1}\n", `{"a":1} {"b":2}`, `{}[]`, ` {"a":1}`, "{\"a\":\"x\ny\"}", `{"a":-1.5e+3}`, "{\"a\":\"\xff\"}",
		`[[[[{}]]]]`, `{"a" : true , "b": [ ] }`, "{}\r\n\t ", `["\u00e9\n\/\b\f\"\\"]`, `[1E5,0,-0,0.5]`, `{"":""}`, `[null,false]`,
		strings.Repeat("[", 25) + strings.Repeat("]", 25), strings.Repeat("[", 23) + "1" + strings.Repeat("]", 23),
		strings.Repeat(`{"a":`, 19) + "1" + strings.Repeat("}", 19), strings.Repeat("[", 24) + "{}" + strings.Repeat("]", 24),
		strings.Repeat(`{"a":[`, 10) + "1" + strings.Repeat("]}", 10),
	}
	broken := []string{
		"", "   ", `[1,2,]`, `{"a":1,}`, `nul`, `null`, `"str"`, `123`, `{"a":1`, `{"a":"\q"}`, `{"a":01}`, `{a:1}`, `<html>`, `{"a":1}x`,
		"\xef\xbb\xbf{}", `{"a":"\u12"}`, "{}\x00", `{'a':1}`, "//c\n{}", `{"a":.5}`, `{"a":1.}`, `{"a":1e}`, `{"a":+1}`, `1 2`, `{"a":}`,
		`{"a"}`, `[,]`, `{"a":"b}`, `{},{}`, `[12true]`, `[1-2]`, `[-]`, `[00]`, `[-01]`, `[1e+]`, `[1.5.5]`, `[True]`, `["a"1]`, `{"a":1 "b":2}`,
		`]`, `}`, `[}`, `{]`,
		strings.Repeat("[", 26) + strings.Repeat("]", 26), strings.Repeat("[", 24) + "1" + strings.Repeat("]", 24),
		strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20), strings.Repeat(`{"a":[`, 11) + "1" + strings.Repeat("]}", 11),
	}
	for _, text := range whole {
		if !wholeJSON(text, len(text)) || !wholeJSON(text, 1) {
			t.Errorf("%q is broken", text)
		}
	}
	for _, text := range broken {
		if wholeJSON(text, len(text)) || wholeJSON(text, 1) {
			t.Errorf("%q is whole", text)
		}
	}
}

// wholeJSON checks a body that comes in pieces of n bytes.
func wholeJSON(text string, n int) bool {
	var j web.JSON
	for len(text) > 0 {
		piece := text[:min(n, len(text))]
		j.Write([]byte(piece))
		text = text[len(piece):]
	}
	return j.Whole()
}

// FuzzJSON checks that pieces make no difference, and that what is whole is JSON to the
// standard library too but for bytes that this one refuses in strings.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9",true]} []`, `[[[[`, `{"a":tru`, `[1e]`, `{"`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := wholeJSON(text, len(text))
		if pieces := wholeJSON(text, max(n&0xff, 1)); pieces != got {
			t.Fatalf("%q whole: %v, in pieces of %d %v", text, got, n, pieces)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return
		}
		d, want, values := json.NewDecoder(strings.NewReader(text)), true, 0
		for d.More() {
			var v any
			if want = d.Decode(&v) == nil; !want {
				break
			}
			values++
		}
		if got && (!want || values == 0) {
			t.Fatalf("%q is whole, but not to encoding/json", text)
		}
	})
}

// TestPacked checks what is made of compressed bodies, and that nothing is held then.
func TestPacked(t *testing.T) {
	t.Parallel()
	zip := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var u web.Unpacker
	for _, tt := range []struct {
		name, body      string
		readable, whole bool
	}{
		{"whole", zip(`{"a":1}`), true, true},
		{"more than JSON", zip(`{"a":1}/*""*/{"b":2}`), true, false},
		{"no JSON", zip("<html>"), true, false},
		{"no gzip", "abcdef", false, false},
		{"cut", zip(`{"a":"` + strings.Repeat("xyz", 99) + `"}`)[:14], true, false},
		{"nothing", "", true, true},
		{"a bomb", zip("[" + strings.Repeat(" ", 4<<20) + "]"), true, true},
		{"too large to keep", strings.Repeat("x", 1<<20), true, true},
		{"too large, and no JSON from the beginning", zip("{x" + noise(1<<16)), true, false},
	} {
		var p web.Packed
		for rest := tt.body; len(rest) > 0; {
			n := min(len(rest), 1400)
			u.Keep(&p, []byte(rest[:n]))
			rest = rest[n:]
		}
		if readable, whole := u.JSON(&p); readable != tt.readable || whole != tt.whole {
			t.Errorf("%s: readable %v, whole %v", tt.name, readable, whole)
		}
		u.Drop(&p)
	}
}

// noise is what cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	for i, x := 0, uint32(1); i < n; i++ {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabVJT\xb22\xac\x05\x00"), uint8(3))
	f.Fuzz(func(_ *testing.T, b []byte, n uint8) {
		var u web.Unpacker
		var p web.Packed
		cut := min(int(n), len(b))
		u.Keep(&p, b[:cut])
		u.Keep(&p, b[cut:])
		u.JSON(&p)
		u.Drop(&p)
	})
}
