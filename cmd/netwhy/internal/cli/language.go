package cli

import (
	"io"
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/lang"
)

// language is that of help, manual page and completions: it is wanted before the
// command line is understood, and without the configuration, which may be what
// somebody seeks help about.
func (s *session) language() string {
	for i, a := range s.Args {
		if v, ok := strings.CutPrefix(a, "--"+flagLang+"="); ok {
			return v
		}
		if a == "--"+flagLang && i+1 < len(s.Args) {
			return s.Args[i+1]
		}
	}
	if v := s.Get(config.Prefix + "LANG"); v != "" {
		return v
	}
	return string(config.Default(s.Get).Report.Lang)
}

// translate puts the texts of the program, its commands and flags into a language.
func translate(app *cli.App, w lang.Words) {
	app.Usage, app.UsageText = w.Text(app.Usage), prose(w, app.UsageText)
	app.Writer = &headings{app.Writer}
	translateAll(app.Commands, w)
}

func translateAll(commands []*cli.Command, w lang.Words) {
	for _, c := range commands {
		c.Usage, c.Description = w.Text(c.Usage), prose(w, c.Description)
		for _, f := range c.Flags {
			if u := reflect.ValueOf(f).Elem().FieldByName("Usage"); u.IsValid() && u.CanSet() {
				u.SetString(w.Text(u.String()))
			}
		}
		translateAll(c.Subcommands, w)
	}
}

// prose translates a description: paragraphs as a whole, and of the lines of
// examples what stands behind the command, two spaces or more away.
func prose(w lang.Words, text string) string {
	parts := strings.Split(text, "\n\n")
	for i, p := range parts {
		if w.Has(p) {
			parts[i] = w.Text(p)
			continue
		}
		lines := strings.Split(p, "\n")
		for k, l := range lines {
			lead := l[:len(l)-len(strings.TrimLeft(l, " "))]
			if at := strings.Index(l[len(lead):], "  "); at >= 0 {
				at += len(lead)
				said := strings.TrimLeft(l[at:], " ")
				lines[k] = l[:len(l)-len(said)] + w.Text(said)
			}
		}
		parts[i] = strings.Join(lines, "\n")
	}
	return strings.Join(parts, "\n\n")
}

// headings translates what the library says in its help.
type headings struct{ w io.Writer }

func (h *headings) Write(b []byte) (int, error) {
	_, err := io.WriteString(h.w, strings.NewReplacer(
		"GLOBAL OPTIONS:", "全局选项：", "NAME:", "名称：", "USAGE:", "用法：", "DESCRIPTION:", "说明：", "COMMANDS:", "命令：", "OPTIONS:", "选项：",
		"[command options]", "[选项]", "Shows a list of commands or help for one command", "列出命令，或显示一个命令的帮助", "show help", "显示帮助", "(default: ", "(默认：",
	).Replace(string(b)))
	return len(b), err
}
