package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Sizes below which there is nothing worth drawing.
const minWidth, minHeight = 60, 12

// draw lays the screen out, at most height lines of at most width columns.
func (m *model) draw() string {
	if m.width < minWidth || m.height < minHeight {
		return terminal.Clip(fmt.Sprintf("netwhy: %d×%d is too small", m.width, m.height), max(m.width, 1))
	}
	var lines []string
	switch {
	case m.help:
		for _, line := range m.helpLines() {
			lines = append(lines, m.clip(terminal.Plain, line))
		}
	case m.detail && m.choice() != nil:
		lines = m.detailLines()
	default:
		lines = m.overview()
	}
	foot := m.foot()
	room := m.height - 1
	if len(lines) > room {
		lines = lines[:room]
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, foot), "\n")
}

func (m *model) paint() terminal.Paint { return terminal.Paint(m.opt.Colour) }

// clip cuts a text to the width and marks it.
func (m *model) clip(style terminal.Style, s string) string {
	return m.paint().As(style, terminal.Clip(s, m.width))
}

func (m *model) overview() []string {
	lines := m.head()
	lines = append(lines, m.graph()...)
	room := m.height - 1 - len(lines)
	below := min(max((room-2)/3, 3), 8) // talkers and services, side by side
	lines = append(lines, m.diagnosisLines(room-below-1)...)
	return append(lines, m.tables(below)...)
}

// head is what goes through, in two lines.
func (m *model) head() []string {
	s := m.last
	if s == nil {
		return []string{m.clip(terminal.Bold, "netwhy  "+m.opt.Interfaces), "waiting for the first second"}
	}
	var r rate
	if n := len(m.rates); n > 0 {
		r = m.rates[n-1]
	}
	title := fmt.Sprintf("netwhy  %s  %s", m.opt.Interfaces, s.At.Sub(m.began).Round(time.Second))
	if m.paused {
		title += "  PAUSED"
	}
	traffic := fmt.Sprintf("%s packets  %s  %s/s  %sbit/s  %d open", humanize.Comma(int64(s.Packets)), humanize.IBytes(s.Bytes), //nolint:gosec // below 9 trillion
		number(r.packets), number(8*r.bytes), s.Open)
	lines := []string{m.clip(terminal.Bold, title), m.clip(terminal.Plain, traffic)}
	drops := fmt.Sprintf("dropped: kernel %d  interface %d  queue %d   queue %d/%d", s.Kernel, s.Interface, s.Queue, s.Used, s.Size)
	style := terminal.Dim
	if s.drops() > 0 || s.Unread > 0 {
		style = terminal.Yellow
	}
	if s.Unread > 0 {
		drops += fmt.Sprintf("   payload unread: %d", s.Unread)
	}
	if s.Recording != "" {
		drops += "   " + s.Recording
	}
	return append(lines, m.clip(style, drops))
}

// number writes a rate with at most four characters and a unit.
func number(v float64) string {
	value, unit := humanize.ComputeSI(v)
	return fmt.Sprintf("%.3g %s", value, unit)
}

// bars are eighths of a line.
const bars = " ▁▂▃▄▅▆▇█"

// graph draws one column a second: packets, and where drops were, below them.
func (m *model) graph() []string {
	const label = 9
	columns := m.width - label
	rates := m.rates[max(0, len(m.rates)-columns):]
	top, topDrops := 1.0, 0.0
	for _, r := range rates {
		top, topDrops = max(top, r.packets), max(topDrops, r.drops)
	}
	eighths := []rune(bars)
	var traffic, drops strings.Builder
	for _, r := range rates {
		traffic.WriteRune(eighths[min(8, int(r.packets/top*8+0.5))])
		mark := ' '
		if r.drops > 0 {
			mark = eighths[min(8, 1+int(r.drops/topDrops*7))]
		}
		drops.WriteRune(mark)
	}
	p := m.paint()
	lines := []string{fmt.Sprintf("%-*s", label, number(top)+"/s") + p.As(terminal.Cyan, traffic.String())}
	if topDrops > 0 {
		lines = append(lines, fmt.Sprintf("%-*s", label, "drops")+p.As(terminal.Red, drops.String()))
	}
	return lines
}

func severityStyle(s finding.Severity) terminal.Style {
	switch s {
	case finding.Critical:
		return terminal.Red
	case finding.Warning:
		return terminal.Yellow
	case finding.Info, finding.Notice:
	}
	return terminal.Plain
}

func (m *model) title(p pane, text string) string {
	style := terminal.Dim
	if m.pane == p {
		style = terminal.Bold
	}
	return m.paint().As(style, text)
}

// diagnosisLines lists diagnoses, with the chosen one in sight.
func (m *model) diagnosisLines(room int) []string {
	list := m.list()
	lines := []string{m.title(diagnoses, fmt.Sprintf("── diagnoses (%d) ", len(list)))}
	if len(list) == 0 {
		return fill(append(lines, "   nothing so far"), room)
	}
	at, show := m.place(), max(room-1, 1)
	first := min(max(0, at-show/2), max(0, len(list)-show))
	for i := first; i < len(list) && i < first+show; i++ {
		d := &list[i]
		cursor := "  "
		if i == at && m.pane == diagnoses {
			cursor = "> "
		}
		text := fmt.Sprintf("%s%-4s %-8s %s", cursor, d.ID, d.Severity, d.Title)
		if d.Impact.Connections > 1 {
			text = fmt.Sprintf("%s%-4s %-8s %d× %s", cursor, d.ID, d.Severity, d.Impact.Connections, d.Title)
		}
		lines = append(lines, m.clip(severityStyle(d.Severity), text))
	}
	return fill(lines, room)
}

