package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// What is shown of long lists.
const (
	maxConnections = 8 // as many as there are keys for
	maxFrames      = 12
)

// page is a text that is longer than the screen.
type page struct {
	m     *model
	lines []string
}

func (p *page) add(style terminal.Style, indent int, text string) {
	for _, line := range wrap(text, p.m.width-indent) {
		p.lines = append(p.lines, strings.Repeat(" ", indent)+p.m.paint().As(style, line))
	}
}

// row is a line with columns: it is cut, not wrapped.
func (p *page) row(text string) { p.lines = append(p.lines, p.m.clip(terminal.Plain, "  "+text)) }

func (p *page) heading(text string) {
	p.lines = append(p.lines, "", p.m.paint().As(terminal.Bold, text))
}

// scrolled is the part of a page that is in sight.
func (m *model) scrolled(all []string) []string {
	m.scroll = min(m.scroll, max(0, len(all)-(m.height-1)))
	return all[m.scroll:]
}

// detailLines tell one diagnosis to its frames.
func (m *model) detailLines() []string {
	d := m.choice()
	p := &page{m: m}
	p.add(severityStyle(d.Severity), 0, fmt.Sprintf("%s %s: %s", d.ID, d.Severity, d.Title))
	p.add(terminal.Dim, 0, fmt.Sprintf("%s, culprit %s, confidence %.0f%%", d.Cause, d.Culprit, 100*d.Confidence))
	p.lines = append(p.lines, "")
	p.add(terminal.Plain, 0, d.Explanation)
	for _, c := range d.Caveats {
		p.add(terminal.Yellow, 2, c)
	}
	for _, r := range d.Remedies {
		p.add(terminal.Green, 2, "- "+r)
	}
	if len(d.Connections) > 0 {
		p.heading("Connections")
	}
	for i, c := range d.Connections {
		if i == maxConnections {
			p.add(terminal.Dim, 2, fmt.Sprintf("and %d more", len(d.Connections)-i))
			break
		}
		p.row(fmt.Sprintf("%d  %s %s -> %s  (%s.stream %d)", i+1, c.Proto, c.Client, c.Server, c.Proto, c.Stream))
	}
	var found []*report.Finding
	for _, id := range d.Evidence {
		if f := m.last.Report.FindingByID(id); f != nil {
			found = append(found, f)
		}
	}
	p.symptoms(found)
	if d.NextStep != nil {
		p.lines = append(p.lines, "")
		p.add(terminal.Plain, 0, "Next: "+d.NextStep.Command)
		p.add(terminal.Dim, 2, d.NextStep.TellsApart)
	}
	return p.lines
}

// symptoms lists findings, those of one code together.
func (p *page) symptoms(all []*report.Finding) {
	if len(all) == 0 {
		return
	}
	p.heading("Symptoms and their frames")
	type sum struct {
		code    string
		count   uint64
		frames  []uint64
		caveats []string
	}
	var sums []*sum
	for _, f := range all {
		i := slices.IndexFunc(sums, func(s *sum) bool { return s.code == f.Code })
		if i < 0 {
			i = len(sums)
			sums = append(sums, &sum{code: f.Code})
		}
		s := sums[i]
		s.count += f.Count
		s.frames = append(s.frames, f.Frames...)
		for _, c := range f.Caveats {
			if !slices.Contains(s.caveats, c) {
				s.caveats = append(s.caveats, c)
			}
		}
	}
	for _, s := range sums {
		times := "once"
		if s.count > 1 {
			times = fmt.Sprintf("%d times", s.count)
		}
		p.add(terminal.Plain, 2, fmt.Sprintf("%s: %s, frames %s", s.code, times, frames(s.frames)))
		for _, c := range s.caveats {
			p.add(terminal.Yellow, 4, c)
		}
	}
}

