package rules_test

import (
	"testing"

	"netwhy/analyze/finding"
	"netwhy/rules"
)

// TestTextHelpers fills in one text for each helper.
func TestTextHelpers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expr, en, zh string }{
		{"${seconds(0.0004)} ${seconds(0.048)} ${seconds(1.07)} ${seconds(12.34)} ${seconds(660)} ${seconds(10800)} ${seconds(780788)}", "0.40 ms 48 ms 1.07 s 12.3 s 11 min 3.0 h 9 days", "0.40 毫秒 48 毫秒 1.07 秒 12.3 秒 11 分钟 3.0 小时 9 天"},
		{"${ms(250)} ${bytes(1450)} ${bytes(12)} ${rate(125000)} ${percent(0.0234)}", "0.25 s 1.45 KB 12 B 1 Mbit/s 2.34 %", "0.25 秒 1.45 KB 12 B 1 Mbit/秒 2.34 %"},
		{"${plural(1, 'SYN')} ${plural(3, 'SYN')} ${plural(2, 'copy', 'copies')}", "1 SYN 3 SYNs 2 copies", "1 SYN 3 SYNs 2 copies"},
		{"${addr('10.0.0.1', 80)} ${addr('2001:db8::1', 443)} ${addr('x', 1)}", "10.0.0.1:80 [2001:db8::1]:443 x", "10.0.0.1:80 [2001:db8::1]:443 x"},
		{"${ratio(1, 0)} ${ratio(1, 4)} ${ratio(0, 0)}", "0 0.25 0", "0 0.25 0"},
		{"${tcp.zero_window.by_server > 0 ? '{a}' : \"b}\"} $5 {x}", "{a} $5 {x}", "{a} $5 {x}"},
		{"${culprit}: ${party}", "server: server 10.0.0.5:80", "服务器: 服务器 10.0.0.5:80"},
	} {
		s := loadText(t, `
- id: receiver-zero-window
  on: [tcp.zero-window]
  when: tcp.zero_window.count > 0
  culprit: server
  severity: warning
  confidence: 2
  title:
    en: |-
      `+c.expr+`
    zh: |-
      `+c.expr+`
  explanation: {en: e}
`)
		w := newWorld()
		w.find(w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), "", "tcp.zero-window", 5, finding.Num(2.0), finding.Num(1), finding.Text("server"))
		for lang, want := range map[string]string{rules.English: c.en, rules.Chinese: c.zh} {
			got, faults := s.Diagnose(&w.in, rules.Options{Lang: lang})
			if len(faults) > 0 || len(got) != 1 || got[0].Title != want {
				t.Errorf("%s (%s): got %+v, faults %v, want %q", c.expr, lang, got, faults, want)
				continue
			}
			if got[0].Confidence != 0.99 {
				t.Errorf("confidence %v: nothing is certain", got[0].Confidence)
			}
		}
	}
}
