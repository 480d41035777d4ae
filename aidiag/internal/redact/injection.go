package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"netwhy/aidiag/internal/lazily"
)

// Instruction reports whether a text from packets reads like an instruction to a
// language model or carries what a terminal or a page would obey. It raises a
// note; protection does not rest on it: such a text never leaves the machine and
// no answer can remove a finding.
func Instruction(text string) bool {
	const ends = 512 // of a longer text: the time for one text is bounded
	if len(text) > 2*ends {
		return Instruction(text[:ends]) || Instruction(text[len(text)-ends:])
	}
	invisible := 0
	for i, r := range text {
		if r == utf8.RuneError && text[i] == 0x9b { // CSI of eight bits, as it stands in bytes
			return true
		}
		if r == 0x1b || r == 0x9b || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000 && r <= 0xe007f {
			return true
		}
		if r >= 0x200b && r <= 0x200f || r == 0xfeff || r == 0x2060 {
			invisible++
		}
	}
	if invisible > 2 {
		return true
	}
	plain := unleet(strings.ToLower(text))
	for _, p := range patterns {
		if p.suspect(plain) && p.re().MatchString(plain) {
			return true
		}
	}
	return false
}

// pattern is a way to give orders. The stems are the cheap question before the
// dear one: without one of them the expression cannot match.
type pattern struct {
	stems []string
	re    func() *regexp.Regexp
}

func (p *pattern) suspect(s string) bool {
	for _, stem := range p.stems {
		if strings.Contains(s, stem) {
			return true
		}
	}
	return false
}

func when(stems, expr string) pattern {
	return pattern{stems: strings.Split(stems, "|"), re: lazily.Regexp(expr)}
}

// unleet undoes what is used to hide words in names: separators instead of
// blanks, characters of no width, full-width letters.
func unleet(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case Invisible(r):
			return -1
		case r >= 0xff01 && r <= 0xff5e:
			return r - 0xfee0
		case r == '-' || r == '_' || r == '.' || r == '+' || r == '%':
			return ' '
		}
		return r
	}, s)), " ")
}

var patterns = []pattern{ //nolint:gochecknoglobals // constant table of compiled expressions
	when("ignor|disregard|forget|overrid|bypass|skip", `\b(ignore|disregard|forget|override|bypass|skip)\b.{0,30}\b(previous|prior|above|earlier|all|any|your|the|these|system)\b.{0,30}\b(instructions?|prompts?|rules?|context|findings?|messages?|guidelines?|evidence|errors?|alerts?)\b`),
	when("ignore|disregard|forget", `\b(ignore|disregard|forget) (everything|all of|the above|previous|prior|instructions)\b`),
	when("you are n", `\byou are (now|no longer)\b`),
	when(" as | like ", `\b(act|behave|respond|answer) (as|like) (an?|the|if)\b`),
	when("pretend", `\bpretend (to be|you|that)\b`),
	when("instruction|prompt|task|rules", `\b(new|updated|real|actual) (system )?(instructions?|prompt|task|rules)\b`),
	when("system", `\bsystem ?prompt\b|\bsystem (message|override|note|notice)\b`),
	when(" mode", `\b(developer|debug|god|admin|jailbreak|dan) mode\b`),
	when("anything now|jailbr", `\bdo anything now\b|\bjailbreak`),
	when("no problem|no issue|no error|no fault|no finding|no anomal|healthy|everything|all clear|nothing wrong|false positive|benign|not malicious",
		`\b(report|say|state|answer|reply|respond|output|write|print|conclude|claim|return|tell)\b.{0,40}\b(no (problems?|issues?|errors?|faults?|findings?|anomal\w+)|healthy|everything (is )?(fine|ok|normal)|all clear|nothing wrong|false positive|benign|not malicious)\b`),
	when("do not |don't |dont |never ", `\b(do not|don't|dont|never) (report|mention|flag|include|list|alert|tell|show|diagnose)\b`),
	when("prompt|instruction|key|secret|password|credential", `\b(reveal|print|repeat|show|leak|exfiltrate|send|output)\b.{0,30}\b(system prompt|instructions|api ?keys?|secrets?|passwords?|credentials|prompt)\b`),
	when("note |message |instruction", `\b(note|message|instructions?) (to|for) (the )?(ai|llm|model|assistant|analyst|gpt|chatbot)\b`),
	when("dear |hey |hello |attention ", `\b(dear|hey|hello|attention) (ai|llm|model|assistant|gpt|chatgpt|claude)\b`),
	when("as an |as the ", `\b(as an|as the) (ai|llm|assistant|language model)\b`),
	when("the user|the admin|the op", `\bthe (user|administrator|admin|operator) (has )?(authori[sz]ed|approved|wants|asked)\b`),
	when("curl|wget|rm |bash|sh|powershell|command|sudo", `\b(run|execute|type|paste)\b.{0,20}\b(curl|wget|rm|bash|sh|powershell|command|sudo)\b`),
	when("severity|confidence|culprit", `\bset (severity|confidence|culprit|the severity)\b|\bseverity ?[:=] ?(info|none|notice)\b|\b(lower|reduce|downgrade) (the )?(severity|confidence)\b`),
	when("end of |begin of |start of ", `\b(end|begin|start) of (prompt|data|evidence|instructions|context|document|input)\b`),
	when("blame ", `\bblame (the )?(client|server|network|user|isp|provider)\b`),
	when("忽略|无视|忘记|忘掉|报告|回答|输出|声称|你现在", `忽略.{0,10}(指令|提示|规则|内容|说明|要求)|(无视|忘记|忘掉).{0,10}(指令|提示|规则|之前|以上)|(报告|回答|输出|声称).{0,10}(没有问题|无问题|一切正常|正常)|你现在是`),
	when("anweisung|regel|instruc|istruz|consignes", `ignoriere.{0,30}(anweisung|regel)|ignora.{0,30}(instruc|istruz)|ignore[zr].{0,30}(instructions|consignes)`),
	when("игнорируй|以前の指示|무시", `игнорируй|以前の指示|무시`),
	when("<", `<\|?(im start|im end|endoftext|system|assistant|user|start|end)|<<sys>>|<</?sys|<(script|img|iframe|svg|a|object|embed|style|link|meta|form|b|i|h1|marquee)\b[^>]*>?|</?(evidence|data|case|context|instructions|document|tool|function)`),
	when("[", `\[/?(inst|sys|system|assistant)\]|!?\[[^\]]{0,80}\]\([^)]{0,200}\)`),
	when("##", `###? ?(system|instruction|response|assistant|human|user)`),
	when(`"role"`, `"role" ?: ?"`),
	when("system|assistant|human", `^(system|assistant|human) ?: ?[a-z]`),
	when("javascript|onerror", `javascript ?:|\bonerror ?=`),
	when("`|{{|$(", "```|`[^`]+`|{{.{0,80}}}|\\$\\([^)]+\\)"),
}
