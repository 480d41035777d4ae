package text

import (
	"fmt"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// byAI is the source of a diagnosis that the model made.
const byAI = "ai"

// ai tells what the model said, or why it said nothing. It comes last: what the
// rules found stands whatever it says.
func (p *page) ai() {
	a := p.r.AI
	if a == nil {
		return
	}
	p.b.WriteByte('\n')
	s := p.say.ai + ": " + word(p.say.state, a.State)
	if a.Model != "" {
		s += fmt.Sprintf(" (%s, %s)", a.Provider, a.Model)
	}
	if a.Reason != "" {
		s += ": " + a.Reason
	}
	p.lines("", "  ", terminal.Bold, s)
	for _, n := range a.Notices {
		p.warn(n)
	}
	for i := range p.r.Diagnoses {
		if d := &p.r.Diagnoses[i]; d.Source == byAI {
			p.opinion(d)
		}
	}
	if n := len(a.RejectedClaims); n > 0 {
		p.lines("  ", "  ", terminal.Plain, fmt.Sprintf(p.say.aiRejected, n))
	}
}

// opinion is the model's view of one diagnosis.
func (p *page) opinion(d *report.Diagnosis) {
	verb := p.say.otherwise
	switch own := p.r.DiagnosisByID(d.About); {
	case d.Agrees:
		verb = p.say.agrees
	case own != nil && own.Cause == d.Cause:
		verb = p.say.noCause
	}
	p.b.WriteByte('\n')
	p.lines("", "   ", terminal.Bold, fmt.Sprintf(verb, d.About, d.Cause)+", "+fmt.Sprintf(p.say.culprit, word(p.say.party, d.Culprit))+", "+fmt.Sprintf(p.say.sure, percent(d.Confidence)))
	p.lines("   ", "   ", terminal.Plain, d.Title)
	p.labelled(p.say.why, d.Explanation)
	p.proof(d)
	for _, x := range d.Alternatives {
		p.labelled(p.say.or, x.Cause+": "+x.Why)
		if x.Command != "" {
			p.command("", x.Command)
			if x.TellsApart != "" {
				p.labelled("", p.say.tells+": "+x.TellsApart)
			}
		}
	}
	p.remedies(d.Remedies)
	for _, l := range d.Looks {
		text := l.Text
		if l.Filter != "" {
			text += ": " + l.Filter
		}
		p.labelled(p.say.look, text)
	}
}