func fill(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:max(n, 1)]
}

// tables are talkers and services, side by side.
func (m *model) tables(room int) []string {
	half := m.width / 2
	left := []string{m.title(talkers, cell("── top talkers ", half-1))}
	right := []string{m.title(services, cell("── slowest services ", m.width-half))}
	if m.last != nil {
		for _, t := range m.last.Talkers[:min(len(m.last.Talkers), room-1)] {
			name := t.Host
			if t.Name != "" {
				name += " " + t.Name
			}
			figures := fmt.Sprintf("%7s %8s/s", humanize.IBytes(t.Bytes), strings.ReplaceAll(number(8*t.Rate), " ", "")+"b")
			left = append(left, cell("  "+name, half-2-len(figures))+" "+figures)
		}
		for _, s := range m.last.Services[:min(len(m.last.Services), room-1)] {
			name := s.Addr
			if s.App != "" {
				name += " " + s.App
			}
			if s.Name != "" {
				name += " " + s.Name
			}
			figures := fmt.Sprintf("%7s max %7s", brief(s.Mean), brief(s.Worst))
			right = append(right, cell("  "+name, m.width-half-1-len(figures))+" "+figures)
		}
	}
	left, right = fill(left, room), fill(right, room)
	lines := make([]string, room)
	for i := range lines {
		l := left[i]
		if l == "" {
			l = strings.Repeat(" ", half-1)
		}
		lines[i] = l + " " + right[i]
	}
	return lines
}

// cell is a text of exactly so many columns.
func cell(s string, width int) string {
	s = terminal.Clip(s, max(width, 1))
	return s + strings.Repeat(" ", max(0, width-terminal.Width(s)))
}

func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%dµs", d.Microseconds())
}

// detailLines tell one diagnosis to its frames.
func (m *model) detailLines() []string {
	d := m.choice()
	var all []string
	add := func(style terminal.Style, indent int, text string) {
		for _, line := range wrap(text, m.width-indent) {
			all = append(all, strings.Repeat(" ", indent)+m.paint().As(style, line))
		}
	}
	add(severityStyle(d.Severity), 0, fmt.Sprintf("%s %s: %s", d.ID, d.Severity, d.Title))
	add(terminal.Dim, 0, fmt.Sprintf("%s, culprit %s, confidence %.0f%%", d.Cause, d.Culprit, 100*d.Confidence))
	all = append(all, "")
	add(terminal.Plain, 0, d.Explanation)
	for _, r := range d.Remedies {
		add(terminal.Green, 2, "- "+r)
	}
	const most = 8
	all = append(all, "", m.paint().As(terminal.Bold, "Connections"))
	for i, c := range d.Connections {
		if i == most {
			add(terminal.Dim, 2, fmt.Sprintf("and %d more", len(d.Connections)-most))
			break
		}
		add(terminal.Plain, 2, fmt.Sprintf("%s %s -> %s  (%s.stream %d)", c.Proto, c.Client, c.Server, c.Proto, c.Stream))
	}
	all = append(all, "", m.paint().As(terminal.Bold, "Symptoms and their frames"))
	for i, id := range d.Evidence {
		if i == most {
			add(terminal.Dim, 2, fmt.Sprintf("and %d more", len(d.Evidence)-most))
			break
		}
		if f := m.last.Report.FindingByID(id); f != nil {
			add(terminal.Plain, 2, fmt.Sprintf("%s %s: %d times, frames %s", f.ID, f.Code, f.Count, frames(f)))
		}
	}
	if d.NextStep != nil {
		all = append(all, "")
		add(terminal.Plain, 0, "Next: "+d.NextStep.Command)
		add(terminal.Dim, 2, d.NextStep.TellsApart)
	}
	m.scroll = min(m.scroll, max(0, len(all)-(m.height-1)))
	return all[m.scroll:]
}

func frames(f *report.Finding) string {
	const most = 8
	var b strings.Builder
	for i, n := range f.Frames {
		if i == most {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// wrap breaks a text at spaces into lines of at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(terminal.Printable(text)) {
		for terminal.Width(word) > width { // longer than a line: cut hard
			head := terminal.Clip(word, width)
			lines = append(lines, head)
			word = ""
		}
		switch {
		case line == "":
			line = word
		case terminal.Width(line)+1+terminal.Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

func (*model) helpLines() []string {
	return []string{
		"Keys", "",
		"  ↑ ↓ k j      choose a diagnosis; scroll in its details",
		"  PgUp PgDn    ten at once;  g G  first and last",
		"  Enter →      details: explanation, remedies, connections, frames",
		"  Esc ←        back",
		"  Tab          next list",
		"  p Space      hold the screen; the analysis goes on",
		"  ?            this help",
		"  q            end, with the full report",
		"  Ctrl-C       the same; twice: at once", "",
		"The graph has one column a second: packets above, drops below.",
		"Frames and streams are numbered as Wireshark numbers a recording (-w).",
	}
}

func (m *model) foot() string {
	left := " ? help  q end"
	if m.detail || m.help {
		left = " Esc back  ? help  q end"
	}
	right := m.log
	if m.last != nil && m.last.AI != "" {
		left += "  │ AI " + m.last.AI
	}
	if right != "" {
		left += "  │ " + right
	}
	return m.clip(terminal.Dim, left)
}
