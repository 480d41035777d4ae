package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"netwhy/aidiag/internal/redact"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// Item is a finding under the id of the report.
type Item struct {
	ID      string
	Finding finding.Finding
	Def     finding.Def
	Cited   bool // by the rules' diagnosis
}

// Input is what a document is made from.
type Input struct {
	Local       diagnosis.Diagnosis
	Items       []Item
	Connections []conn.Summary // those concerned, worst first
	Trust       conn.Trust
	Known       func(diagnosis.Cause) bool // causes whose names may leave
	Table       *redact.Table
}

// Bounds before weighing, so that building costs little whatever the case.
const (
	maxFindings    = 64
	maxConnections = 12
	maxExcluded    = 8
	fewFrames      = 4  // of each finding, always
	manyFrames     = 20 // of each finding, when there is room
	maxMeaning     = 160
)

// BytesPerToken is how many bytes of such a document make a token at least
// (measured with o200k: 2.11).
const BytesPerToken = 2

// Build makes the largest document of at most tokens.
func Build(in Input, tokens int) *Doc {
	b := &builder{in: in, doc: &Doc{LeftOut: []string{}}, lost: map[string]int{}}
	b.verdict()
	b.findings()
	b.connections()
	b.capture()
	b.shrink(tokens * BytesPerToken)
	return b.doc
}

type builder struct {
	in   Input
	doc  *Doc
	cuts []cut
	lost map[string]int // what was left out, by kind
}

// cut takes one fact away. Lighter facts go first.
type cut struct {
	weight int
	kind   string // for LeftOut
	do     func()
}

// Weights of facts, lightest first. Severity and rank add to them.
const (
	weightMeaning = 100
	weightFrames  = 200
	weightOther   = 300 // a finding that the rules do not cite
	weightFigures = 350 // of a connection
	weightConn    = 420
	weightRivals  = 500
	weightCapture = 550
	weightCited   = 600
	perSeverity   = 15
)

func (b *builder) shrink(size int) {
	slices.SortStableFunc(b.cuts, func(x, y cut) int { return cmp.Compare(x.weight, y.weight) })
	b.note()
	for _, c := range b.cuts {
		if len(b.doc.JSON()) <= size {
			return
		}
		c.do()
		b.lost[c.kind]++
		b.note()
	}
}

func (b *builder) note() {
	b.doc.LeftOut = []string{}
	for _, k := range slices.Sorted(maps.Keys(b.lost)) {
		b.doc.LeftOut = append(b.doc.LeftOut, fmt.Sprintf("%d %s", b.lost[k], k))
	}
}

func (b *builder) verdict() {
	l := b.in.Local
	v := Verdict{
		Cause: b.cause(l.Cause), Culprit: string(l.Culprit), Severity: l.Severity.String(), Confidence: round(l.Confidence),
		Evidence: []string{},
	}
	for _, it := range b.in.Items {
		if it.Cited {
			v.Evidence = append(v.Evidence, it.ID)
		}
	}
	for _, e := range l.Excluded[:min(len(l.Excluded), maxExcluded)] {
		v.Excluded = append(v.Excluded, b.cause(e.Cause))
	}
	v.Impact = Facts{}
	v.Impact.num("connections", float64(l.Impact.Connections))
	v.Impact.num("stalled_seconds", l.Impact.StalledSeconds)
	v.Impact.num("failed", float64(l.Impact.Failed))
	if l.Ledger != nil {
		v.Seconds = Facts{}
		v.Seconds.num("total", seconds(l.Ledger.Total))
		for p, ns := range l.Ledger.Part {
			v.Seconds.num(conn.PartNames[p], seconds(ns))
		}
	}
	b.doc.Rules = v
	if len(v.Excluded) > 0 {
		b.cuts = append(b.cuts, cut{weightRivals, "excluded rivals", func() { b.doc.Rules.Excluded = nil }})
	}
}

// Other is what a cause is called whose name may not leave.
const Other = "other"

// cause lets only names leave that everybody has: a rule of one's own may name
// what is nobody's business.
func (b *builder) cause(c diagnosis.Cause) string {
	if b.in.Known != nil && b.in.Known(c) {
		return string(c)
	}
	return Other
}

