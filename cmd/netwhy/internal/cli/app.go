// Package cli is what a user types: one file a command, with its flags and its
// help, and in this file what all share. Exit codes are decided in one place
// (exitCode), and nothing below main ends the process.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"netwhy/analyze/proto"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
	"netwhy/rules/near"
)

// Exit codes (contract).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFound       = 3
	exitInterrupted = 130
)

// Process is what the operating system gave to the program.
type Process struct {
	Args           []string // with the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string

	Protocols []proto.Spec // what payload is read by; nil: everything netwhy knows
}

// Main runs the command line and returns the exit code.
func Main(p Process) int {
	// A reader that goes away, as head does, is told by the write, not by death:
	// other outputs are to be finished.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // this is where the program's context begins
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt kills
	s := &session{Process: p}
	err := s.run(ctx)
	return s.conclude(err)
}

// session is one run of the program.
type session struct {
	Process
	given   []given // flags of the command line, in order
	outcome run.Outcome
}

// Get and Names make the session a config.Env.
func (s *session) Get(name string) string {
	for _, kv := range slices.Backward(s.Environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// Names lists the variables that are set.
func (s *session) Names() []string {
	var names []string
	for _, kv := range s.Environ {
		if k, _, ok := strings.Cut(kv, "="); ok && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

func (s *session) app() *cli.App {
	app := &cli.App{
		Name:  "netwhy",
		Usage: "why a connection is slow, broken or refused: who is to blame, which frames prove it, what to do",
		UsageText: "netwhy replay FILE...        read captures and say what is wrong\n" +
			"sudo netwhy capture -i IFACE  the same, while it happens\n" +
			"netwhy help COMMAND          flags and examples",
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // "-i weird,name" is one interface
		Suggest:                   true,
		Writer:                    s.Stdout,
		ErrWriter:                 s.Stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // the library would end the process
		OnUsageError:              s.usageError,
		Action:                    s.noCommand,
		Commands: []*cli.Command{
			s.captureCommand(),
			s.replayCommand(),
			s.interfacesCommand(),
			s.rulesCommand(),
			s.configCommand(),
			s.diffCommand(),
			s.explainCommand(),
			s.manCommand(),
			s.completionCommand(),
			s.versionCommand(),
		},
	}
	prepare(app.Commands, s.usageError)
	if s.language() == lang.Chinese {
		translate(app, lang.Of(lang.Chinese))
	}
	return app
}

// prepare gives every command what the library does not hand down.
func prepare(commands []*cli.Command, onUsage cli.OnUsageErrorFunc) {
	for _, c := range commands {
		c.OnUsageError = onUsage
		c.HideHelpCommand = true
		prepare(c.Subcommands, onUsage)
	}
}

func (s *session) run(ctx context.Context) error {
	app := s.app()
	args, given, err := permute(app, s.Args)
	if err != nil {
		return err
	}
	s.given = given
	return app.RunContext(ctx, args)
}

// UsageError is a command line that cannot be meant.
type UsageError struct {
	Message string
	Command string // whose help to look at; empty: the program's
}

func (e *UsageError) Error() string {
	help := "netwhy help"
	if e.Command != "" {
		help += " " + e.Command
	}
	return e.Message + "\nsee: " + help
}

func usagef(command, format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...), Command: command}
}

// usageError turns what the flag package says into what the user typed.
func (*session) usageError(c *cli.Context, err error, _ bool) error {
	command := strings.TrimPrefix(strings.TrimPrefix(commandPath(c), "netwhy"), " ")
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		return usagef(command, "unknown flag %s%s", dashed(name), flagHint(c, name))
	}
	return usagef(command, "%s", err)
}

func commandPath(c *cli.Context) string {
	var path []string
	for _, x := range slices.Backward(c.Lineage()) {
		if x.Command != nil && x.Command.Name != "" && !slices.Contains(path, x.Command.Name) {
			path = append(path, x.Command.Name)
		}
	}
	return strings.Join(path, " ")
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func flagHint(c *cli.Context, name string) string {
	var known []string
	for _, x := range c.Lineage() {
		if x.Command == nil {
			continue
		}
		for _, f := range x.Command.Flags {
			for _, n := range f.Names() {
				known = append(known, dashed(n))
			}
		}
	}
	return near.Hint(dashed(name), known)
}

// noCommand is what the program does when none of its commands was named.
func (*session) noCommand(c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		_ = cli.ShowAppHelp(c) // the exit code says what was wrong
		return &UsageError{}
	}
	var known []string
	for _, cmd := range c.App.Commands {
		known = append(known, cmd.Name)
	}
	msg := fmt.Sprintf("unknown command %q%s", name, near.Hint(name, known))
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		msg = fmt.Sprintf("%q is no command; to read it: netwhy replay %s", name, name)
	}
	return &UsageError{Message: msg}
}

// subcommand is the action of a command that needs a second word.
func (*session) subcommand(c *cli.Context) error {
	var known []string
	for _, cmd := range c.Command.Subcommands {
		known = append(known, cmd.Name)
	}
	name := c.Args().First()
	if name == "" {
		return usagef(c.Command.Name, "%s needs to know what to do: %s", c.Command.Name, strings.Join(known, ", "))
	}
	return usagef(c.Command.Name, "unknown command %q of %s%s", name, c.Command.Name, near.Hint(name, known))
}

// conclude prints what went wrong and decides about the exit code.
func (s *session) conclude(err error) int {
	if err != nil {
		words := lang.Of(s.language())
		for _, e := range flatten(err) {
			text := e.Error()
			if text == "\nsee: netwhy help" { // the help was shown already
				continue
			}
			for i, line := range strings.Split(text, "\n") {
				line = words.Error(line)
				lead := "netwhy: "
				if i > 0 {
					lead = "  "
				}
				fmt.Fprintln(s.Stderr, lead+terminal.Printable(line))
			}
		}
	}
	return exitCode(err, s.outcome)
}

// flatten takes joined errors apart, so that each has its own line.
func flatten(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// exitCode is where all exit codes are decided.
func exitCode(err error, out run.Outcome) int {
	var (
		usage   *UsageError
		conf    *config.Error
		rule    *rules.Error
		rulesAt *run.RulesError
		keyLog  *run.KeyLogError
		filter  *capture.FilterError
	)
	switch {
	case out.Interrupted, errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &conf), errors.As(err, &rule), errors.As(err, &rulesAt), errors.As(err, &keyLog), errors.As(err, &filter):
		return exitUsage
	case err != nil, out.Failed:
		return exitFailed
	case out.Found:
		return exitFound
	}
	return exitDone
}
