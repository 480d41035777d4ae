package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

const completionName = "completion" // of the command

const (
	shellBash = "bash"
	shellZsh  = "zsh"
	shellFish = "fish"
)

func (s *session) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      completionName,
		Usage:     "write the completion of a shell: bash, zsh or fish",
		ArgsUsage: "SHELL",
		Description: "  netwhy completion bash > /etc/bash_completion.d/netwhy\n" +
			"  netwhy completion zsh  > /usr/local/share/zsh/site-functions/_netwhy\n" +
			"  netwhy completion fish > ~/.config/fish/completions/netwhy.fish",
		Action: s.completion,
	}
}

// completion writes a script that needs no call of the program: it works over a
// slow link, and for a user who may not run it.
func (s *session) completion(c *cli.Context) error {
	known := []string{shellBash, shellZsh, shellFish}
	if c.NArg() != 1 || !slices.Contains(known, c.Args().First()) {
		return usagef(c.Command.Name, "completion needs a shell: %s", strings.Join(known, ", "))
	}
	leaves := leavesOf("", s.app().Commands)
	switch c.Args().First() {
	case shellBash:
		return s.say(bashScript(leaves))
	case shellZsh:
		return s.say(zshScript(leaves))
	default:
		return s.say(fishScript(leaves))
	}
}

// leaf is a command that does something: "replay", or "rules list".
type leaf struct {
	path  string
	usage string
	flags []flagText
	words []string // that may follow: subcommands
}

func leavesOf(parent string, commands []*cli.Command) []leaf {
	var out []leaf
	for _, c := range commands {
		path := strings.TrimSpace(parent + " " + c.Name)
		l := leaf{path: path, usage: c.Usage}
		for _, f := range c.VisibleFlags() {
			x := describe(f)
			if c.Name == "diff" && f.Names()[0] == flagFormat {
				x.values = []string{formatText, formatJSON}
			}
			l.flags = append(l.flags, x)
		}
		for _, sub := range c.Subcommands {
			l.words = append(l.words, sub.Name)
		}
		if c.Name == completionName {
			l.words = []string{shellBash, shellZsh, shellFish}
		}
		out = append(out, l)
		out = append(out, leavesOf(path, c.Subcommands)...)
	}
	return out
}

func topLevel(leaves []leaf) []string {
	var out []string
	for _, l := range leaves {
		if !strings.Contains(l.path, " ") {
			out = append(out, l.path)
		}
	}
	return append(out, "help")
}

func bashScript(leaves []leaf) string {
	var b strings.Builder
	b.WriteString("# bash completion of netwhy; made by: netwhy completion bash\n_netwhy() {\n" +
		"\tlocal cur prev cmd word i\n\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd=\n" +
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tword=${COMP_WORDS[i]}\n\t\tcase \"$cmd $word\" in\n")
	for _, l := range leaves {
		parent, name := split(l.path)
		fmt.Fprintf(&b, "\t\t\t\"%s %s\") cmd='%s' ;;\n", parent, name, l.path)
	}
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$prev\" in\n")
	seen := map[string]bool{}
	for _, l := range leaves {
		for _, f := range l.flags {
			key := strings.Join(f.names, "|")
			if len(f.values) == 0 || seen[key] {
				continue
			}
			seen[key] = true
			fmt.Fprintf(&b, "\t\t%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", key, strings.Join(f.values, " "))
		}
	}
	b.WriteString("\tesac\n\tcase \"$cmd\" in\n")
	fmt.Fprintf(&b, "\t\t'') COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", strings.Join(topLevel(leaves), " "))
	for _, l := range leaves {
		var flags []string
		for _, f := range l.flags {
			flags = append(flags, f.names...)
		}
		fmt.Fprintf(&b, "\t\t'%s') [[ $cur == -* ]] && COMPREPLY=($(compgen -W '%s' -- \"$cur\")) && return\n", l.path, strings.Join(flags, " "))
		if len(l.words) > 0 {
			fmt.Fprintf(&b, "\t\t\tCOMPREPLY=($(compgen -W '%s' -- \"$cur\")); return\n", strings.Join(l.words, " "))
		}
		b.WriteString("\t\t\t;;\n")
	}
	b.WriteString("\tesac\n\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -o filenames -F _netwhy netwhy\n")
	return b.String()
}

