package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/run"
)

const flagForce = "force"

func (s *session) diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "what changed between a capture from when it worked and one from now",
		ArgsUsage: "GOOD BAD",
		Description: "Compares the services that both captures have: each part of the time ledger in\n" +
			"seconds of one exchange, round trips, loss, failures, new and gone servers, each\n" +
			"difference with its 95 % interval. Captures of unlike traffic are refused.\n\n" +
			"  netwhy diff monday.pcap today.pcap\n" +
			"  netwhy diff a.pcap b.pcap -f 'port 5432' --format json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagFilter, Aliases: []string{"f"}, EnvVars: env(flagFilter), Usage: "capture filter `BPF` in tcpdump's syntax, for both"},
			&cli.StringFlag{Name: flagFormat, EnvVars: env(flagFormat), Value: formatText, Usage: "`FORMAT`: text or json"},
			&cli.BoolFlag{Name: flagForce, Usage: "compare what is common even where the rest is unlike"},
			langFlag(), configFlag(),
			&cli.StringFlag{Name: flagLogLevel, EnvVars: env(flagLogLevel), Value: levelWarn, Usage: "log to standard error from `LEVEL` up: debug, info, warn or error"},
			&cli.StringFlag{Name: flagLogFormat, EnvVars: env(flagLogFormat), Value: formatText, Usage: "`FORMAT` of the log: text or json"},
		},
		Action: s.diff,
	}
}

func (s *session) diff(c *cli.Context) error {
	const two = 2
	if c.NArg() != two {
		return usagef(c.Command.Name, "diff needs two captures: a good one and a bad one")
	}
	format := c.String(flagFormat)
	if known := []string{formatText, formatJSON}; !slices.Contains(known, format) {
		return badValue(c, flagFormat, format, known)
	}
	set, err := s.settings(c)
	if err != nil {
		return err
	}
	r, err := run.Diff(c.Context, s.world(set), &run.DiffOptions{
		Good: c.Args().Get(0), Bad: c.Args().Get(1), Filter: c.String(flagFilter), Limits: set.Limits, Force: c.Bool(flagForce),
	})
	if err != nil {
		return err
	}
	if format == formatText {
		return r.Text(s.Stdout, string(set.Report.Lang))
	}
	b, err := json.Marshal(r, "  ")
	if err != nil {
		return err
	}
	_, err = s.Stdout.Write(b)
	return err
}
