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
	joins [][]way // by the number of the code: how its figures are joined; nil: not asked yet
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
	v := &view{set: s, in: in, codes: codes, sheet: make([]sheet, len(s.schema.codes)), joins: make([][]way, len(s.schema.codes))}
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
		x, f := &v.sheet[n], &v.in.Findings[i]
		switch {
		case x.only != nil:
			if v.joins[n] == nil {
				v.joins[n] = waysOf(v.set.schema.order[n])
			}
			x.join(x.only, v.joins[n])
			x.only = nil
			x.join(f, v.joins[n])
		case x.findings > 0:
			x.join(f, v.joins[n])
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
	out.join(x.only, nil)
	out.values = x.only.Values
	return out
}

// join adds a finding, whose figures are joined in their ways.
func (x *sheet) join(f *finding.Finding, ways []way) {
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
	for i := range min(len(ways), len(f.Values)) {
		if i == len(x.values) {
			x.values = append(x.values, finding.Value{})
		}
		ways[i].join(&x.values[i], &f.Values[i], fresh)
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

// way is how a figure is joined with those of other conversations. Within one, First
// and Last are the figures of the whole conversation: over several the worst counts,
// and stalled time adds up. A number that names something stays with the words beside
// it.
type way uint8

const (
	firstText way = iota // that is not empty
	firstNumber
	sum
	most
	least
)

// waysOf are those of a code's figures.
func waysOf(def *finding.Def) []way {
	out := make([]way, len(def.Metrics))
	for i := range def.Metrics {
		out[i] = wayOf(&def.Metrics[i])
	}
	return out
}

func wayOf(m *finding.Metric) way {
	switch {
	case m.Text:
		return firstText
	case m.Merge == finding.Sum:
		return sum
	case m.Merge == finding.Max:
		return most
	case m.Merge == finding.Min:
		return least
	case strings.HasSuffix(m.Name, "stalled_seconds"):
		return sum
	case names(m):
		return firstNumber
	}
	return most
}

func (w way) join(into, now *finding.Value, fresh bool) {
	switch {
	case w == firstText:
		if fresh || into.Text == "" {
			*into = finding.Value{Text: now.Text}
		}
	case fresh:
		*into = finding.Value{Num: now.Num}
	case w == sum:
		into.Num += now.Num
	case w == most:
		into.Num = max(into.Num, now.Num)
	case w == least:
		into.Num = min(into.Num, now.Num)
	}
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
