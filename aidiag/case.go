package aidiag

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"netwhy/aidiag/internal/answer"
	"netwhy/aidiag/internal/evidence"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/redact"
	"netwhy/aidiag/internal/route"
	"netwhy/aidiag/internal/words"
	"netwhy/aidiag/prompts"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
)

// Case is one question: what the rules concluded and what it rests on. It is
// read only, and must not be changed after Submit.
type Case struct {
	ID          string              // of the diagnosis in the report: "D1"
	Local       diagnosis.Diagnosis // the answer that stands whatever happens
	Findings    []Symptom           // those it cites and those around it
	Connections []conn.Summary      // those concerned, worst first
	Trust       conn.Trust          // how far the capture can be believed
	Texts       []Text              // other texts from packets, looked through for instructions; never sent
}

// Symptom is a finding and its place in the result, which is its id in the
// report: index 0 is F1.
type Symptom struct {
	Index   int
	Finding finding.Finding
}

// ID is the finding's id in the report.
func (s Symptom) ID() string { return fmt.Sprintf("F%d", s.Index+1) }

// Text is a text from a packet.
type Text struct {
	Frame uint64
	Value string
}

// InstructionLike reports whether a text from packets reads like an instruction
// to a language model, or carries what a terminal or page would obey.
func InstructionLike(text string) bool { return redact.Instruction(text) }

// Sizes of a case, in tokens and bytes.
const (
	maxCaseTokens  = 4000 // everything that leaves: prompts, knowledge, schema, evidence
	minEvidence    = 400
	answerTokens   = 1500
	knowledgeBytes = 1700
	maxKnowledge   = 4 // causes whose knowledge goes along
)

// proseTokens estimates English: 3.5 bytes a token at least.
func proseTokens(n int) int { return n*2/7 + 1 }

// brief is a case, ready to send in full and in half.
type brief struct {
	c         *Case
	causes    map[string]bool
	names     string // of them, in order
	nonce     string
	words     *words.Words
	language  string // for the prompt
	knowledge string
	prompts   *prompts.Set
	table     *redact.Table
	defs      map[finding.Code]finding.Def
	docs      [2]*evidence.Doc // full, half
	texts     [2]prompts.Text
}

// known reports whether a cause's name may leave.
func (b *brief) known(c diagnosis.Cause) bool { return b.causes[string(c)] }

func (b *brief) doc(half bool) (*evidence.Doc, prompts.Text, error) {
	i := 0
	if half {
		i = 1
	}
	if b.docs[i] != nil {
		return b.docs[i], b.texts[i], nil
	}
	fill := prompts.Fill{Nonce: b.nonce, Language: b.language, Causes: b.names, Knowledge: b.knowledge}
	frame, err := b.prompts.Compose(fill)
	if err != nil {
		return nil, prompts.Text{}, fmt.Errorf("case %s: %w", b.c.ID, err)
	}
	fixed := proseTokens(len(frame.System) + len(frame.User) + len(answer.WireSchema()))
	room := max(minEvidence, maxCaseTokens-fixed)
	if half {
		room /= 2
	}
	doc := evidence.Build(evidence.Input{
		Local: b.c.Local, Items: b.items(), Connections: b.c.Connections, Trust: b.c.Trust, Known: b.known, Table: b.table,
	}, room)
	fill.Evidence = string(doc.JSON())
	text, err := b.prompts.Compose(fill)
	if err != nil {
		return nil, prompts.Text{}, fmt.Errorf("case %s: %w", b.c.ID, err)
	}
	b.docs[i], b.texts[i] = doc, text
	return doc, text, nil
}

func (b *brief) items() []evidence.Item {
	cited := map[int]bool{}
	for _, i := range b.c.Local.Evidence {
		cited[i] = true
	}
	items := make([]evidence.Item, 0, len(b.c.Findings))
	for _, s := range b.c.Findings {
		items = append(items, evidence.Item{ID: s.ID(), Finding: s.Finding, Def: b.defs[s.Finding.Code], Cited: cited[s.Index]})
	}
	return items
}

// request is what the router composes for each attempt.
func (b *brief) request(s route.Shape) llm.Request {
	_, text, err := b.doc(s.Half)
	if err != nil {
		text = prompts.Text{}
	}
	q := llm.Request{System: text.System, User: text.User, Schema: answer.WireSchema(), MaxTokens: answerTokens}
	if s.Repair != "" {
		q.Reply = s.Reply
		q.Repair = "Your answer was refused: " + s.Repair + ". Answer the same question again, in the same form."
	}
	return q
}

// key identifies what is asked, without the nonce and the case's id.
func (b *brief) key(models string) string {
	doc, _, err := b.doc(false)
	if err != nil {
		return ""
	}
	h := sha256.New()
	for _, s := range []string{models, b.prompts.Version(), b.language, b.knowledge, string(doc.JSON())} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxInjections bounds the places that are named of a case.
const maxInjections = 16

// suspicious looks for texts that read like instructions and returns the frames
// that carry them, 0 for one without a frame, at most maxInjections. The time it
// takes is bounded.
func (c *Case) suspicious(defs map[finding.Code]finding.Def) (frames []uint64) {
	left := 32 << 10 // bytes looked at in one case
	look := func(frame uint64, text string) {
		if left -= len(text); left < 0 || len(frames) >= maxInjections || slices.Contains(frames, frame) {
			return
		}
		if redact.Instruction(text) {
			frames = append(frames, frame)
		}
	}
	for _, s := range c.Findings {
		for i, m := range defs[s.Finding.Code].Metrics {
			if m.Text && i < len(s.Finding.Values) {
				look(s.Finding.Evidence.First, s.Finding.Values[i].Text)
			}
		}
	}
	for i := range c.Connections {
		s := &c.Connections[i]
		look(s.First, s.Name)
		if s.Worst != nil {
			look(s.First, s.Worst.Label)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Attr)) {
			look(s.First, s.Attr[k])
		}
	}
	for _, t := range c.Texts {
		look(t.Frame, t.Value)
	}
	slices.Sort(frames)
	return frames
}

// injection is the notice about such texts, nil where there are none.
func injection(w *words.Words, frames []uint64) *Notice {
	if len(frames) == 0 {
		return nil
	}
	text := w.Injection
	if known := slices.DeleteFunc(slices.Clone(frames), func(f uint64) bool { return f == 0 }); len(known) > 0 {
		list := make([]string, 0, maxInjections)
		for _, f := range known[:min(len(known), maxInjections)] {
			list = append(list, strconv.FormatUint(f, 10))
		}
		if len(known) > len(list) {
			list = append(list, "…")
		}
		where := w.InFrames
		if len(list) == 1 {
			where = w.InFrame
		}
		text += fmt.Sprintf(where, strings.Join(list, ", "))
	}
	return &Notice{Class: ClassInjection, Text: text}
}

func languageName(lang string) string {
	if strings.HasPrefix(lang, "zh") {
		return "Simplified Chinese"
	}
	return "English"
}
