package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
)

// icmp names counters, and the end of a connection that ICMP put an end to.
const icmp = "icmp"

// page is what the template shows. Every text in it is made printable; the
// template escapes it for its place.
type page struct {
	P          *phrases
	Policy     string
	Style      template.HTML
	ScriptTag  template.HTML
	DataTag    template.HTML
	Version    string
	Title      string
	Level      string // severity of the verdict; "healthy" or "empty"
	Verdict    string
	Source     string
	Notices    []string
	Traffic    template.HTML
	Diagnoses  []diagnosis
	NotJudged  []string
	Trust      []string
	Counters   []counterGroup
	AI         []string
	NoPictures bool

	r     *report.Report
	words lang.Words
	data  pageData
}

type counterGroup struct {
	Name string
	Rows []counter
}

type counter struct {
	Name  string
	Count uint64
}

type diagnosis struct {
	ID, Cause, Title, Level, Severity, Blame, Sure string
	Percent                                        int
	Who, Cost                                      []string
	Why                                            string
	Proof                                          []proof
	Filter                                         string
	File                                           string
	Digest                                         string
	Not                                            []fact
	Mind, Do, See                                  []string
	NextCommand, NextTells                         string
	About                                          string
	Alternatives                                   []fact
	Looks                                          []fact
	Ledger                                         template.HTML
	LedgerRows                                     []ledgerRow
	Ladder                                         template.HTML
	Rows                                           []ladderRow
	Plots                                          []plot
}

type proof struct{ ID, Code, Text string }

type fact struct{ Name, Text string }

type ledgerRow struct{ Part, Class, Time string }

type plot struct{ Key, Name string }

// What is shown of long lists.
const (
	maxFrames      = 32
	maxConnections = 8
	maxEvidence    = 12
	maxNotices     = 50
	maxFigure      = 80 // columns of one figure: texts from packets can be long
)

func newPage(r *report.Report, p *phrases) (*page, error) {
	g := &page{P: p, r: r, words: lang.Of(p.Lang), Version: terminal.Printable(r.Version), NoPictures: r.NoPictures}
	g.head()
	g.Traffic = g.timeline()
	for i := range r.Diagnoses {
		g.Diagnoses = append(g.Diagnoses, g.diagnosis(&r.Diagnoses[i]))
	}
	g.foot()
	g.collect()
	if err := g.parts(); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *page) head() {
	r, p := g.r, g.P
	switch {
	case r.Source.Packets == 0:
		g.Level, g.Verdict = "empty", p.NoFrames
	case len(r.Diagnoses) == 0 || r.Healthy():
		g.Level, g.Verdict = "healthy", p.Healthy
		if n := len(r.Diagnoses); n > 0 {
			g.Verdict += fmt.Sprintf(p.Notices, n)
		}
	default:
		g.Level, g.Verdict = r.Diagnoses[0].Severity.String(), terminal.Printable(r.Diagnoses[0].Title)
	}
	g.Title = p.Title + ": " + names(r)
	parts := []string{names(r), fmt.Sprintf(p.Frames, r.Source.Packets), bytesOf(float64(r.Source.Bytes))}
	if r.Source.First != nil && r.Source.Last != nil {
		parts = append(parts, seconds(report.Seconds(int64(*r.Source.Last-*r.Source.First))), r.Source.First.String())
	}
	parts = append(parts, fmt.Sprintf("%d TCP, %d UDP", r.Counters.Connections.TCP, r.Counters.Connections.UDP))
	g.Source = strings.Join(parts, " · ")
	if r.Interrupted != "" {
		g.Notices = append(g.Notices, p.Interrupted)
	}
	for _, why := range r.LeftOut {
		g.notice("%s: %s", p.LeftOut, terminal.Printable(g.words.Error(why)))
	}
	if t := r.Source.Truncated; t != nil {
		g.notice(p.Truncated, t.Frame, t.Offset, terminal.Printable(g.words.Error(t.Reason)))
	}
	if n := r.Source.Dropped.Total(); n > 0 {
		g.notice(p.Dropped, n)
	}
}

func (g *page) notice(format string, args ...any) {
	if len(g.Notices) < maxNotices {
		g.Notices = append(g.Notices, fmt.Sprintf(format, args...))
	}
}