func (b *builder) findings() {
	items := slices.Clone(b.in.Items)
	slices.SortStableFunc(items, func(x, y Item) int {
		if x.Cited != y.Cited {
			if x.Cited {
				return -1
			}
			return 1
		}
		return cmp.Compare(y.Finding.Severity, x.Finding.Severity)
	})
	if n := len(items) - maxFindings; n > 0 {
		b.lost["findings of less weight"] = n
		items = items[:maxFindings]
	}
	start := int64(math.MaxInt64)
	for _, it := range items {
		start = min(start, it.Finding.Evidence.Start)
	}
	told := map[finding.Code]bool{} // each code is explained once
	for rank, it := range items {
		if told[it.Finding.Code] {
			it.Def.Doc = ""
		}
		told[it.Finding.Code] = true
		b.doc.Findings = append(b.doc.Findings, b.finding(it, start))
		id, sev := it.ID, int(it.Finding.Severity)*perSeverity
		at := func(change func(f *Finding)) func() {
			return func() {
				for i := range b.doc.Findings {
					if b.doc.Findings[i].ID == id {
						change(&b.doc.Findings[i])
					}
				}
			}
		}
		if it.Def.Doc != "" {
			b.cuts = append(b.cuts, cut{weightMeaning + sev - rank, "explanations of codes", at(func(f *Finding) { f.Meaning = "" })})
		}
		if len(it.Finding.Evidence.Frames) > fewFrames {
			b.cuts = append(b.cuts, cut{weightFrames + sev - rank, "longer lists of frames", at(func(f *Finding) { f.Frames = few(f.Frames, fewFrames) })})
		}
		if rank == 0 {
			continue // the heaviest stays whatever happens
		}
		weight := weightOther
		if it.Cited {
			weight = weightCited
		}
		b.cuts = append(b.cuts, cut{weight + sev - rank, "findings of less weight", func() {
			b.doc.Findings = slices.DeleteFunc(b.doc.Findings, func(f Finding) bool { return f.ID == id })
			b.doc.Rules.Evidence = slices.DeleteFunc(b.doc.Rules.Evidence, func(s string) bool { return s == id })
		}})
	}
}

func (b *builder) finding(it Item, start int64) Finding {
	f, e := it.Finding, it.Finding.Evidence
	out := Finding{
		ID: it.ID, Code: string(f.Code), Severity: f.Severity.String(), Count: e.Count, First: e.First, Last: e.Last,
		Frames: few(e.Frames, manyFrames), Start: round(seconds(e.Start - start)), Lasts: round(seconds(e.End - e.Start)),
		Meaning: redact.Clean(it.Def.Doc, maxMeaning),
	}
	if f.Flow.Valid() {
		out.Connection = flowID(f.Flow)
	}
	if f.Host.IsValid() {
		out.Host = b.in.Table.Addr(f.Host)
	}
	if n := min(len(f.Values), len(it.Def.Metrics)); n > 0 {
		out.Metrics = Facts{}
		for i, m := range it.Def.Metrics[:n] {
			if m.Text {
				out.Metrics.word(m.Name, b.in.Table.Text(m.Name, f.Values[i].Text))
			} else {
				out.Metrics.num(m.Name, f.Values[i].Num)
			}
		}
	}
	return out
}

// few keeps n frames, the first and the last among them.
func few(frames []uint64, n int) []uint64 {
	if len(frames) <= n {
		return append([]uint64{}, frames...)
	}
	return append(slices.Clone(frames[:n-1]), frames[len(frames)-1])
}

func flowID(id flow.ID) string {
	name := "udp"
	if id.Proto == flow.TCP {
		name = "tcp"
	}
	return fmt.Sprintf("%s-%d", name, id.Stream)
}

func (b *builder) connections() {
	list := b.in.Connections
	if n := len(list) - maxConnections; n > 0 {
		b.lost["connections"] = n
		list = list[:maxConnections]
	}
	for rank := range list {
		c := b.conn(&list[rank])
		b.doc.Connections = append(b.doc.Connections, c)
		b.cuts = append(b.cuts,
			cut{weightFigures - rank*5, "figures of connections", func() { b.at(c.ID, func(c *Conn) { c.Ends = Sides{} }) }},
			cut{weightConn - rank*5, "connections", func() {
				b.doc.Connections = slices.DeleteFunc(b.doc.Connections, func(x Conn) bool { return x.ID == c.ID })
			}})
	}
}

func (b *builder) at(id string, change func(*Conn)) {
	for i := range b.doc.Connections {
		if b.doc.Connections[i].ID == id {
			change(&b.doc.Connections[i])
		}
	}
}

