package prototest

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Report is one occurrence of a symptom.
type Report struct {
	Frame  uint64
	At     int64 // ns since 1970 UTC
	Host   netip.Addr
	Code   finding.Code
	Values []finding.Value
	def    finding.Def
}

// Num returns the figure of a metric by name; 0 when the code has none of it.
func (r *Report) Num(metric string) float64 { return r.value(metric).Num }

// Text returns the text of a metric by name.
func (r *Report) Text(metric string) string { return r.value(metric).Text }

func (r *Report) value(metric string) finding.Value {
	for i, m := range r.def.Metrics {
		if m.Name == metric && i < len(r.Values) {
			return r.Values[i]
		}
	}
	return finding.Value{}
}

// String writes the report as code{metric=value ...}, for failure texts and
// goldens.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s{", r.Frame, r.Code)
	for i, v := range r.Values {
		if i > 0 {
			b.WriteByte(' ')
		}
		name := "?"
		text := false
		if i < len(r.def.Metrics) {
			name, text = r.def.Metrics[i].Name, r.def.Metrics[i].Text
		}
		if text {
			fmt.Fprintf(&b, "%s=%q", name, v.Text)
		} else {
			fmt.Fprintf(&b, "%s=%g", name, v.Num)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// Recorder is a proto.Sink that keeps everything. Its zero value works.
type Recorder struct {
	Reports   []Report
	Bad       []string // reasons of Malformed
	Carried   map[string]int
	Counts    [proto.Counters]map[string]uint64
	Exchanges []conn.Exchange
	Events    []any
	Faults    []string // broken promises: undeclared codes, a wrong number of values
	// Secrets answers Secret: key is label, space, hex of the client random.
	Secrets map[string][]byte

	defs map[finding.Code]finding.Def
}

// Declare adds codes that may be reported. Without any, all may.
func (r *Recorder) Declare(defs ...finding.Def) {
	if r.defs == nil {
		r.defs = make(map[finding.Code]finding.Def)
	}
	for _, d := range defs {
		r.defs[d.Code] = d
	}
}

// Report implements proto.Sink.
func (r *Recorder) Report(s *proto.Scope, host netip.Addr, code finding.Code, v []finding.Value) {
	def, ok := r.defs[code]
	switch {
	case !ok && r.defs != nil:
		r.Faults = append(r.Faults, fmt.Sprintf("code %q is not declared", code))
	case ok && len(v) != len(def.Metrics):
		r.Faults = append(r.Faults, fmt.Sprintf("code %q has %d metrics, got %d values", code, len(def.Metrics), len(v)))
	}
	if ok {
		for i := range v {
			if i < len(def.Metrics) && !def.Metrics[i].Text && v[i].Text != "" {
				r.Faults = append(r.Faults, fmt.Sprintf("code %q: %s is a number, got text %q", code, def.Metrics[i].Name, v[i].Text))
			}
		}
	}
	r.Reports = append(r.Reports, Report{
		Frame: s.FrameNo, At: s.At, Host: host, Code: code,
		Values: append([]finding.Value(nil), v...), def: def,
	})
}

// ReportEvidence implements proto.Sink: as Report, at the first frame of the proof.
func (r *Recorder) ReportEvidence(s *proto.Scope, host netip.Addr, code finding.Code, ev finding.Evidence, v []finding.Value) {
	if ev.Count == 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("code %q without evidence", code))
	}
	at := *s
	at.FrameNo, at.At = ev.First, ev.Start
	r.Report(&at, host, code, v)
}

// Malformed implements proto.Sink.
func (r *Recorder) Malformed(_ *proto.Scope, reason string) { r.Bad = append(r.Bad, reason) }

// Carries implements proto.Sink.
func (r *Recorder) Carries(_ *proto.Scope, name string) {
	if r.Carried == nil {
		r.Carried = make(map[string]int)
	}
	r.Carried[name]++
}

// Count implements proto.Sink.
func (r *Recorder) Count(c proto.Counter, key string, n uint64) {
	if r.Counts[c] == nil {
		r.Counts[c] = make(map[string]uint64)
	}
	r.Counts[c][key] += n
}

// Exchange implements proto.Sink.
func (r *Recorder) Exchange(_ *proto.Scope, x *conn.Exchange) { r.Exchanges = append(r.Exchanges, *x) }

// Publish implements proto.Sink.
func (r *Recorder) Publish(_ *proto.Scope, body any) { r.Events = append(r.Events, body) }

// Secret implements proto.Sink.
func (r *Recorder) Secret(clientRandom []byte, label string) []byte {
	return r.Secrets[label+" "+hex.EncodeToString(clientRandom)]
}

// Find returns the first report of a code, or nil.
func (r *Recorder) Find(code finding.Code) *Report {
	for i := range r.Reports {
		if r.Reports[i].Code == code {
			return &r.Reports[i]
		}
	}
	return nil
}

// Codes lists the codes reported, in order, with repetitions.
func (r *Recorder) Codes() []string {
	out := make([]string, 0, len(r.Reports))
	for i := range r.Reports {
		out = append(out, string(r.Reports[i].Code))
	}
	return out
}