func names(r *report.Report) string {
	list := make([]string, 0, len(r.Source.Names))
	for _, n := range r.Source.Names {
		list = append(list, terminal.Printable(n))
	}
	return strings.Join(list, ", ")
}

func (g *page) diagnosis(d *report.Diagnosis) diagnosis {
	p := g.P
	const percent = 100
	out := diagnosis{
		ID: d.ID, Cause: terminal.Printable(d.Cause), Title: terminal.Printable(d.Title), Level: d.Severity.String(), Severity: p.Severity[min(int(d.Severity), len(p.Severity)-1)],
		Blame: terminal.Printable(word(p.Party, d.Culprit)), Percent: max(0, min(percent-1, int(d.Confidence*percent+0.5))), Why: terminal.Printable(d.Explanation),
		Filter: g.r.DisplayFilter(d, maxFrames), Do: printable(d.Remedies), See: printable(d.References), Mind: printable(d.Caveats),
	}
	out.Sure = fmt.Sprintf(p.Sure, out.Percent)
	for i, c := range d.Connections {
		if i == maxConnections {
			out.Who = append(out.Who, fmt.Sprintf(p.More, len(d.Connections)-i))
			break
		}
		out.Who = append(out.Who, terminal.Printable(fmt.Sprintf("%s → %s (%s.stream %d)", c.Client, c.Server, c.Proto, c.Stream)))
	}
	out.Cost = g.cost(&d.Impact)
	g.proof(d, &out)
	for _, x := range d.Excluded {
		out.Not = append(out.Not, fact{terminal.Printable(x.Cause), terminal.Printable(x.Because)})
	}
	if d.NextStep != nil {
		out.NextCommand, out.NextTells = terminal.Printable(d.NextStep.Command), terminal.Printable(d.NextStep.TellsApart)
	}
	if d.Source == "ai" {
		say := p.Otherwise
		switch own := g.r.DiagnosisByID(d.About); {
		case d.Agrees:
			say = p.Agrees
		case own != nil && own.Cause == d.Cause:
			say = p.NoCause
		}
		out.About = "AI: " + fmt.Sprintf(say, terminal.Printable(d.About))
	}
	for _, a := range d.Alternatives {
		out.Alternatives = append(out.Alternatives, fact{terminal.Printable(a.Cause), terminal.Printable(a.Why + " " + a.Command + " " + a.TellsApart)})
	}
	for _, l := range d.Looks {
		out.Looks = append(out.Looks, fact{terminal.Printable(l.Text), terminal.Printable(l.Filter)})
	}
	if d.Time != nil {
		out.Ledger, out.LedgerRows = g.ledger(d.Time)
	}
	out.Ladder, out.Rows = g.ladder(d)
	for _, c := range d.Connections {
		if key, t := g.traceOf(&c); t != nil && len(t.Frames) > 1 && t.ID.Proto == protoTCP && len(out.Plots) < maxPlots {
			out.Plots = append(out.Plots, plot{Key: key, Name: terminal.Printable(fmt.Sprintf("%s → %s (tcp.stream %d)", c.Client, c.Server, c.Stream))})
		}
	}
	return out
}

func (g *page) cost(i *report.Impact) []string {
	var out []string
	if i.StalledSeconds > 0 {
		out = append(out, fmt.Sprintf(g.P.Lost, seconds(i.StalledSeconds)))
	}
	if i.Failed > 0 {
		out = append(out, fmt.Sprintf(g.P.Failed, i.Failed))
	}
	if i.Connections > 0 {
		out = append(out, fmt.Sprintf(g.P.Touched, i.Connections))
	}
	return out
}

func (g *page) proof(d *report.Diagnosis, out *diagnosis) {
	for _, id := range d.Evidence {
		if len(out.Proof) == maxEvidence {
			out.Proof = append(out.Proof, proof{Text: fmt.Sprintf(g.P.More, len(d.Evidence)-maxEvidence)})
			break
		}
		f := g.r.FindingByID(id)
		if f == nil {
			continue
		}
		span := strconv.FormatUint(f.FirstFrame, 10)
		if f.LastFrame != f.FirstFrame {
			span += "–" + strconv.FormatUint(f.LastFrame, 10)
		}
		out.Proof = append(out.Proof, proof{ID: f.ID, Code: terminal.Printable(f.Code), Text: g.told(f, span)})
	}
	if d.File != nil {
		out.File, out.Digest = terminal.Printable(d.File.Name), d.File.SHA256
	}
}

