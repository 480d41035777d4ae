package json

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"netwhy/cmd/netwhy/internal/report"
)

// appender writes findings and diagnoses as they stand in the document, indented. A
// report has tens of thousands of them: by reflection, and indented afterwards, they take five
// times as long (measured). That they look as encoding/json would have written them
// is held by a test.
type appender struct {
	second int64  // of the time that was written last, and
	prefix []byte // how that begins
}

// Indents of the lines of a finding or diagnosis, of what it holds, and of what that
// holds.
const (
	inList    = "\n    "
	inFinding = "\n      "
	inField   = "\n        "
	inItem    = "\n          " // in what stands in a list of a finding
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

func diagnosis(b []byte, d *report.Diagnosis) []byte {
	b = appendText(append(b, `{`+inFinding+`"id": `...), d.ID)
	b = appendText(append(b, `,`+inFinding+`"cause": `...), d.Cause)
	b = appendText(append(b, `,`+inFinding+`"culprit": `...), d.Culprit)
	b = appendText(append(b, `,`+inFinding+`"severity": `...), d.Severity.String())
	b = appendNumber(append(b, `,`+inFinding+`"confidence": `...), d.Confidence)
	b = appendText(append(b, `,`+inFinding+`"title": `...), d.Title)
	b = appendText(append(b, `,`+inFinding+`"explanation": `...), d.Explanation)
	b = appendList(append(b, `,`+inFinding+`"remedies": `...), d.Remedies, appendText)
	b = appendList(append(b, `,`+inFinding+`"connections": `...), d.Connections, func(b []byte, c report.Connection) []byte {
		b = appendText(append(b, `{`+inItem+`"proto": `...), c.Proto)
		b = appendText(append(b, `,`+inItem+`"client": `...), c.Client)
		b = appendText(append(b, `,`+inItem+`"server": `...), c.Server)
		b = strconv.AppendUint(append(b, `,`+inItem+`"stream": `...), uint64(c.Stream), 10)
		b = appendText(append(b, `,`+inItem+`"community_id": `...), c.CommunityID)
		return append(b, inField+`}`...)
	})
	b = appendList(append(b, `,`+inFinding+`"evidence": `...), d.Evidence, appendText)
	b = appendFrames(append(b, `,`+inFinding+`"frames": `...), d.Frames)
	b = appendText(append(b, `,`+inFinding+`"source": `...), d.Source)
	b = append(b, `,`+inFinding+`"rule": `...)
	if d.Rule == nil {
		b = append(b, "null"...)
	} else {
		b = appendText(b, *d.Rule)
	}
	b = strconv.AppendInt(append(b, `,`+inFinding+`"impact": {`+inField+`"connections": `...), int64(d.Impact.Connections), 10)
	b = appendNumber(append(b, `,`+inField+`"stalled_seconds": `...), d.Impact.StalledSeconds)
	b = strconv.AppendInt(append(b, `,`+inField+`"failed": `...), int64(d.Impact.Failed), 10)
	b = appendLedger(append(b, inFinding+`},`+inFinding+`"ledger": `...), d.Ledger)
	b = appendList(append(b, `,`+inFinding+`"excluded": `...), d.Excluded, func(b []byte, x report.Exclusion) []byte {
		b = appendText(append(b, `{`+inItem+`"cause": `...), x.Cause)
		b = appendText(append(b, `,`+inItem+`"because": `...), x.Because)
		return append(b, inField+`}`...)
	})
	b = append(b, `,`+inFinding+`"next_step": `...)
	if n := d.NextStep; n == nil {
		b = append(b, "null"...)
	} else {
		b = appendText(append(b, `{`+inField+`"command": `...), n.Command)
		b = appendText(append(b, `,`+inField+`"tells_apart": `...), n.TellsApart)
		b = append(b, inFinding+`}`...)
	}
	if f := d.File; f != nil {
		b = appendText(append(b, `,`+inFinding+`"evidence_file": {`+inField+`"name": `...), f.Name)
		b = appendText(append(b, `,`+inField+`"sha256": `...), f.SHA256)
		b = append(b, inFinding+`}`...)
	}
	return append(b, inList+`}`...)
}

func appendLedger(b []byte, l *report.Ledger) []byte {
	if l == nil {
		return append(b, "null"...)
	}
	b = appendNumber(append(b, `{`+inField+`"total": `...), l.Total)
	b = appendNumber(append(b, `,`+inField+`"dns": `...), l.DNS)
	b = appendNumber(append(b, `,`+inField+`"connect": `...), l.Connect)
	b = appendNumber(append(b, `,`+inField+`"tls": `...), l.TLS)
	b = appendNumber(append(b, `,`+inField+`"client_think": `...), l.ClientThink)
	b = appendNumber(append(b, `,`+inField+`"request_send": `...), l.RequestSend)
	b = appendNumber(append(b, `,`+inField+`"path": `...), l.Path)
	b = appendNumber(append(b, `,`+inField+`"server_think": `...), l.ServerThink)
	b = appendNumber(append(b, `,`+inField+`"loss_stall": `...), l.LossStall)
	b = appendNumber(append(b, `,`+inField+`"window_stall": `...), l.WindowStall)
	b = appendNumber(append(b, `,`+inField+`"sender_idle": `...), l.SenderIdle)
	b = appendNumber(append(b, `,`+inField+`"transfer": `...), l.Transfer)
	return append(b, inFinding+`}`...)
}

func appendList[T any](b []byte, list []T, item func(b []byte, v T) []byte) []byte {
	switch {
	case list == nil:
		return append(b, "null"...)
	case len(list) == 0:
		return append(b, "[]"...)
	}
	lead := byte('[')
	for _, v := range list {
		b = item(append(append(b, lead), inField...), v)
		lead = ','
	}
	return append(b, inFinding+`]`...)
}

func appendFrames(b []byte, frames []uint64) []byte {
	return appendList(b, frames, func(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) })
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
		if odd[s[i]] {
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

// odd are the bytes that do not stand in a document as they are, and those of runes
// that may not.
var odd = func() (is [256]bool) { //nolint:gochecknoglobals // constant table
	for c := range is {
		is[c] = c < ' ' || c == '"' || c == '\\' || c >= 0x7f
	}
	return is
}()
