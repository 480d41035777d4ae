package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/cmd/netwhy/internal/terminal"
)

func (s *session) configCommand() *cli.Command {
	return &cli.Command{
		Name:   "config",
		Usage:  "the effective configuration, and whether it works",
		Action: s.subcommand,
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "print the effective configuration, each value with where it came from; secrets are masked",
				Flags: []cli.Flag{configFlag()}, Action: s.configShow,
			},
			{
				Name: "check", Usage: "tell all faults of the configuration, and ask each AI endpoint whether it works",
				Flags:  []cli.Flag{configFlag(), &cli.BoolFlag{Name: flagOffline, EnvVars: env(flagOffline), Usage: "ask no endpoint and read no key"}},
				Action: s.configCheck,
			},
		},
	}
}

func (s *session) configShow(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("config show", "config show takes no arguments")
	}
	l, err := config.Load(c.String(flagConfig), s)
	if err != nil {
		return err
	}
	l.Discover(s)
	return l.Show(s.Stdout)
}

func (s *session) configCheck(c *cli.Context) error {
	if c.Args().Present() {
		return usagef("config check", "config check takes no arguments; name a file with --config")
	}
	l, err := config.Load(c.String(flagConfig), s)
	if err != nil {
		return err
	}
	set, err := run.LoadRules(l.Rules)
	if err != nil {
		return err
	}
	var b strings.Builder
	switch l.File {
	case "":
		fmt.Fprintf(&b, "no configuration file (looked for %s): defaults are used\n", strings.Join(l.Searched, ", "))
	default:
		fmt.Fprintf(&b, "%s: good\n", l.File)
	}
	fmt.Fprintf(&b, "rules: %d, all good\n", len(set.IDs()))
	for _, w := range l.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(s.Stdout, terminal.Printable(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return s.checkAI(c, l)
}

// errEndpoints says that the configuration is well formed and does not work.
var errEndpoints = errors.New("some AI endpoints do not answer as they should; the rules work without them")

func (s *session) checkAI(c *cli.Context, l *config.Loaded) error {
	if c.Bool(flagOffline) {
		_, err := fmt.Fprintln(s.Stdout, "AI: not asked, offline")
		return err
	}
	l.Discover(s)
	if len(l.AI.Providers) == 0 {
		_, err := fmt.Fprintln(s.Stdout, "AI: no provider is set up; set OPENAI_API_KEY or DEEPSEEK_API_KEY, or name one under ai.providers")
		return err
	}
	failed, err := run.CheckAI(c.Context, s.Stdout, run.World{Getenv: s.Get, Log: slog.New(slog.DiscardHandler)}, l.AI)
	if err == nil && failed > 0 {
		err = errEndpoints
	}
	return err
}