// told says how often a symptom was seen, in which frames, and its first figures.
func (g *page) told(f *report.Finding, span string) string {
	const most = 4
	parts := []string{fmt.Sprintf("×%d", f.Count), strings.ToLower(g.P.Frame) + " " + span}
	for i, x := range figures.Of(f, g.r.Codes, g.words) {
		if i == most {
			break
		}
		parts = append(parts, terminal.Clip(x.String(), maxFigure))
	}
	parts = append(parts, printable(f.Caveats)...)
	return strings.Join(parts, ", ")
}

func (g *page) foot() {
	r, p := g.r, g.P
	for _, line := range r.NotAssessed {
		g.NotJudged = append(g.NotJudged, terminal.Printable(g.words.NotAssessed(line)))
	}
	t := &r.Trust
	add := func(when bool, format string, args ...any) {
		if when {
			g.Trust = append(g.Trust, fmt.Sprintf(format, args...))
		}
	}
	add(t.Vantage != "" && t.Vantage != "unknown", p.Vantage, word(p.Party, t.Vantage))
	add(t.Duplicates > 0, p.Copies, t.Duplicates)
	add(t.TimeReversals > 0, p.Reversals, t.TimeReversals)
	add(t.Gaps > 0, p.Gaps, t.Gaps)
	add(t.OneSided, "%s", p.OneSided)
	add(t.BeginsMidConnection > 0, p.MidStream, t.BeginsMidConnection)
	add(t.Offload, "%s", p.Offload)
	add(r.Hidden != report.Hidden{}, p.Hidden, r.Hidden.Findings, r.Hidden.Diagnoses)
	for _, c := range []struct {
		name string
		m    map[string]uint64
	}{
		{"protocols", r.Counters.Protocols},
		{"tcp", r.Counters.TCP},
		{"dns_rcode", r.Counters.DNSRcode},
		{icmp, r.Counters.ICMP},
		{"icmpv6", r.Counters.ICMPv6},
		{"tls_alert", r.Counters.TLSAlert},
		{"http_status", r.Counters.HTTPStatus},
	} {
		if rows := counted(c.m); len(rows) > 0 {
			g.Counters = append(g.Counters, counterGroup{c.name, rows})
		}
	}
	if a := r.AI; a != nil {
		g.AI = append(g.AI, terminal.Printable(strings.Join(strings.Fields(g.words.Value("state", a.State)+" "+a.Provider+" "+a.Model+" "+a.Reason), " ")))
		if n := len(a.RejectedClaims); n > 0 {
			g.AI = append(g.AI, fmt.Sprintf(p.Rejected, n))
		}
		g.AI = append(g.AI, printable(a.Notices)...)
	}
}

func counted(m map[string]uint64) []counter {
	var rows []counter
	for k, n := range m {
		if n > 0 {
			rows = append(rows, counter{terminal.Printable(k), n})
		}
	}
	slices.SortFunc(rows, func(a, b counter) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return rows
}

func printable(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, terminal.Printable(s))
	}
	return out
}

// seconds writes a duration with three digits and the unit that suits it.
func seconds(s float64) string {
	const milli, micro = 1e-3, 1e-6
	switch a := max(s, -s); {
	case a == 0:
		return "0 s"
	case a < milli:
		return strconv.FormatFloat(s/micro, 'g', 3, 64) + " µs"
	case a < 1:
		return strconv.FormatFloat(s/milli, 'g', 3, 64) + " ms"
	case a < 1000:
		return strconv.FormatFloat(s, 'g', 3, 64) + " s"
	default:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	}
}

func bytesOf(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1000
	}
	return strconv.FormatFloat(n, 'g', 3, 64) + " " + units[i]
}

// levelOf names a severity for the style sheet.
func levelOf(s finding.Severity) string { return s.String() }

// partClass names a part of the ledger for the style sheet.
func partClass(i conn.Part) string { return "p" + strconv.Itoa(int(i)) }
