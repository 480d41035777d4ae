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
	case m.detail && m.connection != nil:
		lines = m.scrolled(m.connectionLines())
	case m.detail && m.choice() != nil:
		lines = m.scrolled(m.detailLines())
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
	below := m.share(room)
	lines = append(lines, m.diagnosisLines(room-below)...)
	return append(lines, m.tables(below)...)
}

// share is how many of the lines talkers and services get, side by side: what the
// diagnoses leave, at least a third, and two thirds while the user is there.
func (m *model) share(room int) int {
	const preview = 4
	rows := 3
	if m.last != nil {
		rows = max(rows, len(m.last.Talkers), len(m.last.Services))
	}
	least := max(room/3, 4)
	if m.pane != diagnoses {
		least = room * 2 / 3
	}
	return min(max(least, room-1-max(len(m.list()), 1)-preview), 1+rows, room-4)
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
	drops := fmt.Sprintf("lost: kernel %d  interface %d  queue %d   waiting: %d of %d batches", s.Kernel, s.Interface, s.Queue, s.Used, s.Size)
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
	const label, tall, taller = 9, 30, 3
	height := 1
	if m.height >= tall {
		height = taller
	}
	columns := m.width - label
	rates := m.rates[max(0, len(m.rates)-columns):]
	top, topDrops := 1.0, 0.0
	for _, r := range rates {
		top, topDrops = max(top, r.packets), max(topDrops, r.drops)
	}
	eighths := []rune(bars)
	p := m.paint()
	var lines []string
	for row := height - 1; row >= 0; row-- {
		var traffic strings.Builder
		for _, r := range rates {
			level := int(r.packets/top*float64(8*height)+0.5) - 8*row
			traffic.WriteRune(eighths[min(8, max(0, level))])
		}
		name := ""
		if row == height-1 {
			name = number(top) + "/s"
		}
		lines = append(lines, fmt.Sprintf("%-*s", label, name)+p.As(terminal.Cyan, traffic.String()))
	}
	var drops strings.Builder
	for _, r := range rates {
		mark := ' '
		if r.drops > 0 {
			mark = eighths[min(8, 1+int(r.drops/topDrops*7))]
		}
		drops.WriteRune(mark)
	}
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
	at := m.place()
	about := m.preview(&list[at], room-1-len(list))
	show := max(room-1-len(about), 1)
	first := min(max(0, at-show/2), max(0, len(list)-show))
	for i := first; i < len(list) && i < first+show; i++ {
		d := &list[i]
		cursor := "  "
		if i == at && m.pane == diagnoses {
			cursor = "> "
		}
		text := fmt.Sprintf("%s%-4s %-8s ", cursor, d.ID, d.Severity)
		if d.Impact.Connections > 1 {
			text += fmt.Sprintf("%d× ", d.Impact.Connections)
		}
		age := m.age(d)
		lines = append(lines, m.paint().As(severityStyle(d.Severity), cell(text+d.Title, m.width-len(age)-1))+" "+m.paint().As(terminal.Dim, age))
	}
	lines = append(lines, about...)
	return fill(lines, room)
}

// preview is what the list has cut off of the chosen diagnosis, where there is
// room for it.
func (m *model) preview(d *report.Diagnosis, room int) []string {
	const indent, most = 9, 3
	if m.pane != diagnoses || room < 2 {
		return nil
	}
	lines := []string{""}
	for _, line := range wrap(fmt.Sprintf("%s: %s (blame: %s, %.0f%% sure)", d.Cause, d.Title, d.Culprit, 100*d.Confidence), m.width-indent) {
		lines = append(lines, strings.Repeat(" ", indent)+m.paint().As(terminal.Dim, line))
	}
	return lines[:min(len(lines), room, 1+most)]
}

// age is how long ago the latest symptom of a diagnosis was seen.
func (m *model) age(d *report.Diagnosis) string {
	latest := report.Time(0)
	for _, id := range d.Evidence {
		if f := m.last.Report.FindingByID(id); f != nil {
			latest = max(latest, f.End)
		}
	}
	const width = 4
	text := ""
	if latest > 0 {
		text = ago(m.last.At.Sub(time.Unix(0, int64(latest))))
	}
	return fmt.Sprintf("%*s", width, text)
}

func ago(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 100*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
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
	left := []string{m.title(talkers, headed("── top talkers ", "bytes      rate", half-1))}
	right := []string{m.title(services, headed("── slowest services ", "mean     worst", m.width-half-1))}
	if m.last != nil {
		for _, t := range m.window(talkers, len(m.last.Talkers), room-1) {
			t := &m.last.Talkers[t]
			name := t.Host
			if t.Name != "" {
				name += " " + t.Name
			}
			figures := fmt.Sprintf("%7s %8s/s", humanize.IBytes(t.Bytes), strings.ReplaceAll(number(8*t.Rate), " ", "")+"b")
			left = append(left, cell("  "+name, half-2-len(figures))+" "+figures)
		}
		for _, s := range m.window(services, len(m.last.Services), room-1) {
			s := &m.last.Services[s]
			name := s.Addr
			if s.App != "" {
				name += " " + s.App
			}
			if s.Name != "" {
				name += " " + s.Name
			}
			figures := fmt.Sprintf("%7s   %7s", brief(s.Mean), brief(s.Worst))
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

// headed is a heading with the names of the figures at its right end.
func headed(name, figures string, width int) string {
	return cell(name, width-terminal.Width(figures)) + figures
}

// window lists the places of a list that are in sight.
func (m *model) window(p pane, n, room int) []int {
	from := min(m.offset[p], max(0, n-room))
	var at []int
	for i := from; i < min(n, from+room); i++ {
		at = append(at, i)
	}
	return at
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

func (*model) helpLines() []string {
	return []string{
		"Keys", "",
		"  ↑ ↓ k j      choose a diagnosis; scroll in lists and details",
		"  PgUp PgDn    ten at once;  g G  first and last",
		"  Enter →      details: explanation, remedies, connections, frames",
		"  1 … 8        in the details: that connection, its times and symptoms",
		"  Esc ←        back",
		"  Tab          next list: diagnoses, talkers, services",
		"  p Space      hold the screen; the analysis goes on",
		"  ?            this help",
		"  q            end, with the full report",
		"  Ctrl-C       the same; twice: at once", "",
		"The graph has one column a second: packets above, drops below. At the right",
		"of a diagnosis stands how long ago its latest symptom was seen.",
		"Frames and streams are numbered as Wireshark numbers a recording (-w).",
	}
}

// logStays is how long a line of the log is shown.
const logStays = time.Minute

func (m *model) foot() string {
	left := " ? help  q end"
	if m.detail || m.help {
		left = " Esc back  ? help  q end"
	}
	right := ""
	if time.Since(m.logged) < logStays {
		right = m.log
	}
	if m.last != nil && m.last.AI != "" {
		left += "  │ AI " + m.last.AI
	}
	if right != "" {
		left += "  │ " + right
	}
	return m.clip(terminal.Dim, left)
}
