package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Sheet is a text in the report's layout about a part of it, or about what stands
// in reports.
type Sheet struct{ p *page }

// NewSheet begins a sheet; r is what ids in it refer to.
func NewSheet(opt Options, r *report.Report) *Sheet {
	return &Sheet{&page{paint: terminal.Paint(opt.Colour), say: phrasesOf(opt.Lang), words: lang.Of(opt.Lang), r: r}}
}

// Heading is a line that stands out.
func (s *Sheet) Heading(text string) {
	if s.p.b.Len() > 0 {
		s.p.b.WriteByte('\n')
	}
	s.p.lines("", "  ", terminal.Bold, text)
}

// Line writes a text under a label; an empty text is left out.
func (s *Sheet) Line(label, text string) {
	if text != "" {
		s.p.labelled(label, text)
	}
}

// List writes texts under one label, each on its own line.
func (s *Sheet) List(label string, texts []string) {
	for _, t := range texts {
		s.Line(label, t)
		label = ""
	}
}

// Table writes rows of three columns under one label, the last wrapped in its own
// column.
func (s *Sheet) Table(label string, rows [][3]string) {
	var w [2]int
	for _, r := range rows {
		for i := range w {
			w[i] = max(w[i], min(terminal.Width(terminal.Printable(r[i])), widest))
		}
	}
	indent := strings.Repeat(" ", labelIndent+labelWidth)
	for _, r := range rows {
		lead := strings.Repeat(" ", labelIndent) + s.p.paint.As(terminal.Cyan, label) + strings.Repeat(" ", max(1, labelWidth-terminal.Width(label)))
		label = ""
		var filled strings.Builder
		for i := range w {
			if w[i] > 0 {
				filled.WriteString(pad(terminal.Clip(r[i], w[i]), w[i]) + "  ")
			}
		}
		cells := filled.String()
		if r[2] == "" {
			s.p.b.WriteString(lead + strings.TrimRight(cells, " ") + "\n")
			continue
		}
		s.p.lines(lead+cells, indent+strings.Repeat(" ", terminal.Width(cells)), terminal.Plain, r[2])
	}
}

// widest is the most that a column of a table but the last takes.
const widest = 26

// Steps writes what to do, numbered where there is more than one.
func (s *Sheet) Steps(texts []string) { s.p.remedies(texts) }

// Diagnosis writes one as the report does.
func (s *Sheet) Diagnosis(d *report.Diagnosis) {
	n := 1
	if _, err := fmt.Sscanf(d.ID, "D%d", &n); err != nil {
		n = 1
	}
	if s.p.b.Len() == 0 {
		s.p.diagnosis(n, d)
		rest := strings.TrimPrefix(s.p.b.String(), "\n") // the gap to what stands above
		s.p.b.Reset()
		s.p.b.WriteString(rest)
		return
	}
	s.p.diagnosis(n, d)
}

// Finding writes a symptom of the report with all its frames and figures.
func (s *Sheet) Finding(f *report.Finding, filter string) {
	say := s.p.say
	if c := f.Connection; c != nil {
		s.Line(say.who, fmt.Sprintf("%s → %s (%s.stream %d)", c.Client, c.Server, c.Proto, c.Stream))
	} else if f.Host != nil {
		s.Line(say.who, *f.Host)
	}
	s.Line(say.seen, fmt.Sprintf(say.seenAt, figures.Grouped(int64(f.Count)), f.Start, figures.Seconds(int64(f.End-f.Start)))) //nolint:gosec // a count of occurrences
	var frames []string
	for _, n := range f.Frames {
		frames = append(frames, strconv.FormatUint(n, 10))
	}
	list := strings.Join(frames, ", ")
	if f.Count > uint64(len(f.Frames)) {
		list += " " + say.framesLast
	}
	s.Line(say.frames1, list)
	s.Line(say.filter, filter)
	var rows [][3]string
	for _, x := range figures.Of(f, s.p.r.Codes, s.p.words) {
		rows = append(rows, [3]string{x.Name, x.Amount, x.Doc})
	}
	s.Table(say.figures, rows)
}

// WriteTo writes the sheet.
func (s *Sheet) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.p.b.String())
	return int64(n), err
}
