package diff

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"netwhy/cmd/netwhy/internal/terminal"
)

// words are those of the text.
type words struct {
	good, bad, line                                      string
	slower, faster, same, failing, healed, most          string
	connections, exchanges, tooFew, newPeers, gone, only string
	each, rest                                           string
	figure                                               map[string]string
}

func wordsOf(lang string) words {
	if lang == "zh" {
		return words{
			good: "正常", bad: "异常", line: "%s：%d 个帧，%s，%d 个会话",
			slower: "%s 每次交互慢了 %s（%s）", faster: "%s 每次交互快了 %s（%s）", same: "没有确定的变化", failing: "%s 的失败连接从 %s 增至 %s",
			healed: "%s 的失败连接从 %s 降至 %s", most: "主要是%s",
			connections: "连接 %d → %d", exchanges: "交互 %d → %d", tooFew: "连接太少，无法给出区间", newPeers: "新出现的服务器：%s", gone: "消失的服务器：%s",
			only: "只在%s中：%s", each: "（每次交互；括号内为 95%% 区间）", rest: "未变：%s",
			figure: map[string]string{
				"dns": "域名解析", "connect": "建立连接", "tls": "TLS 握手", "request_send": "发送请求", "path": "路径往返", "server_think": "服务器处理",
				"loss_stall": "丢包等待", "window_stall": "窗口等待", "sender_idle": "发送方空闲", "transfer": "传输", RTT: "往返时间", Loss: "重传", Failures: "失败",
			},
		}
	}
	return words{
		good: "good", bad: "bad", line: "%s: %d frames in %s, %d conversations",
		slower: "%s is slower by %s an exchange (%s)", faster: "%s is faster by %s an exchange (%s)", same: "Nothing changed for sure",
		failing: "%s fails more: %s → %s of connections", healed: "%s fails less: %s → %s of connections", most: "mostly %s",
		connections: "%d → %d connections", exchanges: "%d → %d exchanges", tooFew: "too few connections for an interval",
		newPeers: "new servers: %s", gone: "gone servers: %s", only: "only in %s: %s", each: "(for one exchange; in brackets the 95%% interval)", rest: "unchanged: %s",
		figure: map[string]string{
			"dns": "lookup", "connect": "connect", "tls": "TLS", "request_send": "request", "path": "path", "server_think": "server think",
			"loss_stall": "loss stall", "window_stall": "window stall", "sender_idle": "sender idle", "transfer": "transfer", RTT: "round trip", Loss: "resent",
			Failures: "failed",
		},
	}
}

// maxText is how many services are printed; JSON has all.
const maxText = 12

// Text writes the report for people.
func (r *Report) Text(w io.Writer, lang string) error {
	t := wordsOf(lang)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", r.headline(&t))
	line("")
	for _, s := range []struct {
		name string
		a    *About
	}{{t.good, &r.Good}, {t.bad, &r.Bad}} {
		line("  "+t.line, pad(s.name, 5)+terminal.Printable(s.a.Name), s.a.Packets, seconds(s.a.Seconds), s.a.Connections)
	}
	for i := range r.Services[:min(maxText, len(r.Services))] {
		line("")
		r.Services[i].text(line, &t)
	}
	line("")
	for _, s := range []struct {
		name string
		list []string
	}{{t.good, r.OnlyGood}, {t.bad, r.OnlyBad}} {
		if len(s.list) > 0 {
			line(t.only, s.name, terminal.Printable(strings.Join(s.list, ", ")))
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// headline names the change that cost most.
func (r *Report) headline(t *words) string {
	for i := range r.Services {
		c := &r.Services[i]
		name := terminal.Printable(c.Service)
		for j := range c.Figures {
			if f := &c.Figures[j]; f.Figure == Failures && f.Changed && f.Change > 0 {
				return fmt.Sprintf(t.failing, name, share(f.Good), share(f.Bad))
			}
		}
		for j := range c.Figures {
			f := &c.Figures[j]
			if !f.Changed || f.Unit != UnitSeconds || f.Figure == RTT || f.Change*c.Cost <= 0 {
				continue
			}
			say := t.slower
			if c.Cost < 0 {
				say = t.faster
			}
			return fmt.Sprintf(say, name, seconds(math.Abs(c.Cost)), fmt.Sprintf(t.most, t.figure[f.Figure]))
		}
	}
	return t.same
}

func (c *Changes) text(line func(string, ...any), t *words) {
	line("%s   "+t.connections+", "+t.exchanges+"  "+t.each, terminal.Printable(c.Service), c.Connections[0], c.Connections[1], c.Exchanges[0], c.Exchanges[1])
	var rest []string
	for i := range c.Figures {
		f := &c.Figures[i]
		name := t.figure[f.Figure]
		if !f.Changed {
			if f.Good != 0 || f.Bad != 0 {
				rest = append(rest, name+" "+f.amount(f.Bad))
			}
			continue
		}
		interval := ""
		if f.Low != nil {
			interval = "  [" + f.signed(*f.Low) + ", " + f.signed(*f.High) + "]"
		}
		line("  %s %s → %s   %s%s", pad(name, 14), f.amount(f.Good), f.amount(f.Bad), f.signed(f.Change), interval)
	}
	if len(rest) > 0 {
		line("  "+t.rest, strings.Join(rest, ", "))
	}
	if c.TooFew {
		line("  %s", t.tooFew)
	}
	if len(c.NewPeers) > 0 {
		line("  "+t.newPeers, strings.Join(c.NewPeers, ", "))
	}
	if len(c.GonePeers) > 0 {
		line("  "+t.gone, strings.Join(c.GonePeers, ", "))
	}
}

func (d *Difference) amount(v float64) string {
	if d.Unit == UnitShare {
		return share(v)
	}
	return seconds(v)
}

func (d *Difference) signed(v float64) string {
	sign := "+"
	if v < 0 {
		sign = "−"
	}
	return sign + d.amount(math.Abs(v))
}

func share(v float64) string {
	const percent = 100
	return strconv.FormatFloat(v*percent, 'g', 3, 64) + " %"
}

func seconds(s float64) string {
	const milli, many = 1e-3, 1000
	switch {
	case s == 0:
		return "0 s"
	case s < milli:
		return strconv.FormatFloat(s*1e6, 'g', 3, 64) + " µs"
	case s < 1:
		return strconv.FormatFloat(s*1e3, 'g', 3, 64) + " ms"
	case s < many:
		return strconv.FormatFloat(s, 'g', 3, 64) + " s"
	}
	return strconv.FormatFloat(s, 'f', 0, 64) + " s"
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-terminal.Width(s)))
}
