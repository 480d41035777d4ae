// Package markdown writes the report for a ticket or a chat: the verdict as a
// heading, each cause with its proof, and a table of the worst connections
// (CommonMark with GitHub's tables).
//
// Texts from packets are data: what Markdown or HTML could obey is escaped, and
// what stands in code is fenced by more backticks than it holds.
package markdown

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

// New makes a sink that writes to w at the end.
func New(w io.Writer, language string) report.Sink {
	return &sink{w: w, say: phrasesOf(language), words: lang.Of(language)}
}

type sink struct {
	w     io.Writer
	say   phrases
	words lang.Words
}

// Finding says nothing: the verdict comes first, and it is known at the end.
func (*sink) Finding(*report.Finding) error { return nil }

// What is shown of long lists.
const (
	maxFrames      = 12
	maxConnections = 5
	maxEvidence    = 8
	maxWorst       = 10
	maxFigure      = 80 // columns of one figure: texts from packets can be long
)

// Finish writes the report.
func (s *sink) Finish(r *report.Report) error {
	p := &page{say: s.say, words: s.words, r: r}
	p.head()
	for i := range r.Diagnoses {
		p.diagnosis(&r.Diagnoses[i])
	}
	p.worst()
	p.foot()
	_, err := io.WriteString(s.w, p.b.String())
	return err
}

type page struct {
	b     strings.Builder
	say   phrases
	words lang.Words
	r     *report.Report
}

func (p *page) linef(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *page) head() {
	r := p.r
	switch {
	case r.Source.Packets == 0:
		p.linef("## %s", p.say.noFrames)
	case r.Healthy():
		notices := ""
		if n := len(r.Diagnoses); n > 0 {
			notices = fmt.Sprintf(p.say.notices, n)
		}
		p.linef("## %s%s", p.say.healthy, notices)
	default:
		p.linef("## %s", plain(r.Diagnoses[0].Title))
	}
	p.linef("")
	names := make([]string, 0, len(r.Source.Names))
	for _, n := range r.Source.Names {
		names = append(names, code(n))
	}
	p.linef("%s: %d %s, %d TCP, %d UDP", strings.Join(names, ", "), r.Source.Packets, p.say.frames, r.Counters.Connections.TCP, r.Counters.Connections.UDP)
	p.linef("")
	if r.Interrupted != "" {
		p.linef("> %s\n", p.say.interrupted)
	}
	for _, why := range r.LeftOut {
		p.linef("> %s: %s\n", p.say.leftOut, plain(p.words.Error(why)))
	}
	if t := r.Source.Truncated; t != nil {
		p.linef("> %s %d, %d B: %s\n", p.say.truncated, t.Frame, t.Offset, plain(p.words.Error(t.Reason)))
	}
	if n := r.Source.Dropped.Total(); n > 0 {
		p.linef("> %s: %d\n", p.say.dropped, n)
	}
}

func (p *page) diagnosis(d *report.Diagnosis) {
	p.linef("### %s: %s (%s)", d.ID, code(d.Cause), p.say.severity[min(int(d.Severity), len(p.say.severity)-1)])
	p.linef("")
	p.linef("%s\n", plain(d.Title))
	party := d.Culprit
	if w, ok := p.say.party[d.Culprit]; ok {
		party = w
	}
	const percent = 100
	p.linef("- **%s:** %s (%d%%)", p.say.blame, plain(party), min(percent-1, int(d.Confidence*percent+0.5)))
	if c := p.cost(&d.Impact); c != "" {
		p.linef("- **%s:** %s", p.say.cost, c)
	}
	for i, c := range d.Connections {
		if i == maxConnections {
			p.linef("- … %d", len(d.Connections)-i)
			break
		}
		p.linef("- **%s:** %s → %s (%s.stream %d)", p.say.connection, code(c.Client), code(c.Server), plain(c.Proto), c.Stream)
	}
	if d.Explanation != "" {
		p.linef("- **%s:** %s", p.say.why, plain(d.Explanation))
	}
	p.proof(d)
	for _, x := range d.Excluded {
		p.linef("- **%s** %s: %s", p.say.not, code(x.Cause), plain(x.Because))
	}
	for _, c := range d.Caveats {
		p.linef("- **%s:** %s", p.say.caution, plain(c))
	}
	for _, t := range d.Remedies {
		p.linef("- [ ] %s", plain(t))
	}
	if d.NextStep != nil {
		p.linef("\n%s (%s):\n\n%s", p.say.next, plain(d.NextStep.TellsApart), fence(d.NextStep.Command))
	}
	p.linef("")
}

func (p *page) proof(d *report.Diagnosis) {
	var list []string
	for _, id := range d.Evidence {
		if len(list) == maxEvidence {
			list = append(list, "…")
			break
		}
		if f := p.r.FindingByID(id); f != nil {
			text := fmt.Sprintf("%s %s ×%d%s", f.ID, code(f.Code), f.Count, p.measured(f))
			if len(f.Caveats) > 0 {
				text += " (" + strings.Join(f.Caveats, "; ") + ")"
			}
			list = append(list, text)
		}
	}
	if len(list) > 0 {
		p.linef("- **%s:** %s", p.say.proof, strings.Join(list, ", "))
	}
	if f := p.r.DisplayFilter(d, maxFrames); f != "" {
		p.linef("- **Wireshark:** %s", code(f))
	}
	if d.File != nil {
		p.linef("- %s, SHA-256 %s", code(d.File.Name), code(d.File.SHA256))
	}
}

