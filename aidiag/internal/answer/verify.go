package answer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"netwhy/aidiag/internal/evidence"
	"netwhy/aidiag/internal/lazily"
	"netwhy/aidiag/internal/redact"
	"netwhy/analyze/finding"
)

// Rejected is something that the model said and could not prove. Text is empty
// where showing it could mislead.
type Rejected struct {
	Text       string   `json:"text"`
	Reason     string   `json:"reason"`
	FindingIDs []string `json:"findings"`
}

// Checker holds what an answer is measured by.
type Checker struct {
	Doc       *evidence.Doc
	Table     *redact.Table
	Severity  finding.Severity // of the rules' diagnosis
	Known     func(cause string) bool
	Knowledge string // the text that came with the case: its figures may be named
}

// Verify returns what holds, cleaned, and what does not. An answer without a
// claim left proves nothing; its Claims are empty then.
func (c *Checker) Verify(in *Answer) (*Answer, []Rejected) {
	out := &Answer{Severity: in.Severity}
	var lost []Rejected
	drop := func(text, why string, ids []string) {
		if ids == nil {
			ids = []string{}
		}
		lost = append(lost, Rejected{Text: c.presentable(text), Reason: why, FindingIDs: c.real(ids)})
	}
	for _, cl := range in.Claims {
		if why := c.claim(cl); why != "" {
			drop(cl.Text, why, cl.FindingIDs)
			continue
		}
		cl.Text = redact.Clean(cl.Text, maxText)
		out.Claims = append(out.Claims, cl)
	}
	if len(out.Claims) == 0 {
		return out, lost
	}
	if s, ok := finding.ParseSeverity(in.Severity); ok && s < c.Severity {
		drop("", fmt.Sprintf("severity %s is lower than the rules' %s", in.Severity, c.Severity), nil)
		out.Severity = c.Severity.String()
	}
	all := c.ids()
	if why := c.text(in.Summary, all, true); why != "" {
		drop(in.Summary, "summary: "+why, nil)
	} else {
		out.Summary = redact.Clean(in.Summary, maxSummary)
	}
	if c.Known(in.LikelyCause) || in.LikelyCause == c.Doc.Rules.Cause {
		out.LikelyCause = in.LikelyCause
	} else {
		drop("", "the likely cause is not the name of a cause", nil)
	}
	for _, a := range in.Alternatives {
		if why := c.alternative(&a, all); why != "" {
			drop(a.Why, "alternative: "+why, nil)
			continue
		}
		out.Alternatives = append(out.Alternatives, a)
	}
	for _, r := range in.Remedies {
		if why := c.advice(r); why != "" {
			drop(r, "remedy: "+why, nil)
			continue
		}
		out.Remedies = append(out.Remedies, redact.Clean(r, maxText))
	}
	for _, s := range in.NextSteps {
		why := c.advice(s.Text)
		if why == "" && s.DisplayFilter != "" {
			why = Filter(s.DisplayFilter)
		}
		if why == "" {
			why = c.invented(s.DisplayFilter, all)
		}
		if why != "" {
			drop(s.Text, "next step: "+why, nil)
			continue
		}
		out.NextSteps = append(out.NextSteps, Step{Text: redact.Clean(s.Text, maxText), DisplayFilter: redact.Clean(s.DisplayFilter, maxText)})
	}
	return out, lost
}

const (
	maxText    = 400
	maxSummary = 600
)

