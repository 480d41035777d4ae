package aidiag

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"netwhy/aidiag/internal/answer"
	"netwhy/aidiag/internal/evidence"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/redact"
	"netwhy/aidiag/internal/route"
	"netwhy/aidiag/internal/words"
	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
)

// Class is the class of an attempt's failure: error_class of the decisions.
type Class = llm.Class

// Decision is one attempt and what was decided behind it (ai.decisions).
type Decision = route.Decision

// Notice is something that the user has to know or to mend.
type Notice = route.Notice

// Claim is something that the model said and could not prove.
type Claim = answer.Rejected

// State says what became of a case, or of all of them.
type State string

// States, as the report names them.
const (
	Answered State = "answered"
	Partial  State = "partial"   // some claims, or some cases, without an answer that holds
	FellBack State = "fell-back" // the rules alone
	Off      State = "off"       // nobody could be asked: not configured, or not asked for
)

// ClassInjection marks the notice about texts that read like instructions.
const ClassInjection Class = "instruction_like_text"

// Alternative is what else it could be, and the command that tells them apart.
type Alternative struct {
	Cause diagnosis.Cause
	Why   string
	Next  diagnosis.NextStep // Command may be empty
}

// Look is a place to look at, with a display filter of Wireshark.
type Look struct {
	Text   string
	Filter string // may be empty
}

// Answer is what became of a case. It is never empty: Local always stands, and
// Reason says why there is no more.
type Answer struct {
	Case   string
	State  State
	Class  Class  // why there is no answer; "" with one
	Reason string // one line for people; "" when Answered
	Local  diagnosis.Diagnosis
	// Diagnosis is the model's, checked and with Origin ByAI, when Answered or
	// Partial; otherwise it is Local.
	Diagnosis    diagnosis.Diagnosis
	Agrees       bool // it names the same cause as the rules
	Alternatives []Alternative
	Looks        []Look
	Rejected     []Claim
	Decisions    []Decision
	Notices      []Notice
	Provider     string
	Endpoint     string
	Model        string
	Tokens       Tokens
	Injections   []uint64  // frames with texts that read like instructions; 0: one without a frame
	Shortened    bool      // the evidence was halved to fit
	RetryAt      time.Time // earliest moment at which asking may work again; zero: now or never
}

// Tokens of the answers that came.
type Tokens struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
}

// Section is the part "ai" of the JSON report.
type Section struct {
	State     State      `json:"state"`
	Reason    string     `json:"reason"`
	Provider  string     `json:"provider"`
	Endpoint  string     `json:"endpoint"`
	Model     string     `json:"model"`
	Tokens    Tokens     `json:"tokens"`
	Rejected  []Claim    `json:"rejected_claims"`
	Decisions []Decision `json:"decisions"`
	Notices   []Notice   `json:"notices"` // what the user has to mend, or to know
}

// Summarize folds the answers of a run into the report's section, in the language
// of the answers. Provider, endpoint and model are those of the last answer.
// Without answers the state is off. Texts that read like instructions are one
// notice with all frames.
func Summarize(answers []Answer, lang string) Section {
	say := words.In(lang)
	s := Section{State: Off, Reason: say.NotAsked, Rejected: []Claim{}, Decisions: []Decision{}, Notices: []Notice{}}
	answers = slices.Clone(answers)
	slices.SortStableFunc(answers, func(a, b Answer) int { return compareIDs(a.Case, b.Case) })
	count := map[State]int{}
	reason := ""
	var injections []uint64
	for _, a := range answers {
		injections = append(injections, a.Injections...)
		count[a.State]++
		if a.Reason != "" && reason == "" {
			reason = a.Reason
		}
		if a.Provider != "" {
			s.Provider, s.Endpoint, s.Model = a.Provider, a.Endpoint, a.Model
		}
		s.Tokens.Prompt += a.Tokens.Prompt
		s.Tokens.Completion += a.Tokens.Completion
		s.Rejected = append(s.Rejected, a.Rejected...)
		s.Decisions = append(s.Decisions, a.Decisions...)
		for _, n := range a.Notices {
			if n.Class != ClassInjection && !slices.Contains(s.Notices, n) {
				s.Notices = append(s.Notices, n)
			}
		}
	}
	slices.Sort(injections)
	if n := injection(say, slices.Compact(injections)); n != nil {
		s.Notices = append(s.Notices, *n)
	}
	switch n := len(answers); {
	case n == 0:
		return s
	case count[Answered] == n:
		s.State = Answered
	case count[Off] == n:
		s.State = Off
	case count[Answered]+count[Partial] > 0:
		s.State = Partial
	default:
		s.State = FellBack
	}
	s.Reason = reason
	if fell := count[FellBack] + count[Off]; s.State == Partial && fell > 0 {
		s.Reason = fmt.Sprintf(say.OfCases, fell, len(answers), reason)
	}
	return s
}