func frames(all []uint64) string {
	slices.Sort(all)
	var b strings.Builder
	for i, n := range slices.Compact(all) {
		if i == maxFrames {
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

// open shows a connection of the chosen diagnosis.
func (m *model) open(n int) {
	if d := m.choice(); d != nil && m.detail && n <= min(len(d.Connections), maxConnections) {
		m.connection, m.scroll = &d.Connections[n-1], 0
	}
}

// connectionLines tell one connection: who, how long, what was lost, where the
// time of its worst exchange went, and every symptom of it.
func (m *model) connectionLines() []string {
	c := m.connection
	p := &page{m: m}
	p.add(terminal.Bold, 0, fmt.Sprintf("%s %s -> %s", c.Proto, c.Client, c.Server))
	p.add(terminal.Dim, 0, fmt.Sprintf("in Wireshark: %s.stream == %d; community_id %s", c.Proto, c.Stream, c.CommunityID))
	all := m.last.Report.Connections
	i := slices.IndexFunc(all, func(s *conn.Summary) bool { return s.ID.Stream == c.Stream && s.Proto == c.Proto })
	if i < 0 {
		p.add(terminal.Plain, 0, "Its figures were not kept: it has ended, and others mattered more.")
	} else {
		p.figures(all[i])
	}
	var found []*report.Finding
	for i := range m.last.Report.Findings {
		f := &m.last.Report.Findings[i]
		if f.Connection != nil && f.Connection.Stream == c.Stream && f.Connection.Proto == c.Proto {
			found = append(found, f)
		}
	}
	p.symptoms(found)
	return p.lines
}

func ended(e conn.End) string {
	switch e {
	case conn.EndOpen:
		return "still open"
	case conn.EndFin:
		return "closed"
	case conn.EndHalf:
		return "closed by one side"
	case conn.EndReset:
		return "reset"
	case conn.EndRefused:
		return "refused"
	case conn.EndNoAnswer:
		return "without an answer"
	case conn.EndIdle:
		return "silent since"
	case conn.EndICMPError:
		return "ended by an ICMP error"
	}
	return string(e)
}

func (p *page) figures(s *conn.Summary) {
	p.lines = append(p.lines, "")
	p.add(terminal.Plain, 0, fmt.Sprintf("%s %s: frames %d to %d in %s, %s", s.App, s.Name, s.First, s.Last, brief(time.Duration(s.Stop-s.Start)), ended(s.End)))
	if s.Handshake > 0 {
		p.add(terminal.Plain, 0, "handshake "+brief(time.Duration(s.Handshake)))
	}
	for _, x := range []struct {
		name string
		side *conn.Side
	}{{"client", &s.Client}, {"server", &s.Server}} {
		text := fmt.Sprintf("%s sent %s in %d packets", x.name, humanize.IBytes(x.side.Bytes), x.side.Packets)
		if x.side.RTT.Samples > 0 {
			text += ", round trip " + brief(time.Duration(x.side.RTT.Median))
		}
		if n := x.side.Retransmits; n > 0 {
			text += fmt.Sprintf(", %d sent again", n)
		}
		if n := x.side.ZeroWindows; n > 0 {
			text += fmt.Sprintf(", window closed %d times", n)
		}
		p.add(terminal.Plain, 0, text)
	}
	if w := s.Worst; w != nil && w.Ledger.Total > 0 {
		p.heading(fmt.Sprintf("Where %s of its worst exchange went", brief(time.Duration(w.Ledger.Total))))
		if w.Label != "" {
			p.add(terminal.Dim, 2, w.Label+" "+w.Code)
		}
		for part, ns := range w.Ledger.Part {
			if ns > 0 {
				p.row(fmt.Sprintf("%-13s %8s", strings.ReplaceAll(conn.PartNames[part], "_", " "), brief(time.Duration(ns))))
			}
		}
	}
}

// wrap breaks a text at spaces into lines of at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(terminal.Printable(text)) {
		for terminal.Width(word) > width { // longer than a line: cut hard
			n, columns := len(word), 0
			for i, r := range word {
				if columns += terminal.Width(string(r)); columns > width && i > 0 {
					n = i
					break
				}
			}
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, word[:n]), word[n:]
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
