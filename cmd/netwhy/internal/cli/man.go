package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/rules"
)

func (s *session) manCommand() *cli.Command {
	return &cli.Command{
		Name:   "man",
		Usage:  "write the manual page",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: flagTable, Usage: "instead, the table of symptoms and causes as Markdown"}, langFlag(), configFlag()},
		Action: s.man,
		Description: "  netwhy man | man -l -\n" +
			"  netwhy man > /usr/local/share/man/man1/netwhy.1",
	}
}

const flagTable = "codes"

func (s *session) man(c *cli.Context) error {
	if c.NArg() > 0 {
		return usagef(c.Command.Name, "man takes no argument")
	}
	if c.Bool(flagTable) {
		set, _, err := s.ruleSet(c)
		if err != nil {
			return err
		}
		return s.say(codeTable(set, lang.Of(s.language())))
	}
	return s.say(manPage(s.app(), lang.Of(s.language())))
}

func (s *session) say(text string) error {
	_, err := fmt.Fprint(s.Stdout, text)
	return err
}

// manPage is written from the same texts as the help: what a command or a flag is
// for is said once.
func manPage(app *cli.App, w lang.Words) string {
	var b strings.Builder
	linef := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	linef(`.TH NETWHY 1 "" "netwhy %s" "User Commands"`, roff(version()))
	linef(".SH %s\n%s \\- %s", w.Text("NAME"), roff(app.Name), roff(app.Usage))
	linef(".SH %s", w.Text("SYNOPSIS"))
	for _, c := range app.Commands {
		manSynopsis(linef, app.Name, c)
	}
	linef(".SH %s", w.Text("COMMANDS"))
	for _, c := range app.Commands {
		manCommand(linef, app.Name, c)
	}
	linef(".SH %s", w.Text("EXIT STATUS"))
	for _, x := range [][2]string{
		{"0", "done"},
		{"1", "it could not do its work"},
		{"2", "wrong usage or configuration"},
		{"3", "done, and something at or above --fail-on was found"},
		{"130", "interrupted; the report is still written"},
	} {
		linef(".TP\n%s\n%s", x[0], roff(w.Text(x[1])))
	}
	linef(".SH %s\n.TP\n$XDG_CONFIG_HOME/netwhy/config.yaml, /etc/netwhy/config.yaml\n%s", w.Text("FILES"),
		roff(w.Text("the configuration: the first that is there. Flags win over the environment, the environment over the file.")))
	linef(".SH %s\n.TP\n%s*\n%s\n.TP\nNO_COLOR\n%s", w.Text("ENVIRONMENT"), config.Prefix, roff(w.Text("any key of the configuration, and flags as shown above")), roff(w.Text("no colours")))
	linef(".SH %s\n.BR tcpdump (8),\n.BR tshark (1),\n.BR pcap\\-filter (7)", w.Text("SEE ALSO"))
	return b.String()
}

func manSynopsis(linef func(string, ...any), parent string, c *cli.Command) {
	if len(c.Subcommands) > 0 {
		for _, sub := range c.Subcommands {
			manSynopsis(linef, parent+" "+c.Name, sub)
		}
		return
	}
	linef(".B %s\n%s\n.br", roff(parent+" "+c.Name), roff(strings.TrimSpace("[FLAGS] "+c.ArgsUsage)))
}

func manCommand(linef func(string, ...any), parent string, c *cli.Command) {
	if len(c.Subcommands) > 0 {
		for _, sub := range c.Subcommands {
			manCommand(linef, parent+" "+c.Name, sub)
		}
		return
	}
	linef(".SS %s\n%s.", roff(strings.TrimSpace(parent+" "+c.Name+" "+c.ArgsUsage)), roff(c.Usage))
	if c.Description != "" {
		linef(".PP\n.nf\n%s\n.fi", roff(c.Description))
	}
	for _, f := range c.VisibleFlags() {
		x := describe(f)
		value := ""
		if x.value != "" {
			value = " \\fI" + roff(x.value) + "\\fR"
		}
		linef(".TP\n\\fB%s\\fR%s\n%s", roff(strings.Join(x.names, ", ")), value, roff(x.usage))
	}
}

// roff makes a text inert for troff: no escape and no line that begins with a
// request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// flagText is what is known of a flag.
type flagText struct {
	names  []string // with their dashes
	value  string   // what stands for its value; empty: it takes none
	usage  string
	values []string // all that can be given; nil: anything
}

func describe(f cli.Flag) flagText {
	x := flagText{}
	for _, n := range f.Names() {
		x.names = append(x.names, dashed(n))
	}
	slices.SortStableFunc(x.names, func(a, b string) int { return len(a) - len(b) })
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return x
	}
	x.usage = d.GetUsage()
	if d.TakesValue() {
		x.value = "VALUE"
	}
	if before, rest, found := strings.Cut(x.usage, "`"); found { // the library's mark for the value's name
		if name, after, closed := strings.Cut(rest, "`"); closed {
			x.value, x.usage = name, before+name+after
		}
	}
	if def := d.GetDefaultText(); def != "" && d.TakesValue() && !strings.Contains(x.usage, "default") {
		x.usage += " (default: " + strings.Trim(def, `"`) + ")"
	}
	x.values = valuesOf(f.Names()[0])
	return x
}

// valuesOf are the values of flags that take one of a list.
func valuesOf(flag string) []string {
	switch flag {
	case flagFormat:
		return run.Formats()
	case flagMinSeverity, flagFailOn:
		return severityNames()
	case flagLang:
		return []string{string(config.English), string(config.Chinese)}
	case flagLogLevel:
		return logLevels()
	case flagLogFormat:
		return []string{formatText, formatJSON}
	case flagProgress:
		return []string{progressAuto, progressOff}
	}
	return nil
}

// codeTable is the list of symptoms and causes as Markdown.
func codeTable(set *rules.Set, w lang.Words) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s | %s |\n| --- | --- | --- |\n", w.Text("symptom"), w.Text("severity"), w.Text("seen when"))
	cells := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	for _, d := range set.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Code, w.Value("level", d.Severity.String()), cells.Replace(w.Text(d.Doc)))
	}
	fmt.Fprintf(&b, "\n| %s | %s | %s |\n| --- | --- | --- |\n", w.Text("cause"), w.Text("woken by"), w.Text("why"))
	for _, r := range set.Rules() {
		on := make([]string, 0, len(r.On))
		for _, code := range r.On {
			on = append(on, "`"+string(code)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Cause, strings.Join(on, ", "), cells.Replace(w.Text(strings.TrimSpace(r.Why))))
	}
	return b.String()
}
