package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/rules/near"
)

// Names of flags that more than one place reads.
const (
	flagFilter      = "filter"
	flagOffline     = "offline"
	flagDiagnose    = "diagnose"
	flagPreview     = "diagnose-preview"
	flagRules       = "rules"
	flagFormat      = "format"
	flagOutput      = "output"
	flagMinSeverity = "min-severity"
	flagFailOn      = "fail-on"
	flagStrict      = "strict"
	flagEvidence    = "evidence"
	flagLang        = "lang"
	flagConfig      = "config"
	flagNoColour    = "no-color"
	flagLogLevel    = "log-level"
	flagLogFormat   = "log-format"
	flagKeyLog      = "tls-keylog"
)

// levelWarn is the level of the log unless told.
const levelWarn = "warn"

func logLevels() []string { return []string{"debug", "info", levelWarn, "error"} }

// Names that flags take.
const (
	formatText = "text"
	formatJSON = "json"
)

// env is the variable that stands for a flag without a key in the configuration.
func env(flag string) []string {
	return []string{config.Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: flagConfig, Usage: "configuration `FILE` (default: $XDG_CONFIG_HOME/netwhy/config.yaml, then /etc/netwhy/config.yaml)"}
}

func rulesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: flagRules, Usage: "rules of your own at `PATH`, added to the built-in ones (same id: replaces); may be repeated"}
}

func langFlag() cli.Flag {
	return &cli.StringFlag{Name: flagLang, Usage: "`LANG`uage of titles, explanations and remedies: en or zh (default: the locale's)"}
}

func noColourFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagNoColour, EnvVars: env(flagNoColour), Usage: "no colours (as NO_COLOR in the environment)"}
}

// runFlags are those that every command which analyses packets has.
func runFlags() []cli.Flag {
	severities := "info, notice, warning or critical"
	return []cli.Flag{
		&cli.StringFlag{Name: flagFilter, Aliases: []string{"f"}, EnvVars: env(flagFilter), Usage: "capture filter `BPF` in tcpdump's syntax, for files too"},
		&cli.BoolFlag{Name: flagOffline, EnvVars: env(flagOffline), Usage: "rules only: no socket is opened and no key is read; wins over every other setting"},
		&cli.BoolFlag{Name: flagDiagnose, EnvVars: env(flagDiagnose), Usage: "ask the LLM about what the rules found; it adds to the report and changes nothing in it"},
		&cli.BoolFlag{Name: flagPreview, EnvVars: env(flagPreview), Usage: "print exactly what would be sent to the LLM, and send nothing"},
		rulesFlag(),
		&cli.StringSliceFlag{Name: flagFormat, EnvVars: env(flagFormat), Usage: "`FORMAT` of the report: " + strings.Join(run.Formats(), ", ") + "; may be repeated, each with its -o"},
		&cli.StringSliceFlag{Name: flagOutput, Aliases: []string{"o"}, EnvVars: env(flagOutput), Usage: "write the report to `PATH` (default: standard output)"},
		&cli.StringFlag{Name: flagMinSeverity, Usage: "show what is at least of `SEVERITY` " + severities},
		&cli.StringFlag{Name: flagFailOn, EnvVars: env(flagFailOn), Usage: "exit with 3 if a diagnosis is at least of `SEVERITY`"},
		&cli.BoolFlag{Name: flagStrict, EnvVars: env(flagStrict), Usage: "exit with 1 if a file ends early or is damaged"},
		&cli.StringFlag{Name: flagEvidence, EnvVars: env(flagEvidence), Usage: "write into `DIR`, per diagnosis, a small pcapng of the frames that prove it"},
		langFlag(),
		noColourFlag(),
		&cli.StringFlag{Name: flagKeyLog, EnvVars: env(flagKeyLog), Usage: "decrypt TLS with the secrets in `FILE` (as SSLKEYLOGFILE writes it)"},
		configFlag(),
		&cli.StringFlag{Name: flagLogLevel, EnvVars: env(flagLogLevel), Value: levelWarn, Usage: "log to standard error from `LEVEL` up: debug, info, warn or error"},
		&cli.StringFlag{Name: flagLogFormat, EnvVars: env(flagLogFormat), Value: formatText, Usage: "`FORMAT` of the log: text or json"},
	}
}

// settings is what flags, environment, file and defaults come to.
type settings struct {
	*config.Loaded
	log     *slog.Logger
	outputs []run.Output
	failOn  *finding.Severity
}

