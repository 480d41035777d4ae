package explain

import (
	"fmt"
	"io"
	"strings"

	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/text"
)

// words are those of the page; labels have at most eight columns.
type words struct {
	symptom, cause, found, byItself           string
	means, figures, causes, says, blame, when string
	why, rivals, do, see, severity, symptoms  string
	supports, part, alone, rule, decided      string
	byModel, evidence, more, orElse           string
	party, level                              map[string]string
}

func wordsOf(language string) *words {
	if language == lang.Chinese {
		return &words{
			symptom: "%s：现象，其本身级别为%s", cause: "%s：根本原因", found: "%s %s：现象，级别%s", byItself: "规则 %s",
			means: "含义", figures: "数值", causes: "原因", says: "结论", blame: "责任方", when: "条件", why: "理由", rivals: "排除", do: "处理", see: "参考",
			severity: "级别", symptoms: "现象", supports: "佐证", part: "诊断", alone: "没有诊断以它为依据", rule: "规则", decided: "%s 如何判定",
			byModel: "由模型给出，不是由规则判定：请用所引用的帧核对。", evidence: "所依据的现象", more: "另有 %d 个；explain 可逐一解释", orElse: "netwhy explain %s 给出处理方法",
			party: map[string]string{"client": "客户端", "server": "服务器", "network": "网络", "resolver": "DNS 解析器", "host": "主机", "none": "无"},
			level: map[string]string{"info": "信息", "notice": "提示", "warning": "警告", "critical": "严重"},
		}
	}
	return &words{
		symptom: "%s: a symptom, %s by itself", cause: "%s: a root cause", found: "%s %s: a symptom, %s", byItself: "rule %s",
		means: "Means", figures: "Figures", causes: "Causes", says: "Says", blame: "Blame", when: "When", why: "Why", rivals: "Not", do: "Do", see: "See",
		severity: "Level", symptoms: "Seen by", supports: "Also by", part: "Part of", alone: "no diagnosis rests on it", rule: "Rule", decided: "How %s is decided",
		byModel: "The model says so, no rule does: check it with the frames that it cites.", evidence: "What it rests on", more: "and %d more; explain tells of each", orElse: "netwhy explain %s tells what to do",
		party: map[string]string{"none": "nobody"},
	}
}

func named(m map[string]string, list []string) string {
	out := make([]string, 0, len(list))
	for _, n := range list {
		if s, ok := m[n]; ok {
			n = s
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// Page writes what Symptom, Causes, Finding and Diagnosis return, for people.
func (b *Book) Page(w io.Writer, colour bool, r *report.Report, what any) error {
	if r == nil {
		r = &report.Report{Codes: b.codes}
	}
	p := &page{Sheet: text.NewSheet(text.Options{Colour: colour, Lang: b.lang}, r), b: b, say: wordsOf(b.lang), r: r}
	switch x := what.(type) {
	case *Symptom:
		p.symptom(x)
	case []Cause:
		for i := range x {
			p.cause(&x[i], len(x) > 1)
		}
	case *Found:
		p.found(x)
	case *Decided:
		p.decided(x)
	}
	_, err := p.WriteTo(w)
	return err
}

type page struct {
	*text.Sheet
	b   *Book
	say *words
	r   *report.Report
}

func (p *page) symptom(s *Symptom) {
	p.Heading(fmt.Sprintf(p.say.symptom, s.Code, named(p.say.level, []string{s.Severity})))
	p.Line(p.say.means, s.Meaning)
	var rows [][3]string
	for _, f := range s.Figures {
		rows = append(rows, [3]string{f.Name, "", f.Meaning})
	}
	p.Table(p.say.figures, rows)
	p.causes(s.Causes)
}

// causes lists causes with what each says, and where to read on.
func (p *page) causes(names []string) {
	label := p.say.causes
	for _, name := range names {
		said := name
		if all := p.b.Causes(name); len(all) > 0 {
			said += ": " + all[0].Meaning
		}
		p.Line(label, said)
		label = ""
	}
	if len(names) > 0 {
		p.Line(p.say.do, fmt.Sprintf(p.say.orElse, names[0]))
	}
}

func (p *page) cause(c *Cause, several bool) {
	title := fmt.Sprintf(p.say.cause, c.Cause)
	if several || c.Rule != c.Cause {
		title += " (" + fmt.Sprintf(p.say.byItself, c.Rule) + ")"
	}
	p.Heading(title)
	p.Line(p.say.says, c.Title)
	p.Line(p.say.means, c.Meaning)
	p.rule(c)
	p.Steps(c.Remedies)
	p.Line(p.say.see, strings.Join(c.References, "; "))
}

// rule tells how a cause is decided.
func (p *page) rule(c *Cause) {
	p.Line(p.say.blame, named(p.say.party, c.Blame))
	p.Line(p.say.severity, named(p.say.level, c.Severities))
	p.codes(p.say.symptoms, c.Symptoms)
	p.codes(p.say.supports, c.Supports)
	p.Line(p.say.when, c.Condition)
	p.Line(p.say.why, c.Reason)
	p.Line(p.say.rivals, strings.Join(c.Rivals, ", "))
}

// codes lists symptoms with what each means.
func (p *page) codes(label string, codes []string) {
	for _, code := range codes {
		line := code
		if s, ok := p.b.Symptom(code); ok {
			line += ": " + s.Meaning
		}
		p.Line(label, line)
		label = ""
	}
}

func (p *page) found(f *Found) {
	p.Heading(fmt.Sprintf(p.say.found, f.Finding.ID, f.Finding.Code, named(p.say.level, []string{f.Finding.Severity.String()})))
	if f.Meaning != nil {
		p.Line(p.say.means, f.Meaning.Meaning)
	}
	p.Finding(f.Finding, f.Filter)
	if len(f.Diagnoses) == 0 {
		p.Line(p.say.part, p.say.alone)
		if f.Meaning != nil {
			p.causes(f.Meaning.Causes)
		}
		return
	}
	label := p.say.part
	var do, see []string
	for _, id := range f.Diagnoses {
		d := p.r.DiagnosisByID(id)
		p.Line(label, d.ID+" "+d.Cause+": "+d.Title)
		do, see, label = append(do, d.Remedies...), append(see, d.References...), ""
	}
	p.Steps(do)
	p.Line(p.say.see, strings.Join(see, "; "))
}

// maxEvidence is how many symptoms of a diagnosis are told with all they have.
const maxEvidence = 5

func (p *page) decided(d *Decided) {
	p.Diagnosis(d.Diagnosis)
	p.Heading(fmt.Sprintf(p.say.decided, d.Diagnosis.Cause))
	if d.Rule == nil {
		p.Line(p.say.rule, p.say.byModel)
	} else {
		if d.Rule.Rule != d.Rule.Cause {
			p.Line(p.say.rule, d.Rule.Rule)
		}
		p.rule(d.Rule)
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if i == maxEvidence {
			p.Heading(fmt.Sprintf(p.say.more, len(d.Findings)-i))
			break
		}
		p.Heading(fmt.Sprintf(p.say.found, f.Finding.ID, f.Finding.Code, named(p.say.level, []string{f.Finding.Severity.String()})))
		p.Finding(f.Finding, f.Filter)
	}
}
