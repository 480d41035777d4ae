package text

import (
	"fmt"
	"strings"

	"netwhy/cmd/netwhy/internal/report"
)

// maxInFull is how many diagnoses of one cause are written in full. The next ones
// read like them but for the names: their titles say those, and the JSON report has
// the rest.
const maxInFull = 5

// diagnoses writes what the rules said, worst first.
func (p *page) diagnoses() {
	type kind struct{ cause, culprit string }
	told := make(map[kind]int)
	short := false // the one before is
	for i := range p.r.Diagnoses {
		d := &p.r.Diagnoses[i]
		if d.Source == byAI {
			continue
		}
		k := kind{d.Cause, d.Culprit}
		if told[k]++; told[k] <= maxInFull || d.More > 0 {
			p.diagnosis(i+1, d)
			short = false
			continue
		}
		if !short {
			p.b.WriteByte('\n')
		}
		p.short(i+1, d)
		short = true
	}
}

// short is a diagnosis of which only the title is written.
func (p *page) short(n int, d *report.Diagnosis) {
	p.lines("", strings.Repeat(" ", labelIndent), styleOf(d.Severity), fmt.Sprintf("%d. %s: %s", n, upper(p.say.sev(d.Severity)), d.Title))
}
