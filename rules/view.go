package rules

import (
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
)

// view is what a rule sees of one subject. It is filled anew for each subject and
// is one goroutine's: a judgement allocates nothing for it.
type view struct {
	set   *Set
	in    *Input
	seen  *subject       // that it shows
	conn  *conn.Summary  // of the subject, or the worst of its conversations
	worst *conn.Exchange // of conn
	sub   subjectFacts
	codes []int32 // of the input's findings
	sheet []sheet // by the number of the code
	dirty []int   // those that are not empty
	reach reach
	party string // with culprit and reach: in texts only
	blame string
	none  conn.Summary
	room  conn.Summary // of a conversation that is known in short

	given, zero, made map[string]any // for the machine: samples; zeros; this subject, once it was asked
	idle              conn.Exchange
}

// sheet is the figures of all findings of one code that a subject has, joined.
type sheet struct {
	only                          *finding.Finding // while there is one, as mostly: the rest is empty
	count, flows, hosts, findings float64
	first, last                   uint64
	start, end                    int64
	values                        []finding.Value // by metric; shorter: zeros
}

func newView(s *Set, in *Input, codes []int32) *view {
	v := &view{set: s, in: in, codes: codes, sheet: make([]sheet, len(s.schema.codes))}
	v.conn, v.worst = &v.none, &v.idle
	return v
}

// look shows another subject.
func (v *view) look(sub *subject) {
	if v.seen == sub {
		return
	}
	v.seen = sub
	for _, n := range v.dirty {
		values := v.sheet[n].values
		v.sheet[n] = sheet{values: values[:0]}
	}
	v.dirty, v.made = v.dirty[:0], nil
	v.fill(sub)
	v.conn, v.worst, v.sub = &v.none, &v.idle, subjectFacts{}
	if sub.id.Valid() {
		if len(sub.conns) > 0 {
			v.about(sub.conns[0].summary(&v.room))
		}
		return
	}
	if c := worstOf(sub.conns); c != nil {
		v.about(c)
	}
	v.sub = subjectFacts{addr: sub.addr, talks: sub.conns}
}

func (v *view) about(c *conn.Summary) {
	v.conn = c
	if c.Worst != nil {
		v.worst = c.Worst
	}
}

// fill joins the figures of a subject's findings by code.
func (v *view) fill(sub *subject) {
	for _, i := range sub.findings {
		n := int(v.codes[i])
		x, f, def := &v.sheet[n], &v.in.Findings[i], v.set.schema.order[n]
		switch {
		case x.only != nil:
			x.join(x.only, def)
			x.only = nil
			x.join(f, def)
		case x.findings > 0:
			x.join(f, def)
		default:
			x.only = f
			v.dirty = append(v.dirty, n)
		}
	}
}

// whole is the sheet with all its figures, for reading only.
func (x *sheet) whole() sheet {
	if x.only == nil {
		return *x
	}
	var out sheet
	out.join(x.only, &finding.Def{})
	out.values = x.only.Values
	return out
}

// join adds a finding.
func (x *sheet) join(f *finding.Finding, def *finding.Def) {
	fresh, e := x.findings == 0, &f.Evidence
	if fresh || e.First < x.first {
		x.first, x.start = e.First, e.Start
	}
	if fresh || e.Last > x.last {
		x.last, x.end = e.Last, e.End
	}
	x.count += float64(f.Evidence.Count)
	x.findings++
	if f.Flow.Valid() {
		x.flows++
	}
	if f.Host.IsValid() {
		x.hosts++
	}
	for i := range min(len(def.Metrics), len(f.Values)) {
		if i == len(x.values) {
			x.values = append(x.values, finding.Value{})
		}
		x.values[i] = merged(&def.Metrics[i], x.values[i], f.Values[i], fresh)
	}
}

// value is a figure by its place among the code's metrics; nil: it has none.
func (x *sheet) value(i int) *finding.Value {
	values := x.values
	if x.only != nil {
		values = x.only.Values
	}
	if i < len(values) {
		return &values[i]
	}
	return nil
}

func (x *sheet) num(i int) float64 {
	if v := x.value(i); v != nil {
		return v.Num
	}
	return 0
}

func (x *sheet) text(i int) string {
	if v := x.value(i); v != nil {
		return v.Text
	}
	return ""
}

// merged joins a figure with those of other conversations. Within one, First and
// Last are the figures of the whole conversation: over several the worst counts, and
// stalled time adds up. A number that names something stays with the words beside it.
func merged(m *finding.Metric, before, now finding.Value, fresh bool) finding.Value {
	if m.Text {
		if !fresh && before.Text != "" {
			return before
		}
		return finding.Value{Text: now.Text}
	}
	if fresh {
		return finding.Value{Num: now.Num}
	}
	switch m.Merge {
	case finding.Sum:
		before.Num += now.Num
	case finding.Max:
		before.Num = max(before.Num, now.Num)
	case finding.Min:
		before.Num = min(before.Num, now.Num)
	case finding.First, finding.Last:
		switch {
		case strings.HasSuffix(m.Name, "stalled_seconds"):
			before.Num += now.Num
		case !names(m):
			before.Num = max(before.Num, now.Num)
		}
	}
	return before
}

// names reports whether a number is no amount but the name of an error.
func names(m *finding.Metric) bool {
	switch m.Name {
	case "code", "error_code", "error_number", "numeric", "result":
		return m.Merge == finding.First
	}
	return false
}

// codeFact is what every code has besides the metrics of its Def.
type codeFact struct {
	name string
	get  func(x *sheet) float64
}

func codeFacts() []codeFact {
	return []codeFact{
		{factCount, func(x *sheet) float64 { return x.count }},
		{factFlows, func(x *sheet) float64 { return x.flows }},
		{factHosts, func(x *sheet) float64 { return x.hosts }},
		{factFindings, func(x *sheet) float64 { return x.findings }},
		{factFirstFrame, func(x *sheet) float64 { return float64(x.first) }},
		{factLastFrame, func(x *sheet) float64 { return float64(x.last) }},
		{factSpan, func(x *sheet) float64 { return max(0, seconds(x.end-x.start)) }},
	}
}
