package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// given is one flag as it stands on the command line.
type given struct {
	name  string // the flag's first name
	value string
}

// permute moves flags in front of the arguments. The library stops reading flags
// at the first argument and passes over what follows without a word: "netwhy
// replay incident.pcapng --offline" would not run offline. Flags may also stand
// before the command. After "--" everything is an argument.
func permute(app *cli.App, args []string) ([]string, []given, error) {
	if len(args) == 0 {
		return args, nil, nil
	}
	var (
		command []string // names of command and subcommand
		flags   []string
		rest    []string
		order   []given
		known   = app.Commands
		at      *cli.Command // nil until the command is found
		words   = args[1:]
	)
	for left := words; len(left) > 0; {
		w := left[0]
		left = left[1:]
		switch {
		case w == "--":
			rest = append(rest, left...)
			left = nil
		case w == "-" || !strings.HasPrefix(w, "-"):
			if c := named(known, w); c != nil && len(rest) == 0 {
				at, known = c, c.Subcommands
				command = append(command, w)
				continue
			}
			rest = append(rest, w)
			if len(command) == 0 { // no command stands first: "-x file" names none
				known = nil
			}
		default:
			name, value, joined := strings.Cut(strings.TrimLeft(w, "-"), "=")
			f := find(app, at, name)
			flags = append(flags, w)
			if f == nil || !takesValue(f) {
				if f != nil {
					order = append(order, given{f.Names()[0], value})
				}
				continue
			}
			if !joined {
				if len(left) == 0 {
					return nil, nil, usagef(strings.Join(command, " "), "flag %s needs a value", w)
				}
				value, left = left[0], left[1:]
				flags = append(flags, value)
			}
			order = append(order, given{f.Names()[0], value})
		}
	}
	out := append([]string{args[0]}, command...)
	out = append(out, flags...)
	if len(rest) > 0 || len(words) > 0 && slices.Contains(words, "--") {
		out = append(append(out, "--"), rest...)
	}
	return out, order, nil
}

func named(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// find looks a flag up in the command, or in all while the command is not known.
func find(app *cli.App, at *cli.Command, name string) cli.Flag {
	if at != nil {
		if f := flagOf(at, name); f != nil || len(at.Subcommands) == 0 {
			return f
		}
		return flagBelow(at.Subcommands, name)
	}
	return flagBelow(app.Commands, name)
}

func flagBelow(commands []*cli.Command, name string) cli.Flag {
	for _, c := range commands {
		if f := flagOf(c, name); f != nil {
			return f
		}
		if f := flagBelow(c.Subcommands, name); f != nil {
			return f
		}
	}
	return nil
}

func flagOf(c *cli.Command, name string) cli.Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}
