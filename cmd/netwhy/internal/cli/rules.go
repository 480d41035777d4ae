package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
	"netwhy/rules/near"
)

const flagAll = "all"

func (s *session) rulesCommand() *cli.Command {
	return &cli.Command{
		Name:   "rules",
		Usage:  "what causes are known, and tests for rules of your own",
		Action: s.subcommand,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "all causes, with what wakes them", Action: s.rulesList,
				Flags: []cli.Flag{rulesFlag(), langFlag(), configFlag()},
			},
			{
				Name: "show", Usage: "one rule: condition, reason, texts, remedies", ArgsUsage: "ID", Action: s.rulesShow,
				Flags: []cli.Flag{rulesFlag(), langFlag(), configFlag()},
			},
			{
				Name: "check", Usage: "tell all faults and omissions of rule files, each with its place", ArgsUsage: "PATH...", Action: s.rulesCheck,
				Flags: []cli.Flag{&cli.BoolFlag{Name: flagAll, Usage: "the built-in rules too"}},
			},
			{
				Name: "test", Usage: "judge captures: a table of labels, the captures that rules name, or any capture", ArgsUsage: "FILE...", Action: s.rulesTest,
				Description: "FILE may be a table of labels (LABELS.tsv, or a folder with one): prints how often\n" +
					"the right cause came first; a rule file: runs the captures that its rules name as\n" +
					"fires and silent; or a capture: prints what the rules say of it.",
				Flags: []cli.Flag{rulesFlag(), configFlag()},
			},
		},
	}
}

// ruleSet loads the rules that the command line and the configuration name.
func (s *session) ruleSet(c *cli.Context) (*rules.Set, *config.Loaded, error) {
	l, err := config.Load(c.String(flagConfig), s)
	if err != nil {
		return nil, nil, err
	}
	if err := s.override(c, l); err != nil {
		return nil, nil, err
	}
	set, err := run.LoadRules(l.Rules)
	return set, l, err
}

func (s *session) rulesList(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("rules list", "rules list takes no arguments; to see one: netwhy rules show %s", c.Args().First())
	}
	set, l, err := s.ruleSet(c)
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range set.Rules() {
		from := ""
		if !r.Builtin {
			from = "  (" + r.Pos.File + ")"
		}
		if _, err := fmt.Fprintf(tw, "%s\t%s\t%s\n", terminal.Printable(r.ID), strings.Join(r.Severities(), "/"), terminal.Printable(r.Title(string(l.Report.Lang))+from)); err != nil {
			return err
		}
	}
	return tw.Flush()
}

func (s *session) rulesShow(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("rules show", "rules show needs the id of one rule; netwhy rules list has them")
	}
	set, l, err := s.ruleSet(c)
	if err != nil {
		return err
	}
	id := c.Args().First()
	r, ok := set.Rule(id)
	if !ok {
		return usagef("rules show", "no rule %q%s", id, near.Hint(id, set.IDs()))
	}
	return showRule(s.Stdout, r, string(l.Report.Lang))
}

// showRule writes a rule for people; its texts are the author's, with ${...} as
// written.
func showRule(w io.Writer, r *rules.Rule, language string) error {
	words := lang.Of(language)
	var b strings.Builder
	line := func(label, text string) {
		const width = 13
		label = words.Value("label", label)
		if text != "" {
			for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
				if i > 0 {
					label = ""
				}
				fmt.Fprintf(&b, "%s%s%s\n", label, strings.Repeat(" ", width-terminal.Width(label)), terminal.Printable(l))
			}
		}
	}
	line("rule", r.ID)
	if string(r.Cause) != r.ID {
		line("cause", string(r.Cause))
	}
	line("from", r.Pos.String())
	line("severity", strings.Join(r.Severities(), ", "))
	line("blame", strings.Join(r.Culprits(), ", "))
	line("scope", r.Scope.String())
	line("woken by", codes(r.On))
	line("explains", codes(r.Explains))
	line("when", r.When)
	line("why", words.Text(r.Why))
	line("title", r.Title(language))
	line("explanation", r.Explanation(language))
	for _, t := range r.Remedies(language) {
		line("remedy", t)
	}
	var rivals []string
	for _, x := range r.Rivals() {
		rivals = append(rivals, string(x))
	}
	line("rules out", strings.Join(rivals, ", "))
	line("references", strings.Join(r.Refs, "; "))
	_, err := io.WriteString(w, b.String())
	return err
}

func codes(list []finding.Code) string {
	var out []string
	for _, c := range list {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}

func (s *session) rulesCheck(c *cli.Context) error {
	if !c.Args().Present() && !c.Bool(flagAll) {
		return usagef("rules check", "rules check needs a rule file or a folder of them (or --all for those built in)")
	}
	dirs, err := run.RuleDirs(c.Args().Slice())
	if err != nil {
		return err
	}
	set, err := rules.Load(analyze.Defs(), dirs...)
	if err != nil {
		return err
	}
	if err := set.Check(c.Bool(flagAll)); err != nil {
		return err
	}
	n := 0
	for _, r := range set.Rules() {
		if c.Bool(flagAll) || !r.Builtin {
			n++
		}
	}
	if n == 0 {
		return usagef("rules check", "no rules in %s; rule files end in .yaml", strings.Join(c.Args().Slice(), ", "))
	}
	_, err = fmt.Fprintf(s.Stdout, "%d rules, all good\n", n)
	return err
}

// errMisses says that captures were judged otherwise than they should.
var errMisses = errors.New("some captures were not judged as they should be")
