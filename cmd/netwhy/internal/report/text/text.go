// Package text writes the report for people: the verdict first, then each cause
// with who, what it cost, why, the frames that prove it and what to do; then the
// worst connections, and what was looked at. It fits 80 columns.
//
// Nothing from a packet can send a terminal escape: every line is made of texts
// that went through terminal.Printable.
package text

import (
	"fmt"
	"io"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Options say what the text looks like.
type Options struct {
	Colour bool
	Lang   string // "en" or "zh"
}

// New makes a sink that writes to w at the end.
func New(w io.Writer, opt Options) report.Sink {
	return &sink{w: w, opt: opt}
}

type sink struct {
	w     io.Writer
	opt   Options
	early bool // the report is written already, but for the AI's part
}

// Finding says nothing: a text begins with the verdict, which is known at the end.
func (*sink) Finding(*report.Finding) error { return nil }

// Early writes the report as it is without the AI.
func (s *sink) Early(r *report.Report) error {
	s.early = true
	return s.whole(r)
}

// Finish writes the report in one piece, or what the AI said if the rest was
// written early.
func (s *sink) Finish(r *report.Report) error {
	if !s.early {
		return s.whole(r)
	}
	p := s.page(r)
	p.ai()
	_, err := io.WriteString(s.w, p.b.String())
	return err
}

func (s *sink) page(r *report.Report) *page {
	return &page{paint: terminal.Paint(s.opt.Colour), say: phrasesOf(s.opt.Lang), words: lang.Of(s.opt.Lang), r: r}
}

func (s *sink) whole(r *report.Report) error {
	p := s.page(r)
	p.headline()
	p.source()
	p.diagnoses()
	p.worst()
	p.foot()
	p.ai()
	_, err := io.WriteString(s.w, p.b.String())
	return err
}

// page is a report while it is written.
type page struct {
	b     strings.Builder
	paint terminal.Paint
	say   *phrases
	words lang.Words
	r     *report.Report
}

// lines writes a text with a first indent and one for the lines that follow.
func (p *page) lines(first, next string, st terminal.Style, s string) {
	for i, line := range wrap(s, terminal.Columns-terminal.Width(next)) {
		indent := next
		if i == 0 {
			indent = first
		}
		p.b.WriteString(indent + p.paint.As(st, line) + "\n")
	}
}

// labelled writes "   Label    text", with the text wrapped in its own column.
func (p *page) labelled(label, s string) { p.styled(label, terminal.Plain, s) }

const (
	labelIndent = 3
	labelWidth  = 9
)

func (p *page) styled(label string, st terminal.Style, s string) {
	indent := strings.Repeat(" ", labelIndent)
	first := indent + p.paint.As(terminal.Cyan, label) + strings.Repeat(" ", max(1, labelWidth-terminal.Width(label)))
	p.lines(first, strings.Repeat(" ", labelIndent+labelWidth), st, s)
}

func styleOf(s finding.Severity) terminal.Style {
	switch s {
	case finding.Critical:
		return terminal.Red
	case finding.Warning:
		return terminal.Yellow
	default:
		return terminal.Bold
	}
}

// frames is a count of frames in words.
func (p *page) frames(n uint64) string {
	if n == 1 {
		return p.say.oneFrame
	}
	return fmt.Sprintf(p.say.frames, figures.Grouped(int64(n))) //nolint:gosec // a count of frames
}

func (p *page) headline() {
	r := p.r
	switch {
	case r.Interrupted != "":
		p.lines("", "", terminal.Yellow, p.say.interrupted)
	case len(r.LeftOut) > 0:
		for _, why := range r.LeftOut {
			p.lines("", "  ", terminal.Yellow, p.say.leftOut+": "+p.words.Error(why))
		}
	}
	switch {
	case r.Source.Packets == 0:
		p.lines("", "", terminal.Bold, p.say.noFrames)
	case r.Healthy():
		p.lines("", "", terminal.Green, p.say.healthy+": "+fmt.Sprintf(p.say.healthyTail, p.frames(r.Source.Packets))+p.notices())
	default:
		d := &r.Diagnoses[0]
		s := p.say.verdict + ": " + d.Title
		if n := p.serious() - 1; n > 0 {
			s += " (" + fmt.Sprintf(p.say.more, n) + ")"
		}
		p.lines("", "", styleOf(d.Severity), s)
	}
}

// notices tells of a healthy capture that something lesser is below.
func (p *page) notices() string {
	if len(p.r.Diagnoses) == 0 {
		return ""
	}
	return fmt.Sprintf(p.say.notices, len(p.r.Diagnoses))
}

// serious counts the diagnoses that make a capture unhealthy.
func (p *page) serious() int {
	n := 0
	for i := range p.r.Diagnoses {
		if p.r.Diagnoses[i].Severity >= finding.Warning && p.r.Diagnoses[i].Source != byAI {
			n++
		}
	}
	return n
}

func (p *page) source() {
	src := &p.r.Source
	p.b.WriteByte('\n')
	names := make([]string, 0, len(src.Names))
	for _, n := range src.Names {
		names = append(names, terminal.Printable(n))
	}
	what := p.frames(src.Packets) + ", "
	if src.First != nil && src.Last != nil {
		what += fmt.Sprintf(p.say.inTime, figures.Size(src.Bytes), figures.Seconds(int64(*src.Last-*src.First)))
	} else {
		what += figures.Size(src.Bytes) + ", " + p.say.noTime
	}
	c := &p.r.Counters.Connections
	if c.TCP > 0 || c.UDP > 0 {
		what += "; " + fmt.Sprintf(p.say.tcp, figures.Grouped(int64(c.TCP))) + ", " + fmt.Sprintf(p.say.udp, figures.Grouped(int64(c.UDP))) //nolint:gosec // counts of conversations
	}
	p.lines("", "  ", terminal.Plain, strings.Join(names, ", ")+": "+what)
	if t := src.Truncated; t != nil {
		p.warn(fmt.Sprintf(p.say.truncated, t.Frame, t.Offset, p.words.Error(t.Reason)) + " " + p.say.truncatedTail)
	}
	if n := src.Dropped.Total(); n > 0 {
		p.warn(fmt.Sprintf(p.say.lostFrames, figures.Grouped(int64(n)), src.Dropped.Kernel, src.Dropped.Interface, src.Dropped.Queue)) //nolint:gosec // a count of frames
	}
}

func (p *page) warn(s string) { p.lines("! ", "  ", terminal.Yellow, s) }
