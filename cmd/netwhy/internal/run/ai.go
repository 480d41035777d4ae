package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"netwhy/aidiag"
	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// engine makes the engine of a run; it opens no socket and reads no key yet. The
// model may name causes besides those that it is told about.
func engine(w World, opt *Options, codes []finding.Def, causes ...string) (*aidiag.Engine, error) {
	var mu sync.Mutex // guards standard error
	interactive := terminal.IsTerminal(w.Stderr)
	return aidiag.New(opt.AI, aidiag.Deps{
		Defs: codes, Causes: causes, Lang: string(opt.Lang), Getenv: w.Getenv, Log: w.Log,
		Observe: func(e aidiag.Event) {
			if e.Kind == aidiag.EventRetry && !interactive {
				return // of the moment: nobody is watching
			}
			mu.Lock()
			defer mu.Unlock()
			_, _ = fmt.Fprintln(w.Stderr, "netwhy: "+terminal.Printable(e.Text)) // a terminal that is gone is told by the report
		},
	})
}

// publicCauses are the names of causes that everybody's netwhy has: those of the
// built-in rules. What a site calls its own troubles is its own matter, and leaves
// under a pseudonym.
func publicCauses(set *rules.Set) []string {
	var names []string
	for _, r := range set.Rules() {
		if name := string(r.Cause); r.Builtin && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// cases are the questions about the diagnoses that are shown.
func cases(res *analyze.Result, said []diagnosis.Diagnosis, least finding.Severity) []aidiag.Case {
	all := aidiag.Cases(aidiag.Result{Findings: res.Findings, Connection: res.Connection, Trust: res.Trust}, said)
	var out []aidiag.Case
	for i := range all {
		if all[i].Local.Severity >= least && all[i].Local.More == 0 { // those that are told one by one are asked about
			out = append(out, all[i])
		}
	}
	return out
}

// addAI adds to the report what the model said. The diagnoses of the rules stay
// as they are, where they are.
func addAI(r *report.Report, a *assembler, answers []aidiag.Answer, lang config.Lang) {
	s := aidiag.Summarize(answers, string(lang))
	ai := &report.AI{
		State: string(s.State), Reason: s.Reason, Provider: s.Provider, Endpoint: s.Endpoint, Model: s.Model,
		Tokens:         report.AITokens{Prompt: s.Tokens.Prompt, Completion: s.Tokens.Completion},
		RejectedClaims: []any{}, Decisions: []any{}, Notices: []string{},
	}
	for _, c := range s.Rejected {
		ai.RejectedClaims = append(ai.RejectedClaims, c)
	}
	for _, d := range s.Decisions {
		ai.Decisions = append(ai.Decisions, d)
	}
	for _, n := range s.Notices {
		ai.Notices = append(ai.Notices, n.Text)
	}
	r.AI = ai
	next := a.said
	for _, about := range r.Diagnoses {
		for i := range answers {
			x := &answers[i]
			if x.Case != about.ID || x.State != aidiag.Answered && x.State != aidiag.Partial {
				continue
			}
			d := a.diagnosis(next, &x.Diagnosis)
			next++
			d.About, d.Agrees = about.ID, x.Agrees
			for _, alt := range x.Alternatives {
				d.Alternatives = append(d.Alternatives, report.Alternative{
					Cause: string(alt.Cause), Why: alt.Why, Command: alt.Next.Command, TellsApart: alt.Next.TellsApart,
				})
			}
			for _, l := range x.Looks {
				d.Looks = append(d.Looks, report.Look{Text: l.Text, Filter: l.Filter})
			}
			r.Diagnoses = append(r.Diagnoses, d)
			a.show(r, x.Diagnosis.Evidence)
		}
	}
}

// off is the section "ai" of a run in which nobody was to be asked.
func off(reason string, lang config.Lang) *report.AI {
	if lang == config.Chinese {
		reason = map[string]string{reasonOffline: "离线", reasonInterrupted: "已中断"}[reason]
	}
	return &report.AI{State: string(aidiag.Off), Reason: reason, RejectedClaims: []any{}, Decisions: []any{}, Notices: []string{}}
}

// Reasons of a run without questions.
const (
	reasonOffline     = "offline"
	reasonInterrupted = "interrupted"
)

// preview writes exactly the bytes that would leave, one question behind the
// other, and where they would go to standard error.
func preview(w World, e *aidiag.Engine, questions []aidiag.Case) error {
	if len(questions) == 0 {
		_, err := fmt.Fprintln(w.Stderr, "netwhy: nothing was found to ask about; nothing would be sent")
		return err
	}
	for i := range questions {
		to, body, err := e.Preview(questions[i])
		if err != nil {
			return fmt.Errorf("preview %s: %w", questions[i].ID, err)
		}
		note := fmt.Sprintf("netwhy: %s would go to %s: %d bytes", questions[i].ID, to, len(body))
		if _, err := fmt.Fprintln(w.Stderr, terminal.Printable(note)); err != nil {
			return err
		}
		if _, err := w.Stdout.Write(append(body, '\n')); err != nil {
			return &OutputError{Path: "standard output", Err: bare(err)}
		}
	}
	return nil
}

// CheckAI asks every endpoint and writes what works, one line each, with the
// remedy where it does not. It returns how many do not.
func CheckAI(ctx context.Context, out io.Writer, w World, cfg aidiag.Config) (failed int, err error) {
	e, err := aidiag.New(cfg, aidiag.Deps{Getenv: w.Getenv, Log: w.Log})
	if err != nil {
		return 0, err
	}
	for _, c := range e.Check(ctx) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", c.Provider, c.Endpoint)
		if c.KeyFrom != "" {
			b.WriteString(" (key from " + c.KeyFrom + ")")
		}
		if c.Proxy != "" {
			b.WriteString(" by the proxy " + c.Proxy)
		}
		if c.OK {
			b.WriteString(": works, " + strconv.FormatInt(c.Latency.Milliseconds(), 10) + " ms, model " + c.Model + listed(c.Models))
		} else {
			failed++
			b.WriteString(": " + c.Problem)
			if c.Remedy != "" {
				b.WriteString("; " + c.Remedy)
			}
		}
		if _, err := fmt.Fprintln(out, terminal.Printable(b.String())); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// listed says which models an endpoint offers; not every one tells.
func listed(models []string) string {
	const most = 5
	switch n := len(models); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("; it offers %s and %d more", strings.Join(models[:most], ", "), n-most)
	}
	return "; it offers " + strings.Join(models, ", ")
}
