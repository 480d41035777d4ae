package json

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"netwhy/cmd/netwhy/internal/report"
)

// appender writes findings as they stand in the document, indented. A report has
// tens of thousands of them: by reflection, and indented afterwards, they take five
// times as long (measured). That they look as encoding/json would have written them
// is held by a test.
type appender struct {
	second int64  // of the time that was written last, and
	prefix []byte // how that begins
}

// Indents of the lines of a finding, of what it holds, and of what that holds.
const (
	inList    = "\n    "
	inFinding = "\n      "
	inField   = "\n        "

	inListDepth = 2
)

func (a *appender) finding(b []byte, f *report.Finding) []byte {
	b = appendText(append(b, `{`+inFinding+`"id": `...), f.ID)
	b = appendText(append(b, `,`+inFinding+`"code": `...), f.Code)
	b = append(append(append(b, `,`+inFinding+`"severity": "`...), f.Severity.String()...), '"')
	b = append(b, `,`+inFinding+`"connection": `...)
	if c := f.Connection; c == nil {
		b = append(b, "null"...)
	} else {
		b = appendText(append(b, `{`+inField+`"proto": `...), c.Proto)
		b = appendText(append(b, `,`+inField+`"client": `...), c.Client)
		b = appendText(append(b, `,`+inField+`"server": `...), c.Server)
		b = strconv.AppendUint(append(b, `,`+inField+`"stream": `...), uint64(c.Stream), 10)
		b = appendText(append(b, `,`+inField+`"community_id": `...), c.CommunityID)
		b = append(b, inFinding+`}`...)
	}
	b = append(b, `,`+inFinding+`"host": `...)
	if f.Host == nil {
		b = append(b, "null"...)
	} else {
		b = appendText(b, *f.Host)
	}
	b = strconv.AppendUint(append(b, `,`+inFinding+`"first_frame": `...), f.FirstFrame, 10)
	b = strconv.AppendUint(append(b, `,`+inFinding+`"last_frame": `...), f.LastFrame, 10)
	b = strconv.AppendUint(append(b, `,`+inFinding+`"count": `...), f.Count, 10)
	b = appendFrames(append(b, `,`+inFinding+`"frames": `...), f.Frames)
	b = a.time(append(b, `,`+inFinding+`"start": `...), f.Start)
	b = a.time(append(b, `,`+inFinding+`"end": `...), f.End)
	b = metrics(append(b, `,`+inFinding+`"metrics": `...), f.Metrics)
	for i, c := range f.Caveats {
		lead := "," + inField
		if i == 0 {
			lead = "," + inFinding + `"caveats": [` + inField
		}
		b = appendText(append(b, lead...), c)
	}
	if len(f.Caveats) > 0 {
		b = append(b, inFinding+`]`...)
	}
	return append(b, inList+`}`...)
}

func appendFrames(b []byte, frames []uint64) []byte {
	switch {
	case frames == nil:
		return append(b, "null"...)
	case len(frames) == 0:
		return append(b, "[]"...)
	}
	for i, n := range frames {
		if i == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, inField...), n, 10)
	}
	return append(b, inFinding+`]`...)
}

// metrics writes the figures by name.
func metrics(b []byte, m report.Metrics) []byte {
	lead := byte('{')
	for x := range m.All() {
		b = append(appendText(append(append(b, lead), inField...), x.Name), ": "...)
		if x.IsText {
			b = appendText(b, x.Text)
		} else {
			b = appendNumber(b, x.Num)
		}
		lead = ','
	}
	if lead == '{' {
		return append(b, "{}"...)
	}
	return append(b, inFinding+`}`...)
}

// time writes a moment; those of neighbours are mostly of one second.
func (a *appender) time(b []byte, t report.Time) []byte {
	const digits = 9
	second := int64(t) / int64(time.Second)
	nano := int64(t) % int64(time.Second)
	if nano < 0 {
		second, nano = second-1, nano+int64(time.Second)
	}
	if second != a.second || a.prefix == nil {
		a.second, a.prefix = second, time.Unix(second, 0).UTC().AppendFormat(a.prefix[:0], `"2006-01-02T15:04:05.`)
	}
	b = append(b, a.prefix...)
	at := len(b)
	b = append(b, `000000000Z"`...)
	for i := at + digits - 1; i >= at && nano > 0; i-- {
		b[i] = byte('0' + nano%10)
		nano /= 10
	}
	return b
}

// appendNumber writes a number as encoding/json does (ECMA-262, 6.1.6.1.20). What
// is none is written as 0: the document has to stay one.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, '0')
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 && (v != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(b, int64(v), 10)
	}
	const least, most = 1e-6, 1e21
	if abs := math.Abs(v); abs == 0 || abs >= least && abs < most {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b[n-2] = b[n-1] // e-09 is e-9
		b = b[:n-1]
	}
	return b
}

// appendText writes a text in quotes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return appendOdd(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendOdd writes a text that has more than plain ASCII.
func appendOdd(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a text is always written
		return append(b, `""`...)
	}
	return append(b, quiet(bytes.TrimSuffix(out.Bytes(), []byte("\n")))...)
}