// measured writes the first figures of a symptom in brackets.
func (p *page) measured(f *report.Finding) string {
	const most = 3
	var out []string
	for _, x := range figures.Of(f, p.r.Codes, p.words) {
		if len(out) == most {
			break
		}
		out = append(out, plain(terminal.Clip(x.String(), maxFigure)))
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

func (p *page) cost(i *report.Impact) string {
	var out []string
	if i.StalledSeconds > 0 {
		out = append(out, fmt.Sprintf(p.say.lost, i.StalledSeconds))
	}
	if i.Failed > 0 {
		out = append(out, fmt.Sprintf(p.say.failed, i.Failed))
	}
	if i.Connections > 0 {
		out = append(out, fmt.Sprintf(p.say.touched, i.Connections))
	}
	return strings.Join(out, ", ")
}

func (p *page) worst() {
	if len(p.r.Worst) == 0 {
		return
	}
	p.linef("### %s\n", p.say.worst)
	p.linef("| %s | | %s | %s |\n| --- | --- | ---: | --- |", p.say.connection, p.say.cost, p.say.end)
	for i := range min(maxWorst, len(p.r.Worst)) {
		s := &p.r.Worst[i]
		p.linef("| %s.stream %d | %s → %s | %.3g s | %s |", s.Proto, s.ID.Stream, code(s.Client.Addr.String()), code(s.Server.Addr.String()), report.Seconds(s.Score), plain(p.words.Value("end", string(s.End))))
	}
	p.linef("")
}

func (p *page) foot() {
	if len(p.r.NotAssessed) > 0 {
		list := make([]string, 0, len(p.r.NotAssessed))
		for _, n := range p.r.NotAssessed {
			list = append(list, plain(p.words.NotAssessed(n)))
		}
		p.linef("%s: %s\n", p.say.notJudged, strings.Join(list, "; "))
	}
	if a := p.r.AI; a != nil {
		p.linef("AI: %s %s\n", plain(p.words.Value("state", a.State)), plain(a.Reason))
	}
	p.linef("<sub>netwhy %s, %s</sub>", plain(p.r.Version), p.say.numbers)
}

// plain makes a text inert: one line, nothing that a terminal, Markdown or HTML
// obeys (CommonMark 0.31, 2.4: any ASCII punctuation may be escaped).
func plain(s string) string {
	s = terminal.Printable(strings.Join(strings.Fields(s), " "))
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '@': // nobody is to be called by a packet
			b.WriteString("&#64;")
		case '\\', '`', '*', '_', '{', '}', '[', ']', '#', '|', '~', '!', '$':
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer("://", "&#58;//", "www.", "www&#46;").Replace(b.String()) // nor a link be made of it
}

// code writes a text as code. A vertical bar would end a table's cell even
// there, so it is shown by its look-alike.
func code(s string) string {
	s = strings.ReplaceAll(terminal.Printable(s), "|", "∣")
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// fence writes a command as a block.
func fence(s string) string {
	const least = 3
	ticks := strings.Repeat("`", max(least, longestRun(s)+1))
	return ticks + "sh\n" + terminal.Printable(s) + "\n" + ticks
}

func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
		} else {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// phrases are the words of this format.
type phrases struct {
	healthy, notices, noFrames, frames, interrupted, leftOut, truncated, dropped            string
	blame, cost, connection, why, proof, not, caution, next, worst, end, notJudged, numbers string
	lost, failed, touched                                                                   string
	severity                                                                                [finding.Critical + 1]string
	party                                                                                   map[string]string
}

func phrasesOf(lang string) phrases {
	if lang == "zh" {
		return phrases{
			healthy: "健康：没有发现故障原因", notices: "；另有 %d 项提示见下文", noFrames: "无可判断：没有读到任何帧", frames: "个帧", interrupted: "已中断：以下是到目前为止的发现。",
			leftOut: "未读取", truncated: "文件提前结束或已损坏：帧", dropped: "捕获前丢失的帧",
			lost: "损失 %.3g 秒", failed: "%d 次失败", touched: "涉及 %d 个连接",
			blame: "责任方", cost: "代价", connection: "连接", why: "原因", proof: "证据", not: "排除", caution: "注意", next: "下一步",
			worst: "最差的连接", end: "结束", notJudged: "未判断", numbers: "帧号与流号同 Wireshark",
			severity: [...]string{"信息", "提示", "警告", "严重"},
			party:    map[string]string{"client": "客户端", "server": "服务器", "network": "网络", "resolver": "DNS 解析器", "host": "主机", "none": "无"},
		}
	}
	return phrases{
		healthy: "Healthy: no cause of trouble found", notices: "; notices below: %d", noFrames: "Nothing to judge: no frame was read", frames: "frames",
		interrupted: "Interrupted: this is what was found so far.", leftOut: "Not read", truncated: "The file ends early or is damaged: frame",
		dropped: "Frames lost before they could be captured",
		lost:    "%.3g s lost", failed: "%d failed", touched: "connections: %d",
		blame: "Blame", cost: "Cost", connection: "Connection", why: "Why", proof: "Proof", not: "Not", caution: "Mind", next: "Next",
		worst: "Worst connections", end: "End", notJudged: "Not judged", numbers: "frame and stream numbers are Wireshark's",
		severity: [...]string{"info", "notice", "warning", "critical"},
		party:    map[string]string{"none": "nobody"},
	}
}