// compareIDs orders D2 before D10.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// conclude makes the answer out of what held of the model's.
func (b *brief) conclude(kept *answer.Answer, rejected []Claim, res *route.Result) Answer {
	local, say := b.c.Local, b.words
	a := Answer{
		Case: b.c.ID, State: Answered, Local: local, Rejected: rejected,
		Decisions: res.Decisions, Notices: res.Notices, Provider: res.Provider, Endpoint: res.Endpoint, Model: res.Model,
		Tokens: Tokens{Prompt: res.Prompt, Completion: res.Complete}, Shortened: res.Half,
	}
	if len(rejected) > 0 {
		a.State = Partial
		a.Reason = fmt.Sprintf(say.Claims, len(rejected))
	}
	back := func(s string) string { return redact.Clean(b.table.Restore(s), 2*maxRestored) }
	d := diagnosis.Diagnosis{
		Cause: local.Cause, Culprit: local.Culprit, Severity: local.Severity, Origin: diagnosis.ByAI,
		Connections: local.Connections, Impact: local.Impact, Title: local.Title, Caveats: []string{say.Caveat},
	}
	if s, ok := finding.ParseSeverity(kept.Severity); ok && s > d.Severity {
		a.Notices = append(a.Notices, Notice{Class: llm.OK, Provider: res.Provider, Text: fmt.Sprintf(say.Holds, say.Severity[s])})
	}
	sent := local.Cause // the name under which the rules' cause was sent
	if !b.known(sent) {
		sent = evidence.Other
	}
	switch named := diagnosis.Cause(kept.LikelyCause); named {
	case "": // none that exists: the rules' stays, without a second voice
	case sent:
		a.Agrees = true
	default:
		d.Cause = named
	}
	d.Confidence = confidence(local.Confidence, a.Agrees, len(kept.Claims), len(rejected))
	if d.Cause != local.Cause {
		d.Culprit = diagnosis.None // who is to blame was not asked; the rules' culprit is that of their cause
	}
	if kept.Summary != "" {
		d.Title = back(kept.Summary)
	}
	var lines []string
	for _, c := range kept.Claims {
		lines = append(lines, back(c.Text)+" ("+strings.Join(c.FindingIDs, ", ")+")")
		for _, id := range c.FindingIDs {
			if i, ok := b.index(id); ok && !slices.Contains(d.Evidence, i) {
				d.Evidence = append(d.Evidence, i)
			}
		}
		d.Frames = append(d.Frames, c.Frames...)
	}
	for _, x := range kept.Alternatives {
		alt := Alternative{Cause: diagnosis.Cause(x.Cause), Why: back(x.Why), Next: diagnosis.NextStep{Command: back(x.Command), TellsApart: back(x.TellsApart)}}
		a.Alternatives = append(a.Alternatives, alt)
		lines = append(lines, fmt.Sprintf(say.CouldBe, x.Cause, alt.Why))
		if d.NextStep == nil && alt.Next.Command != "" {
			next := alt.Next
			d.NextStep = &next
		}
	}
	for _, l := range kept.NextSteps {
		a.Looks = append(a.Looks, Look{Text: back(l.Text), Filter: back(l.DisplayFilter)})
	}
	for _, r := range kept.Remedies {
		d.Remedies = append(d.Remedies, back(r))
	}
	d.Explanation = strings.Join(lines, "\n")
	slices.Sort(d.Evidence)
	slices.Sort(d.Frames)
	d.Frames = slices.Compact(d.Frames)
	d.Frames = d.Frames[:min(len(d.Frames), finding.MaxFrames)]
	if len(d.Frames) == 0 {
		d.Frames = local.Frames
	}
	a.Diagnosis = d
	return a
}

const maxRestored = 600

// confidence is computed, never the model's: that of the rules where it agrees;
// where it differs, half, and less for each claim that could not be proven.
func confidence(local float64, agrees bool, kept, rejected int) float64 {
	if agrees {
		return local
	}
	return local / 2 * float64(kept) / float64(kept+rejected)
}

func (b *brief) index(id string) (int, bool) {
	for _, s := range b.c.Findings {
		if s.ID() == id {
			return s.Index, true
		}
	}
	return 0, false
}

// fallBack is the answer by the rules alone.
func fallBack(c *Case, state State, class Class, reason string) Answer {
	return Answer{Case: c.ID, State: state, Class: class, Reason: reason, Local: c.Local, Diagnosis: c.Local}
}