// settings reads everything and tells all that is wrong with it.
func (s *session) settings(c *cli.Context) (*settings, error) {
	log, err := s.logger(c)
	if err != nil {
		return nil, err
	}
	loaded, err := config.Load(c.String(flagConfig), s)
	if err != nil {
		return nil, err
	}
	for _, w := range loaded.Warnings {
		log.WarnContext(c.Context, "a part of the configuration was passed over", slog.String("err", w))
	}
	out := &settings{Loaded: loaded, log: log}
	if err := s.override(c, loaded); err != nil {
		return nil, err
	}
	if c.IsSet(flagFailOn) {
		sev, ok := finding.ParseSeverity(c.String(flagFailOn))
		if !ok {
			return nil, badValue(c, flagFailOn, c.String(flagFailOn), severityNames())
		}
		out.failOn = &sev
	}
	out.outputs, err = s.outputs(c)
	return out, err
}

// override lays the flags over the configuration.
func (*session) override(c *cli.Context, l *config.Loaded) error {
	if c.IsSet(flagLang) {
		if err := l.Report.Lang.UnmarshalText([]byte(c.String(flagLang))); err != nil {
			return badValue(c, flagLang, c.String(flagLang), []string{string(config.English), string(config.Chinese)})
		}
	}
	if c.IsSet(flagMinSeverity) {
		if err := l.Report.MinSeverity.UnmarshalText([]byte(c.String(flagMinSeverity))); err != nil {
			return badValue(c, flagMinSeverity, c.String(flagMinSeverity), severityNames())
		}
	}
	l.Rules = append(l.Rules, c.StringSlice(flagRules)...)
	return nil
}

func severityNames() []string {
	var names []string
	for s := finding.Info; s <= finding.Critical; s++ {
		names = append(names, s.String())
	}
	return names
}

func badValue(c *cli.Context, flag, value string, known []string) error {
	return usagef(c.Command.Name, "--%s %q: use %s%s", flag, value, strings.Join(known, ", "), near.Hint(value, known))
}

// outputs pairs each format with the output that follows it. An output that
// stands before any format belongs to the first format; with no format at all,
// it is for the text.
func (s *session) outputs(c *cli.Context) ([]run.Output, error) {
	order := s.given
	if !slices.ContainsFunc(order, func(g given) bool { return g.name == flagFormat || g.name == flagOutput }) {
		order = nil
		for _, f := range c.StringSlice(flagFormat) { // from the environment
			order = append(order, given{flagFormat, f})
		}
		for _, o := range c.StringSlice(flagOutput) {
			order = append(order, given{flagOutput, o})
		}
	}
	list, err := pair(order)
	if err != nil {
		return nil, usagef(c.Command.Name, "%s", err)
	}
	for _, o := range list {
		if !slices.Contains(run.Formats(), o.Format) {
			return nil, badValue(c, flagFormat, o.Format, run.Formats())
		}
	}
	return list, nil
}

func pair(order []given) ([]run.Output, error) {
	var list []run.Output
	early := "" // an output that waits for its format
	for _, g := range order {
		switch g.name {
		case flagFormat:
			list = append(list, run.Output{Format: g.value, Path: early})
			early = ""
		case flagOutput:
			switch {
			case g.value == "":
				return nil, errors.New("-o needs the name of a file")
			case len(list) > 0 && list[len(list)-1].Path == "":
				list[len(list)-1].Path = g.value
			case len(list) == 0 && early == "":
				early = g.value
			default:
				return nil, fmt.Errorf("-o %s has no format of its own; give each --format one -o", g.value)
			}
		}
	}
	if early != "" {
		list = append(list, run.Output{Format: formatText, Path: early})
	}
	if len(list) == 0 {
		list = []run.Output{{Format: formatText}}
	}
	seen := map[string]string{}
	for _, o := range list {
		where := o.Path
		if where == "-" {
			where = ""
		}
		if other, twice := seen[where]; twice {
			if where == "" {
				return nil, fmt.Errorf("%s and %s would be mixed on standard output; give one of them a file with -o", other, o.Format)
			}
			return nil, fmt.Errorf("%s and %s would both be written to %s", other, o.Format, where)
		}
		seen[where] = o.Format
	}
	return list, nil
}

// logger writes to standard error, never into a report.
func (s *session) logger(c *cli.Context) (*slog.Logger, error) {
	level := slog.LevelWarn
	if v := c.String(flagLogLevel); v != "" {
		if err := level.UnmarshalText([]byte(v)); err != nil {
			return nil, badValue(c, flagLogLevel, v, logLevels())
		}
	}
	opt := &slog.HandlerOptions{Level: level}
	switch v := c.String(flagLogFormat); v {
	case formatText, "":
		return slog.New(slog.NewTextHandler(s.Stderr, opt)), nil
	case formatJSON:
		return slog.New(slog.NewJSONHandler(s.Stderr, opt)), nil
	default:
		return nil, badValue(c, flagLogFormat, v, []string{formatText, formatJSON})
	}
}
