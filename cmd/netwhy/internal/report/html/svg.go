package html

import (
	"fmt"
	"html"
	"html/template"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// drawing is an SVG under way. Texts are made printable and escaped here, once
// for all pictures.
type drawing struct{ b strings.Builder }

func (d *drawing) open(width, height int, class, label string) {
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %d %d" class="%s" role="img" aria-label="%s">`, width, height, class, escaped(label))
}

func (d *drawing) close() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String()) //nolint:gosec // numbers, and texts that went through escaped
}

func (d *drawing) text(x, y float64, class, s string) {
	fmt.Fprintf(&d.b, `<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, escaped(s))
}

func (d *drawing) rect(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&d.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s">`, x, y, w, h, class)
	if title != "" {
		fmt.Fprintf(&d.b, "<title>%s</title>", escaped(title))
	}
	d.b.WriteString("</rect>")
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func escaped(s string) string { return html.EscapeString(terminal.Printable(s)) }

// Sizes of the time line, in units of its view box.
const (
	lineWidth  = 1000
	lineLeft   = 8
	lineRight  = 992
	lineHeight = 110
	lineRow    = 22
	maxLines   = 24
	ticks      = 6
)

// timeline draws the traffic, and below it when each diagnosis was seen.
func (g *page) timeline() template.HTML {
	t := g.r.Traffic
	if t == nil || len(t.Slots) == 0 {
		return ""
	}
	length := float64(t.Step) * float64(len(t.Slots))
	x := func(at int64) float64 {
		return lineLeft + min(max(float64(at-t.Start)/length, 0), 1)*(lineRight-lineLeft)
	}
	most := uint64(1)
	for _, s := range t.Slots {
		most = max(most, s.Bytes)
	}
	rows := min(len(g.r.Diagnoses), maxLines)
	d := &drawing{}
	d.open(lineWidth, lineHeight+30+rows*lineRow, "timeline", fmt.Sprintf(g.P.TrafficAlt, seconds(length/1e9)))
	d.traffic(t.Slots, most)
	d.line(lineLeft, lineHeight, lineRight, lineHeight, "axis")
	for i := range ticks + 1 {
		at := float64(i) / ticks
		class := "tick mid"
		switch i {
		case 0:
			class = "tick"
		case ticks:
			class = "tick end"
		}
		px := lineLeft + at*(lineRight-lineLeft)
		d.line(px, lineHeight, px, lineHeight+4, "axis")
		d.text(px, lineHeight+16, class, seconds(at*length/1e9))
	}
	d.text(lineLeft, 10, "tick", fmt.Sprintf("%s, "+g.P.PerStep, bytesOf(float64(most)), seconds(float64(t.Step)/1e9)))
	for i := range rows {
		g.span(d, &g.r.Diagnoses[i], float64(lineHeight+26+i*lineRow), x)
	}
	return d.close()
}

func (d *drawing) traffic(slots []slot, most uint64) {
	step := float64(lineRight-lineLeft) / float64(len(slots))
	d.b.WriteString(`<path class="area" d="`)
	fmt.Fprintf(&d.b, "M%d,%d", lineLeft, lineHeight)
	for i, s := range slots {
		y := lineHeight - float64(s.Bytes)/float64(most)*(lineHeight-16)
		if s.Bytes > 0 {
			y = min(y, lineHeight-1.5) // what little there is, is seen
		}
		fmt.Fprintf(&d.b, "V%.1fH%.1f", y, lineLeft+step*float64(i+1))
	}
	fmt.Fprintf(&d.b, `V%dZ"/>`, lineHeight)
}

// span draws one diagnosis: a bar from its first to its last symptom, and a mark
// for each symptom.
func (g *page) span(d *drawing, of *report.Diagnosis, y float64, x func(int64) float64) {
	from, to := 0.0, 0.0
	var marks []float64
	for _, id := range of.Evidence {
		f := g.r.FindingByID(id)
		if f == nil {
			continue
		}
		a, b := x(int64(f.Start)), x(int64(f.End))
		if len(marks) == 0 || a < from {
			from = a
		}
		to = max(to, b)
		marks = append(marks, a)
	}
	if len(marks) == 0 {
		return
	}
	fmt.Fprintf(&d.b, `<a href="#%s">`, of.ID)
	d.rect(from, y, max(4, to-from), 14, "span "+levelOf(of.Severity), of.Title)
	for i, m := range marks {
		if i == maxEvidence {
			break
		}
		d.line(m, y+11, m, y+14, "mark")
	}
	label, class, at := of.ID+" "+of.Cause, "bar", to+6
	if to > lineWidth*0.7 { // no room on the right
		class, at = "bar end", from-6
		if from < lineWidth*0.3 { // nor on the left
			class, at = "bar in", from+6
		}
	}
	d.text(at, y+10, class, label)
	d.b.WriteString("</a>")
}

// ledger draws the parts of an exchange as one bar.
func (g *page) ledger(l *conn.Ledger) (template.HTML, []ledgerRow) {
	if l.Total <= 0 {
		return "", nil
	}
	const width, height = 1000, 26
	d := &drawing{}
	var rows []ledgerRow
	var words []string
	at := 0.0
	var bars drawing
	for i := range conn.Parts {
		if l.Part[i] <= 0 {
			continue
		}
		name, time := word(g.P.Part, conn.PartNames[i]), seconds(report.Seconds(l.Part[i]))
		w := float64(l.Part[i]) / float64(l.Total) * width
		bars.rect(at, 0, w, height, "part "+partClass(i), name+" "+time)
		const roomy = 90
		if w > roomy {
			bars.text(at+8, 18, "inpart", name+" "+time)
		}
		at += w
		rows = append(rows, ledgerRow{name, partClass(i), time})
		words = append(words, name+" "+time)
	}
	d.open(width, height, "ledger", g.P.Time+": "+seconds(report.Seconds(l.Total))+" = "+strings.Join(words, " + "))
	d.b.WriteString(bars.b.String())
	return d.close(), rows
}
