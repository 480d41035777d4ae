package text

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
)

// What is shown of long lists: enough to act on, the rest is in the JSON report.
const (
	maxConnections = 3
	maxEvidence    = 5
	maxFrames      = 8
	maxParts       = 5
	shortDigest    = 16 // digits of a digest that fit a line
)

func (p *page) diagnosis(n int, d *report.Diagnosis) {
	p.b.WriteByte('\n')
	p.title(n, d)
	p.lines(strings.Repeat(" ", labelIndent), strings.Repeat(" ", labelIndent), terminal.Bold, d.Title)
	p.who(d)
	p.labelled(p.say.cost, p.cost(d))
	p.labelled(p.say.why, d.Explanation)
	if d.Time != nil && d.Time.Total > 0 {
		p.labelled(p.say.time, p.ledger(d.Time))
	}
	p.proof(d)
	for i, x := range d.Excluded {
		label := ""
		if i == 0 {
			label = p.say.not
		}
		p.labelled(label, x.Cause+": "+x.Because)
	}
	for i, c := range d.Caveats {
		label := ""
		if i == 0 {
			label = p.say.caution
		}
		p.styled(label, terminal.Yellow, c)
	}
	p.remedies(d.Remedies)
	if d.NextStep != nil {
		p.command(p.say.next, d.NextStep.Command)
		if d.NextStep.TellsApart != "" {
			p.labelled("", p.say.tells+": "+d.NextStep.TellsApart)
		}
	}
	if len(d.References) > 0 {
		p.styled(p.say.see, terminal.Dim, strings.Join(d.References, "; "))
	}
}

// title: number, severity and cause on the left, who is to blame on the right.
func (p *page) title(n int, d *report.Diagnosis) {
	sev := upper(p.say.sev(d.Severity))
	left := fmt.Sprintf("%d. %s", n, sev)
	cause := terminal.Printable(d.Cause)
	right := fmt.Sprintf(p.say.culprit, word(p.say.party, d.Culprit)) + ", " + fmt.Sprintf(p.say.sure, percent(d.Confidence))
	right = terminal.Clip(right, terminal.Columns-labelIndent)
	gap := terminal.Columns - terminal.Width(left) - 2 - terminal.Width(cause) - terminal.Width(right)
	p.b.WriteString(p.paint.As(styleOf(d.Severity), left) + "  " + p.paint.As(terminal.Bold, cause))
	if gap < 2 {
		p.b.WriteString("\n" + strings.Repeat(" ", labelIndent) + right + "\n")
		return
	}
	p.b.WriteString(strings.Repeat(" ", gap) + right + "\n")
}

// percent never claims to be certain: confidence is computed, not known.
func percent(c float64) int { return max(0, min(99, int(c*100+0.5))) }

func (p *page) who(d *report.Diagnosis) {
	label := p.say.who
	for i, c := range d.Connections {
		if i == maxConnections {
			p.labelled("", fmt.Sprintf(p.say.andMore, max(len(d.Connections), d.Impact.Connections)-i))
			break
		}
		p.labelled(label, fmt.Sprintf("%s → %s (%s.stream %d)", c.Client, c.Server, c.Proto, c.Stream))
		label = ""
	}
	if len(d.Connections) > 0 {
		return
	}
	var hosts []string
	for _, id := range d.Evidence {
		if f := p.r.FindingByID(id); f != nil && f.Host != nil && !slices.Contains(hosts, *f.Host) {
			hosts = append(hosts, *f.Host)
		}
	}
	if len(hosts) > maxConnections {
		hosts = append(hosts[:maxConnections], fmt.Sprintf(p.say.andMore, len(hosts)-maxConnections))
	}
	if len(hosts) > 0 {
		p.labelled(label, strings.Join(hosts, ", "))
	}
}

