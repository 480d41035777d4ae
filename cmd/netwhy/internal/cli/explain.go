package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/explain"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules/near"
)

func (s *session) explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "what a symptom or a cause means, how it is decided, what to do",
		ArgsUsage: "CODE | CAUSE | F1 REPORT.json | D1 REPORT.json",
		Description: "  netwhy explain tcp.zero-window           a symptom: how it is decided, its figures\n" +
			"  netwhy explain receiver-zero-window      a cause: when it is named, what to do\n" +
			"  netwhy explain F3 report.json            finding F3 of a JSON report\n" +
			"  netwhy explain D1 report.json            how diagnosis D1 came about",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: formatJSON, Usage: "for programs: JSON instead of text"},
			rulesFlag(), langFlag(), noColourFlag(), configFlag(),
		},
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
	book := explain.New(set, string(l.Report.Lang))
	name := c.Args().First()
	var (
		what any
		r    *report.Report
	)
	switch symptom, known := book.Symptom(name); {
	case explain.IsID(name):
		if c.NArg() < most {
			return usagef(c.Command.Name, "%s is an id within one report: netwhy explain %s report.json", name, name)
		}
		if r, err = book.Read(c.Args().Get(1)); err != nil {
			return err
		}
		if what = found(book, r, name); what == nil {
			return fmt.Errorf("%s has no %s; it has %d findings and %d diagnoses", c.Args().Get(1), name, len(r.Findings), len(r.Diagnoses))
		}
	case c.NArg() == most:
		return usagef(c.Command.Name, "%s needs no report: netwhy explain %s", name, name)
	case known:
		what = symptom
	default:
		causes := book.Causes(name)
		if len(causes) == 0 {
			return usagef(c.Command.Name, "%q is neither the code of a symptom nor a cause%s", name, near.Hint(name, book.Names()))
		}
		what = causes
	}
	if !c.Bool(formatJSON) {
		return book.Page(s.Stdout, terminal.UseColour(s.Stdout, c.Bool(flagNoColour), s.Get), r, what)
	}
	b, err := json.Marshal(what, "  ")
	if err != nil {
		return err
	}
	return s.say(string(b))
}

// found explains an id; nil: the report has none of this name.
func found(book *explain.Book, r *report.Report, name string) any {
	if name[0] == 'D' {
		if d := book.Diagnosis(r, name); d != nil {
			return d
		}
		return nil
	}
	if f := book.Finding(r, name); f != nil {
		return f
	}
	return nil
}
