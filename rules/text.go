package rules

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr"
)

// Languages of the texts.
const (
	English = "en"
	Chinese = "zh"
)

// text is a text in the languages it has. A missing one falls back to English.
type text struct{ en, zh *template }

func (t *text) in(lang string) *template {
	if lang == Chinese && t.zh != nil {
		return t.zh
	}
	if t.en == nil {
		return &template{}
	}
	return t.en
}

// template is a text with expressions in ${...}, compiled.
type template struct {
	src   string
	parts []part
}

// part is a literal or, where prog is set, an expression.
type part struct {
	literal string
	prog    *program
}

// maxText bounds one text after its figures were filled in; names from packets
// are the only long ones.
const maxText = 2000

// parseText splits a text at ${...} and compiles what is between, at once or when
// it is first filled in.
func parseText(src scalar, env *environment, lang string, command, postponed bool) (*template, []*Error) {
	t := &template{src: src.text}
	var list []*Error
	rest, offset := src.text, 0 // offset in bytes
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			t.parts = append(t.parts, part{literal: rest})
			return t, list
		}
		if i > 0 {
			t.parts = append(t.parts, part{literal: rest[:i]})
		}
		end := closing(rest[i+2:])
		line, col := 1, 1
		if !postponed { // it is right: nobody asks where it stands
			line, col = place(src.text, len([]rune(src.text[:offset+i])))
		}
		if end < 0 {
			list = append(list, &Error{Pos: src.within(line, col), Message: "${ without its }"})
			return t, list
		}
		inner := scalar{text: rest[i+2 : i+2+end], pos: src.within(line, col+2), block: src.block, set: true}
		x := &expression{src: inner, env: env, lang: lang, command: command}
		var p *program
		if postponed {
			p = postpone(x)
		} else {
			var faults []*Error
			p, faults = compile(x)
			list = append(list, faults...)
		}
		t.parts = append(t.parts, part{literal: inner.text, prog: p})
		offset += i + 2 + end + 1
		rest = rest[i+2+end+1:]
	}
}

// closing finds the } that ends an expression, past texts and inner braces.
func closing(s string) int {
	depth, quote := 0, rune(0)
	for i, r := range s {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'' || r == '`':
			quote = r
		case r == '{':
			depth++
		case r == '}' && depth == 0:
			return i
		case r == '}':
			depth--
		}
	}
	return -1
}

// fill evaluates a template. In commands each value is quoted for the shell:
// names in it may come from packets.
func (t *template) fill(m *machine, v *view, command bool) (string, error) {
	var b strings.Builder
	for i := range t.parts {
		p := &t.parts[i]
		if p.prog == nil {
			b.WriteString(p.literal)
			continue
		}
		s, err := m.shown(p.prog, v)
		if err != nil {
			return "", fmt.Errorf("${%s}: %w", p.literal, err)
		}
		if command {
			s = shellQuote(s)
		}
		b.WriteString(s)
		if b.Len() > maxText {
			break
		}
	}
	return clip(b.String(), maxText), nil
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	for s != "" && s[len(s)-1]&0xc0 == 0x80 { // not in the middle of a letter
		s = s[:len(s)-1]
	}
	return s + "…"
}

func show(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return figure(v), true
	case int:
		return strconv.Itoa(v), true
	default:
		return "", false
	}
}

// figure writes a number with at most three digits after which nobody asks.
func figure(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	abs := math.Abs(v)
	switch {
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

// shellQuote quotes what a shell would not take as one plain word.
func shellQuote(s string) string {
	plain := s != "" && s[0] != '-' // an address never looks like an option
	for _, r := range s {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".:-_/[]%@,+=", r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return "'" + strings.ReplaceAll(clean, "'", `'\''`) + "'"
}

// unit words of a language.
type units struct{ ms, s, min, h, d, per string }

func unitsOf(lang string) units {
	if lang == Chinese {
		return units{ms: " 毫秒", s: " 秒", min: " 分钟", h: " 小时", d: " 天", per: "/秒"}
	}
	return units{ms: " ms", s: " s", min: " min", h: " h", d: " days", per: "/s"}
}

// numberText is a function of texts that writes a number.
type numberText struct {
	name  string
	write func(v float64) string
}

func numberTexts(lang string) []numberText {
	u := unitsOf(lang)
	return []numberText{
		{"seconds", u.seconds},
		{"ms", func(v float64) string { return u.seconds(v / 1000) }},
		{"text", figure},
		{nameBytes, byteText},
		{"rate", func(v float64) string { return bitText(v*8) + "bit" + u.per }},
		{"percent", func(v float64) string { return figure(v*100) + " %" }},
	}
}

// helpers are the functions that texts have besides those of conditions.
func helpers(lang string, command bool) []expr.Option {
	var opts []expr.Option
	for _, f := range numberTexts(lang) {
		opts = append(opts, expr.Function(f.name, func(p ...any) (any, error) { return f.write(number(p[0])), nil }, new(func(float64) string)))
	}
	opts = append(opts,
		expr.Function(nameAddr, func(p ...any) (any, error) {
			ip, _ := p[0].(string)
			return addrText(ip, number(p[1])), nil
		}, new(func(string, float64) string)),
		expr.Function("plural", func(p ...any) (any, error) {
			one, _ := p[1].(string)
			many := ""
			if len(p) > 2 {
				many, _ = p[2].(string)
			}
			return pluralText(number(p[0]), one, many), nil
		}, new(func(float64, string) string), new(func(float64, string, string) string)),
	)
	if !command {
		opts = append(opts, expr.Function("quote", func(p ...any) (any, error) {
			s, _ := p[0].(string)
			return quoteText(s), nil
		}, new(func(string) string)))
	}
	return opts
}

// seconds writes a time as people say it: 0.4 ms, 48 ms, 1.07 s, 12.3 s, 11 min, 3.0 h,
// 9 days.
func (u units) seconds(v float64) string {
	switch {
	case v < 0.1:
		return figure(v*1000) + u.ms
	case v < 600:
		return figure(v) + u.s
	case v < 2*3600:
		return strconv.FormatFloat(v/60, 'f', 0, 64) + u.min
	case v < 48*3600:
		return strconv.FormatFloat(v/3600, 'f', 1, 64) + u.h
	default:
		return strconv.FormatFloat(v/86400, 'f', 0, 64) + u.d
	}
}

func byteText(v float64) string {
	names := []string{" B", " KB", " MB", " GB", " TB"}
	i := 0
	for v >= 1000 && i < len(names)-1 {
		v /= 1000
		i++
	}
	return figure(v) + names[i]
}

func bitText(v float64) string {
	names := []string{" ", " k", " M", " G", " T"}
	i := 0
	for v >= 1000 && i < len(names)-1 {
		v /= 1000
		i++
	}
	return figure(v) + names[i]
}

func addrText(ip string, port float64) string {
	a, err := netip.ParseAddr(ip)
	if err != nil || port < 0 || port > math.MaxUint16 {
		return ip // not an address: shown as it is
	}
	return netip.AddrPortFrom(a, uint16(port)).String()
}

// pluralText is "1 SYN", "3 SYNs"; many is the plural where adding an s does not
// do.
func pluralText(n float64, one, many string) string {
	switch {
	case n == 1:
		return figure(n) + " " + one
	case many != "":
		return figure(n) + " " + many
	default:
		return figure(n) + " " + one + "s"
	}
}

// maxQuote bounds a name from packets within a sentence.
const maxQuote = 80

// quoteText sets a text from packets in quotes, short and on one line.
func quoteText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return `"` + clip(s, maxQuote) + `"`
}
