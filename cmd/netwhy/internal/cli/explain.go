package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
	"netwhy/rules/near"
)

func (s *session) explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "what a symptom or a cause means, how it is decided, what to do",
		ArgsUsage: "CODE | CAUSE | F1 REPORT.json | D1 REPORT.json",
		Description: "  netwhy explain tcp.zero-window           a symptom: how it is decided, its figures\n" +
			"  netwhy explain receiver-zero-window      a cause: when it is named, what to do\n" +
			"  netwhy explain F3 report.json            finding F3 of a JSON report",
		Flags:  []cli.Flag{rulesFlag(), langFlag(), configFlag()},
		Action: s.explain,
	}
}

func (s *session) explain(c *cli.Context) error {
	const most = 2
	if c.NArg() == 0 || c.NArg() > most {
		return usagef(c.Command.Name, "explain needs a code, a cause, or an id and the JSON report it is from")
	}
	set, l, err := s.ruleSet(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	e := &explainer{w: s.Stdout, set: set, lang: string(l.Report.Lang)}
	if id.MatchString(name) {
		if c.NArg() < most {
			return usagef(c.Command.Name, "%s is an id within one report: netwhy explain %s report.json", name, name)
		}
		return e.fromReport(name, c.Args().Get(1))
	}
	if c.NArg() == most {
		return usagef(c.Command.Name, "%s needs no report: netwhy explain %s", name, name)
	}
	if e.code(name) || e.cause(name) {
		return e.err
	}
	return usagef(c.Command.Name, "%q is neither the code of a symptom nor a cause%s", name, near.Hint(name, e.names()))
}

var id = regexp.MustCompile(`^[FD][1-9][0-9]*$`)

type explainer struct {
	w    io.Writer
	set  *rules.Set
	lang string
	err  error // the first of writing
}

func (e *explainer) print(format string, args ...any) {
	if e.err != nil {
		return
	}
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		_, err := fmt.Fprintln(e.w, terminal.Printable(strings.TrimRight(line, "\n")))
		e.err = errors.Join(e.err, err)
	}
}

func (e *explainer) names() []string {
	var out []string
	for _, d := range e.set.Codes() {
		out = append(out, string(d.Code))
	}
	for _, r := range e.set.Rules() {
		out = append(out, string(r.Cause))
	}
	return out
}

// code explains a symptom; false: there is none of this name.
func (e *explainer) code(name string) bool {
	for _, d := range e.set.Codes() {
		if string(d.Code) != name {
			continue
		}
		e.print("%s  (symptom, %s)\n", d.Code, d.Severity)
		e.print("  %s\n", d.Doc)
		for i, m := range d.Metrics {
			label := ""
			if i == 0 {
				label = "figures"
			}
			e.print("  %-9s %-22s %s\n", label, m.Name, m.Doc)
		}
		var woken []string
		for _, r := range e.set.Rules() {
			if slices.Contains(r.On, d.Code) || slices.Contains(r.Explains, d.Code) {
				woken = append(woken, string(r.Cause))
			}
		}
		if len(woken) > 0 {
			e.print("  %-9s %s\n", "causes", strings.Join(woken, ", "))
		}
		return true
	}
	return false
}

// cause explains a root cause by its rules; false: no rule names it.
func (e *explainer) cause(name string) bool {
	found := false
	for _, r := range e.set.Rules() {
		if string(r.Cause) == name || r.ID == name {
			found = true
			e.err = errors.Join(e.err, showRule(e.w, r, e.lang))
		}
	}
	return found
}

// maxReport bounds the report that is read back.
const maxReport = 256 << 20

func (e *explainer) fromReport(name, path string) error {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("read report: %w; name a file made with --format json -o", err)
	}
	var r struct {
		Schema    string
		Findings  []json.RawMessage
		Diagnoses []json.RawMessage
	}
	err = json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&r)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read report %s: %w; name a file made with --format json -o", path, err)
	}
	if r.Schema != report.Schema {
		return fmt.Errorf("read report %s: its schema is %q, not %q; make it anew with this version", path, r.Schema, report.Schema)
	}
	for _, raw := range slices.Concat(r.Findings, r.Diagnoses) {
		var head struct{ ID, Code, Cause string }
		if err := json.Unmarshal(raw, &head); err != nil {
			return fmt.Errorf("read report %s: %w", path, err)
		}
		if head.ID != name {
			continue
		}
		var whole map[string]any
		if err := json.Unmarshal(raw, &whole); err != nil {
			return fmt.Errorf("read report %s: %w", path, err)
		}
		pretty, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			return fmt.Errorf("show %s: %w", name, err)
		}
		e.print("%s\n", pretty)
		if head.Code != "" {
			e.code(head.Code)
		} else {
			e.cause(head.Cause)
		}
		return e.err
	}
	return fmt.Errorf("%s has no %s; it has %d findings and %d diagnoses", path, name, len(r.Findings), len(r.Diagnoses))
}
