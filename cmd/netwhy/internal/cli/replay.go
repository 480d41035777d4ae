package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/resident"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/cmd/netwhy/internal/terminal"
)

const (
	flagSpeed    = "speed"
	flagProgress = "progress"
	speedMax     = "max"
	progressAuto = "auto"
	progressOff  = "never"
)

func (s *session) replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "read captures and say what is wrong",
		ArgsUsage: "FILE... | -",
		Description: "Reads pcap and pcapng, also packed with gzip, zstd or lz4; several files are one\n" +
			"timeline; - is standard input.\n\n" +
			"  netwhy replay incident.pcapng\n" +
			"  netwhy replay monday-*.pcap.gz --format text --format json -o report.json\n" +
			"  tcpdump -i eth0 -w - port 443 | netwhy replay -\n\n" +
			"Exit codes: 0 done; 1 it could not do its work; 2 wrong usage or configuration;\n" +
			"3 done, and something at or above --fail-on was found; 130 interrupted (the\n" +
			"report is still written).",
		Flags: append(runFlags(),
			&cli.StringFlag{Name: flagSpeed, EnvVars: env(flagSpeed), Value: speedMax, Usage: "`PACE`: max, or a multiple of the capture's own such as 1x or 10x"},
			&cli.StringFlag{Name: flagProgress, EnvVars: env(flagProgress), Value: progressAuto, Usage: "`WHEN` to show a progress bar: auto (on a terminal, after a second) or never"},
		),
		Action: s.replay,
	}
}

func (s *session) replay(c *cli.Context) error {
	files := c.Args().Slice()
	if len(files) == 0 {
		return usagef(c.Command.Name, "replay needs a capture: one or more files, or - for standard input")
	}
	for _, f := range files {
		if f == "-" && terminal.IsReader(s.Stdin) {
			return usagef(c.Command.Name, "standard input is a terminal: send a capture into it, as in tcpdump -w - | netwhy replay -")
		}
	}
	set, err := s.settings(c)
	if err != nil {
		return err
	}
	speed, err := parseSpeed(c)
	if err != nil {
		return err
	}
	switch c.String(flagProgress) {
	case progressAuto, progressOff:
	default:
		return badValue(c, flagProgress, c.String(flagProgress), []string{progressAuto, progressOff})
	}
	resident.Forget()
	s.outcome, err = run.Replay(c.Context, s.world(set), &run.Options{
		Files: files, Filter: c.String(flagFilter), KeyLog: c.String(flagKeyLog), Rules: set.Rules, Outputs: set.outputs,
		MinSeverity: finding.Severity(set.Report.MinSeverity), FailOn: set.failOn, Strict: c.Bool(flagStrict),
		Lang: set.Report.Lang, NoColour: c.Bool(flagNoColour), Progress: c.String(flagProgress) == progressAuto,
		Speed: speed, Limits: set.Limits,
		AI: set.AI, Diagnose: c.Bool(flagDiagnose), Preview: c.Bool(flagPreview), Offline: c.Bool(flagOffline),
		Evidence: c.String(flagEvidence),
	})
	return err
}

func (s *session) world(set *settings) run.World {
	return run.World{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Getenv: s.Get, Log: set.log, Version: version(), Protocols: s.Protocols}
}

// parseSpeed reads "max", "10x" or "0.5x"; 0 is as fast as can be.
func parseSpeed(c *cli.Context) (float64, error) {
	text := c.String(flagSpeed)
	if text == speedMax {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "x")
	v, err := strconv.ParseFloat(number, 64)
	const most = 1e6
	if !ok || err != nil || math.IsNaN(v) || v <= 0 || v > most {
		return 0, usagef(c.Command.Name, "--%s %q: use max, or a multiple such as 1x or 10x", flagSpeed, text)
	}
	return v, nil
}