func (p *page) cost(d *report.Diagnosis) string {
	var parts []string
	if d.Impact.StalledSeconds > 0 {
		parts = append(parts, fmt.Sprintf(p.say.stalled, figures.Seconds(int64(d.Impact.StalledSeconds*1e9))))
	}
	if d.Impact.Failed > 0 {
		parts = append(parts, fmt.Sprintf(p.say.failed, d.Impact.Failed))
	}
	switch n := d.Impact.Connections; {
	case n == 1:
		parts = append(parts, p.say.connection)
	case n > 1:
		parts = append(parts, fmt.Sprintf(p.say.connections, n))
	}
	return strings.Join(parts, ", ")
}

// ledger tells where the time of the worst exchange went, largest part first.
func (p *page) ledger(l *conn.Ledger) string {
	type part struct {
		name string
		ns   int64
	}
	var parts []part
	for i, ns := range l.Part {
		if ns > 0 {
			parts = append(parts, part{word(p.say.part, conn.PartNames[i]), ns})
		}
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].ns > parts[j].ns })
	var b strings.Builder
	b.WriteString(figures.Seconds(l.Total) + " =")
	for i, x := range parts {
		if i == maxParts {
			break
		}
		if i > 0 {
			b.WriteString(" +")
		}
		fmt.Fprintf(&b, " %s %s", x.name, figures.Seconds(x.ns))
	}
	if len(parts) > maxParts {
		b.WriteString(" + …")
	}
	return b.String()
}

// proof lists the findings and ends with what to paste into Wireshark.
func (p *page) proof(d *report.Diagnosis) {
	label := p.say.proof
	for i, id := range d.Evidence {
		if i == maxEvidence {
			p.labelled("", fmt.Sprintf(p.say.andMore, len(d.Evidence)-i))
			break
		}
		f := p.r.FindingByID(id)
		if f == nil {
			continue
		}
		p.labelled(label, p.finding(f))
		label = ""
	}
	p.styled(label, terminal.Dim, p.r.DisplayFilter(d, maxFrames))
	if d.File != nil {
		p.styled("", terminal.Dim, d.File.Name+", SHA-256 "+d.File.SHA256[:min(shortDigest, len(d.File.SHA256))]+"…")
	}
}

func (p *page) finding(f *report.Finding) string {
	var b strings.Builder
	b.WriteString(f.ID + " " + f.Code)
	if f.Count > 1 {
		b.WriteString(", " + fmt.Sprintf(p.say.times, figures.Grouped(int64(f.Count)))) //nolint:gosec // a count of occurrences
	}
	if f.FirstFrame == f.LastFrame {
		fmt.Fprintf(&b, ", %s %d", p.say.frameOne, f.FirstFrame)
	} else {
		fmt.Fprintf(&b, ", %s %d–%d", p.say.frameMany, f.FirstFrame, f.LastFrame)
	}
	if m := p.metrics(f); m != "" {
		b.WriteString(" (" + m + ")")
	}
	for _, c := range f.Caveats {
		b.WriteString("; " + c)
	}
	return b.String()
}

// metrics writes the first figures that say something.
func (p *page) metrics(f *report.Finding) string {
	const most = 4
	var out []string
	for _, x := range figures.Of(f, p.r.Codes, p.words) {
		if len(out) == most {
			break
		}
		out = append(out, x.String())
	}
	return strings.Join(out, ", ")
}

func (p *page) remedies(list []string) {
	label := p.say.do
	for i, text := range list {
		if len(list) > 1 {
			text = fmt.Sprintf("%d) %s", i+1, text)
		}
		p.labelled(label, text)
		label = ""
	}
}

// command writes a command so that it can be pasted into a shell as it stands,
// also when it takes several lines.
func (p *page) command(label, cmd string) {
	indent := strings.Repeat(" ", labelIndent+labelWidth)
	lines := wrap(cmd, terminal.Columns-len(indent)-len(" \\"))
	for i, line := range lines {
		tail := ""
		if i < len(lines)-1 {
			tail = " \\"
		}
		lead := indent
		if i == 0 {
			lead = strings.Repeat(" ", labelIndent) + p.paint.As(terminal.Cyan, label) + strings.Repeat(" ", max(1, labelWidth-terminal.Width(label)))
		}
		p.b.WriteString(lead + p.paint.As(terminal.Bold, line+tail) + "\n")
	}
}