func (c *Checker) ids() []string {
	ids := make([]string, 0, len(c.Doc.Findings))
	for _, f := range c.Doc.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// real keeps the ids that exist.
func (c *Checker) real(ids []string) []string {
	out := []string{}
	for _, id := range ids {
		if _, ok := c.Doc.Finding(id); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (c *Checker) claim(cl Claim) string {
	var frames []uint64
	kinds := map[string]bool{}
	for _, id := range cl.FindingIDs {
		f, ok := c.Doc.Finding(id)
		if !ok {
			return fmt.Sprintf("cites %s, which was not sent", id)
		}
		frames = append(frames, f.Frames...)
		frames = append(frames, f.First, f.Last)
		kind, _, _ := strings.Cut(f.Code, ".")
		kinds[kind] = true
	}
	for _, n := range cl.Frames {
		if !slices.Contains(frames, n) {
			return fmt.Sprintf("frame %d is not of the cited findings", n)
		}
	}
	if !kinds[cl.Kind] {
		return "its kind is not that of the cited findings"
	}
	return c.text(cl.Text, cl.FindingIDs, true)
}

// text judges a sentence that states facts about these findings.
func (c *Checker) text(s string, ids []string, facts bool) string {
	switch {
	case redact.Instruction(s):
		return "reads like an instruction or holds markup"
	case linkLike().MatchString(s):
		return "names an address or a link of its own"
	case softened().MatchString(s):
		return "contradicts the rules"
	}
	if why := c.invented(s, ids); why != "" {
		return why
	}
	if !facts {
		return ""
	}
	for _, cited := range findingIDs().FindAllString(s, -1) {
		if !slices.Contains(ids, cited) {
			return "speaks of " + cited + " without citing it"
		}
	}
	figures := figuresIn(s)
	if len(figures) == 0 {
		return ""
	}
	have, known := c.Doc.Numbers(ids), figuresIn(c.Knowledge)
	for _, n := range figures {
		if !n.in(have) && !slices.ContainsFunc(known, func(k figure) bool { return k.value == n.value }) {
			return fmt.Sprintf("the figure %s is not in the cited evidence", n.text)
		}
	}
	return ""
}

// invented names a pseudonym that is not in the evidence.
func (c *Checker) invented(s string, ids []string) string {
	if len(redact.Tokens(s)) == 0 {
		return ""
	}
	part := *c.Doc
	part.Findings = nil
	for _, f := range c.Doc.Findings {
		if slices.Contains(ids, f.ID) {
			part.Findings = append(part.Findings, f)
		}
	}
	allowed := map[string]bool{}
	for _, t := range redact.Tokens(string(part.JSON())) {
		allowed[t] = true
	}
	if u := c.Table.Unknown(s, allowed); len(u) > 0 {
		return u[0] + " is not in the cited evidence"
	}
	return ""
}

// advice judges a sentence that says what to do: its figures are its own.
func (c *Checker) advice(s string) string { return c.text(s, c.ids(), false) }

func (c *Checker) alternative(a *Alternative, all []string) string {
	if !c.Known(a.Cause) {
		return "not the name of a cause"
	}
	for _, s := range []string{a.Why, a.TellsApart} {
		if why := c.text(s, all, false); why != "" {
			return why
		}
	}
	if a.Command != "" {
		if why := Command(a.Command); why != "" {
			return why
		}
		if why := c.invented(a.Command, all); why != "" {
			return why
		}
	}
	a.Why, a.TellsApart, a.Command = redact.Clean(a.Why, maxText), redact.Clean(a.TellsApart, maxText), redact.Clean(a.Command, maxText)
	return ""
}

// presentable is the text of something rejected, or nothing where it holds what
// a reader could obey or believe.
func (*Checker) presentable(s string) string {
	if redact.Instruction(s) || linkLike().MatchString(s) || softened().MatchString(s) {
		return ""
	}
	const longest = 120
	return redact.Clean(s, longest)
}

var (
	findingIDs = lazily.Regexp(`\bF[0-9]+\b`)                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 //nolint:gochecknoglobals // constant
	linkLike   = lazily.Regexp(`(?i)[a-z][a-z0-9+.-]*://|\bwww\.|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:[0-9a-f]{1,4}:){3,}[0-9a-f:]*|[\w.+-]+@[\w-]+\.\w|\b[a-z0-9-]+\.(?:com|net|org|io|dev|app|info|biz|xyz|top|ru|cn|co|me|ai|cc|tk|site|online|shop|example|evil|test)\b`)                                                                                                                                                                                                                                                                                                                                                                                     //nolint:gochecknoglobals // constant
	softened   = lazily.Regexp(`(?i)\bno (?:real |actual |significant |serious )?(?:problems?|issues?|errors?|faults?|anomal(?:y|ies)|findings?)\b|\bnothing (?:is |was |looks )?(?:wrong|suspicious|unusual)|\ball clear\b|\bfalse (?:positive|alarm)|\b(?:capture|network|connections?|traffic|everything|system) (?:is|are|was|looks?|appears?|seems?) (?:to be )?(?:completely |perfectly |entirely )?(?:healthy|fine|normal|ok|okay|good|clean)\b|\b(?:can|may|should) (?:safely )?be (?:ignored|disregarded|dismissed)|\bsafe to ignore|\bno (?:further )?action (?:is )?(?:needed|required|necessary)|\bharmless\b|\bbenign\b|没有问题|一切正常|可以忽略|无需处理|误报`) //nolint:gochecknoglobals // constant
)

// figure is a number in a text.
type figure struct {
	text     string
	value    float64
	decimals int
}

var (
	notFigures = lazily.Regexp(`(?i)\bRFC ?\d+|\bIPv[46]\b|\bTLS ?v?1\.[0-3]\b|\bSSL ?[23](?:\.0)?\b|\bHTTP/[0-9.]+|\b(?:tcp|udp)-\d+\b|\bF\d+\b|\bip6?-[a-z]+-[0-9.]*\d(?:\([a-z]+\))?|\b(?:mac|host|user|path|text)-\d+(?:\([a-z]+\))?`) //nolint:gochecknoglobals // constant
	figureLike = lazily.Regexp(`\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?`)                                                                                                                                                               //nolint:gochecknoglobals // constant
)

func figuresIn(s string) []figure {
	s = notFigures().ReplaceAllString(s, " ")
	var out []figure
	for _, at := range figureLike().FindAllStringIndex(s, -1) {
		if at[0] > 0 && (isLetter(s[at[0]-1]) || s[at[0]-1] == '_') {
			continue // part of a word: x509, sha256
		}
		text := s[at[0]:at[1]]
		v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			continue
		}
		f := figure{text: text, value: v}
		if _, frac, ok := strings.Cut(text, "."); ok {
			f.decimals = len(frac)
		}
		out = append(out, f)
	}
	return out
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// in reports whether the figure is one of those, rounded as it is written, also
// in thousandths, thousands or percent.
func (f figure) in(have []float64) bool {
	unit := math.Pow(10, float64(f.decimals))
	for _, h := range have {
		for _, scale := range [...]float64{1, 1000, 1e-3, 100} {
			if math.Abs(math.Round(h*scale*unit)-f.value*unit) < 0.5 && (f.value != 0 || h == 0) {
				return true
			}
		}
	}
	return false
}