func (b *builder) conn(s *conn.Summary) Conn {
	t := b.in.Table
	f := Facts{}
	f.word("app", t.Text("app", s.App))
	f.word("server_name", t.Host(s.Name))
	f.word("end", string(s.End))
	f.num("lasts_s", seconds(s.Stop-s.Start))
	f.num("handshake_ms", millis(s.Handshake))
	f.num("syns", float64(s.SYNs))
	f.flag("established", s.Established)
	f.flag("client_unsure", !s.ClientKnown)
	f.flag("begins_in_the_middle", s.MidStream)
	f.flag("one_direction_only", s.OneSided)
	f.num("exchanges", float64(s.Exchanges))
	f.num("failed_exchanges", float64(s.FailedExchanges))
	if w := s.Worst; w != nil {
		if redact.Allowed(w.Code) {
			f.word("worst_code", w.Code)
		}
		for p, ns := range w.Ledger.Part {
			f.num("worst_"+conn.PartNames[p]+"_s", seconds(ns))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.Attr)) {
		if v := s.Attr[k]; redact.Allowed(v) && redact.Allowed(strings.SplitN(k, ".", 2)[0]) && len(k) < 32 {
			f.word(k, v)
		}
	}
	return Conn{
		ID: flowID(s.ID), Client: t.Port(s.Client.Addr), Server: t.Port(s.Server.Addr), Facts: f,
		Ends: Sides{Client: side(&s.Client), Server: side(&s.Server)},
	}
}

func side(s *conn.Side) Facts {
	f := Facts{}
	f.num("packets", float64(s.Packets))
	f.num("bytes", float64(s.Bytes))
	f.num("retransmissions", float64(s.Retransmits))
	f.num("fast_retransmissions", float64(s.FastRetrans))
	f.num("spurious_retransmissions", float64(s.Spurious))
	f.num("out_of_order", float64(s.OutOfOrder))
	f.num("gaps", float64(s.LostSegments))
	f.num("duplicate_acks", float64(s.DupAcks))
	f.num("timeouts", float64(s.Timeouts))
	f.num("zero_windows", float64(s.ZeroWindows))
	f.num("window_full", float64(s.WindowFulls))
	f.num("keep_alives", float64(s.KeepAlives))
	f.num("zero_window_s", seconds(s.ZeroWindowTime))
	f.num("loss_stall_s", seconds(s.LossStall))
	f.num("max_window", float64(s.MaxWindow))
	f.num("max_in_flight", float64(s.MaxInFlight))
	f.num("mss", float64(s.MSS))
	f.num("ttl", float64(s.TTL))
	f.num("bad_checksums", float64(s.BadChecksums))
	if s.RTT.Samples > 0 {
		f.num("rtt_median_ms", millis(s.RTT.Median))
		f.num("rtt_p95_ms", millis(s.RTT.P95))
	}
	f.flag("fin", s.Fin)
	f.flag("rst", s.Rst)
	return f
}

func (b *builder) capture() {
	t := b.in.Trust
	f := Facts{}
	if redact.Allowed(t.Vantage) {
		f.word("vantage", t.Vantage)
	}
	f.num("duplicate_frames", float64(t.Duplicates))
	f.flag("segmentation_offload", t.Offload)
	f.num("time_reversals", float64(t.TimeReversals))
	f.num("missing_segments", float64(t.Gaps))
	f.flag("one_direction_only", t.OneSided)
	f.num("open_at_begin", float64(t.BeginsMidConnection))
	f.num("cut_frames", float64(t.Snapped))
	f.num("dropped_frames", float64(t.Dropped))
	b.doc.Capture = f
	b.cuts = append(b.cuts, cut{weightCapture, "facts about the capture", func() { b.doc.Capture = nil }})
}

func (f Facts) num(name string, v float64) {
	if v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		f[name] = round(v)
	}
}

func (f Facts) word(name, v string) {
	if v != "" {
		f[name] = v
	}
}

func (f Facts) flag(name string, v bool) {
	if v {
		f[name] = true
	}
}

// round keeps whole numbers and four digits behind the point, or four
// significant ones of small numbers.
func round(v float64) float64 {
	if v == math.Trunc(v) {
		return v
	}
	unit := 1e4
	for v != 0 && math.Abs(v)*unit < 1000 && unit < 1e12 {
		unit *= 10
	}
	return math.Round(v*unit) / unit
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }
func millis(ns int64) float64  { return float64(ns) / float64(time.Millisecond) }