func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, ' ')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// quoted is a text within single quotes, for the shells' lists of descriptions.
func quoted(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`).Replace(s) + "'"
}

func zshScript(leaves []leaf) string {
	var b strings.Builder
	b.WriteString("#compdef netwhy\n# zsh completion of netwhy; made by: netwhy completion zsh\n_netwhy() {\n\tlocal -a commands\n\tcommands=(\n")
	plain := strings.NewReplacer(":", `\:`, "[", "(", "]", ")", "\n", " ")
	for _, l := range leaves {
		if !strings.Contains(l.path, " ") {
			fmt.Fprintf(&b, "\t\t%s\n", quoted(l.path+":"+plain.Replace(l.usage)))
		}
	}
	b.WriteString("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal cmd=$words[2]\n")
	for _, l := range leaves {
		if len(l.words) > 0 {
			fmt.Fprintf(&b, "\tif [[ $cmd == %s ]] && ((CURRENT == 3)); then\n\t\tcompadd %s\n\t\treturn\n\tfi\n", l.path, strings.Join(l.words, " "))
		}
	}
	b.WriteString("\tcase \"$words[2] $words[3]\" in\n")
	writeCases(&b, leaves, plain, func(path string) bool { return strings.Contains(path, " ") }, "%s")
	writeCases(&b, leaves, plain, func(path string) bool { return !strings.Contains(path, " ") }, "%s *")
	b.WriteString("\tesac\n}\n_netwhy \"$@\"\n")
	return b.String()
}

func writeCases(b *strings.Builder, leaves []leaf, plain *strings.Replacer, want func(string) bool, pattern string) {
	for _, l := range leaves {
		if !want(l.path) {
			continue
		}
		fmt.Fprintf(b, "\t\t%s)\n\t\t\t_arguments \\\n", strings.ReplaceAll(fmt.Sprintf(pattern, l.path), " ", `\ `))
		for _, f := range l.flags {
			for _, n := range f.names {
				spec := "*" + n + "[" + plain.Replace(f.usage) + "]"
				switch {
				case len(f.values) > 0:
					spec += ":" + f.value + ":(" + strings.Join(f.values, " ") + ")"
				case f.value != "":
					spec += ":" + f.value + ":_files"
				}
				fmt.Fprintf(b, "\t\t\t\t%s \\\n", quoted(spec))
			}
		}
		b.WriteString("\t\t\t\t'*:file:_files'\n\t\t\t;;\n")
	}
}

func fishScript(leaves []leaf) string {
	var b strings.Builder
	b.WriteString("# fish completion of netwhy; made by: netwhy completion fish\n")
	for _, l := range leaves {
		parent, name := split(l.path)
		when := "__fish_use_subcommand"
		if parent != "" {
			when = "__fish_seen_subcommand_from " + parent
		}
		fmt.Fprintf(&b, "complete -c netwhy -n %s -a %s -d %s\n", quoted(when), name, quoted(l.usage))
		if l.path == completionName {
			fmt.Fprintf(&b, "complete -c netwhy -n '__fish_seen_subcommand_from completion' -f -a %s\n", quoted(strings.Join(l.words, " ")))
		}
		for _, f := range l.flags {
			fmt.Fprintf(&b, "complete -c netwhy -n %s", quoted("__fish_seen_subcommand_from "+name))
			for _, n := range f.names {
				if long, ok := strings.CutPrefix(n, "--"); ok {
					fmt.Fprintf(&b, " -l %s", long)
				} else {
					fmt.Fprintf(&b, " -s %s", n[1:])
				}
			}
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, " -x -a %s", quoted(strings.Join(f.values, " ")))
			case f.value != "":
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", quoted(f.usage))
		}
	}
	return b.String()
}
