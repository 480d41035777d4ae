package run

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"

	"netwhy/aidiag"
	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/resident"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/cmd/netwhy/internal/trace"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// World is what a run may touch besides the files that are named to it.
type World struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Log            *slog.Logger
	Version        string
	Protocols      []proto.Spec // what payload is read by; nil: everything there is
}

// Options of a replay.
type Options struct {
	Files       []string
	Filter      string
	KeyLog      string // a TLS key log file
	Rules       []string
	Loaded      *rules.Set // rules that were loaded before; nil: the built-in ones and Rules
	Outputs     []Output
	MinSeverity finding.Severity
	FailOn      *finding.Severity // nil: nothing that is found is a failure
	Strict      bool              // a damaged file is a failure
	Lang        config.Lang
	NoColour    bool
	Progress    bool
	Speed       float64 // times the capture's own pace; 0: as fast as can be
	Limits      config.Limits
	AI          aidiag.Config
	Diagnose    bool   // ask the model about what the rules found
	Preview     bool   // print what would be asked, ask nothing, and write no report
	Offline     bool   // wins over both: no socket, no key
	Evidence    string // folder for the frames that prove each diagnosis; empty: none
}

// Outcome is what a run came to, for whoever decides about the exit code.
type Outcome struct {
	Interrupted bool // the context ended before the source did
	Found       bool // something at or above Options.FailOn
	Failed      bool // some of the work could not be done; the report was written all the same
}

// Replay reads capture files to their end, or to the end of ctx, and writes the
// report. What is wrong with the options is returned before a packet is read.
func Replay(ctx context.Context, w World, opt *Options) (Outcome, error) {
	defer tuneHeap(w.Getenv)()
	set := loadRules(opt)
	defer func() { _, _ = set() }() // nothing is left running
	if len(opt.Rules) > 0 {         // the user's rules may be at fault: that is told before a packet is read
		if _, err := set(); err != nil {
			return Outcome{}, err
		}
	}
	if err := prepareEvidence(opt); err != nil {
		return Outcome{}, err
	}
	secrets, err := readKeyLog(opt.KeyLog)
	if err != nil {
		return Outcome{}, err
	}
	file, err := capture.Open(ctx, opt.Files, capture.Options{Filter: opt.Filter, Stdin: w.Stdin})
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		if err := file.Close(); err != nil {
			w.Log.WarnContext(ctx, "closing the capture failed", slog.Any("err", err))
		}
	}()
	outs, err := openOutputs(w, opt)
	if err != nil {
		return Outcome{}, err
	}
	w.Log.InfoContext(ctx, "reading begins", slog.Any("file", opt.Files))
	res, meter, runErr := analyse(ctx, w, opt, file, secrets, outs, set)
	resident.Forget() // the code of the analysis: judging and writing have their own
	judge, err := set()
	if err != nil {
		return Outcome{}, errors.Join(err, outs.close())
	}
	out, err := conclude(ctx, w, opt, judge, file, outs, res, meter, runErr)
	return out, errors.Join(err, outs.close())
}

// analyse runs the analysis beside the progress bar.
func analyse(ctx context.Context, w World, opt *Options, file *capture.File, secrets []byte, outs *outputs,
	set func() (*rules.Set, error),
) (*analyze.Result, *trace.Meter, error) {
	if opt.Limits.Memory > 0 {
		debug.SetMemoryLimit(int64(opt.Limits.Memory))
	}
	var src analyze.Source = file
	if opt.Speed > 0 {
		src = newPaced(file, opt.Speed)
	}
	if opt.Progress && terminal.IsTerminal(w.Stderr) {
		bar := startProgress(ctx, w.Stderr, file, opt.Lang, func(ctx context.Context) string {
			return provisional(ctx, opt, set, file.Progress().Size)
		})
		defer bar.stop()
	}
	src, meter := outs.measured(src)
	res, err := analyze.Run(ctx, src, analyze.Options{
		Workers:        int(opt.Limits.Workers),
		MaxConnections: int(opt.Limits.Connections),
		Secrets:        secrets,
		Protocols:      w.Protocols,
		Connection:     outs.connections(),
		Found:          outs.seen(opt.MinSeverity),
		Diary:          outs.diary,
	}, nil)
	return res, meter, err
}

// conclude judges what was found and writes the report; runErr is what ended
// the analysis early.
func conclude(ctx context.Context, w World, opt *Options, set *rules.Set, file *capture.File, outs *outputs,
	res *analyze.Result, meter *trace.Meter, runErr error,
) (Outcome, error) {
	out := Outcome{Interrupted: runErr != nil && ctx.Err() != nil}
	var open *capture.OpenError
	if runErr != nil && !out.Interrupted {
		if errors.As(runErr, &open) || res == nil || res.Packets == 0 {
			return out, runErr
		}
		out.Failed = true
		w.Log.ErrorContext(ctx, "the analysis ended early; the report has what was found before", slog.Any("err", runErr))
	}
	begun := make(chan *assembler, 1)
	go func() { begun <- newAssembler(res, set.Codes(), opt.MinSeverity) }() // beside the rules, which leave the result as it is
	diagnoses, faults := set.Diagnose(Judged(res), rules.Options{Lang: string(opt.Lang)})
	for _, f := range faults {
		w.Log.WarnContext(ctx, "a rule could not be evaluated", slog.Any("err", f))
	}
	for i := range diagnoses {
		out.Found = out.Found || opt.FailOn != nil && diagnoses[i].Severity >= *opt.FailOn
	}
	info := file.Info()
	r, a := (<-begun).report(&info, diagnoses)
	r.Version = w.Version
	doubt(r, &info, set, opt.Lang)
	if out.Interrupted {
		r.Interrupted = context.Cause(ctx).Error()
	}
	for _, why := range r.LeftOut {
		out.Failed = true
		w.Log.ErrorContext(ctx, "a file was left out", slog.String("err", why))
	}
	out.Failed = out.Failed || opt.Strict && r.Source.Truncated != nil
	if opt.Preview && !opt.Offline {
		e, err := engine(w, opt, set.Codes(), publicCauses(set)...)
		if err != nil {
			return out, err
		}
		return out, preview(w, e, cases(res, diagnoses, opt.MinSeverity))
	}
	if err := writeEvidence(context.WithoutCancel(ctx), w, opt, r); err != nil { // an interrupted run has its proof too
		out.Failed = true
		w.Log.ErrorContext(ctx, "the evidence could not be written; the report is", slog.Any("err", err))
	}
	if err := illustrate(context.WithoutCancel(ctx), opt, res, r, meter); err != nil {
		out.Failed = true
		w.Log.ErrorContext(ctx, "the charts could not be drawn; the rest of the report is whole", slog.Any("err", err))
	}
	if err := consult(ctx, w, opt, set, outs, r, a, diagnoses); err != nil {
		return out, err
	}
	out.Interrupted = out.Interrupted || ctx.Err() != nil // while the model was asked
	return out, outs.write(r)
}

// consult adds the model's answers to the report, where they are wanted. What
// the rules said is on the screen before the first question leaves.
func consult(ctx context.Context, w World, opt *Options, set *rules.Set, outs *outputs, r *report.Report, a *assembler, said []diagnosis.Diagnosis) error {
	if !opt.Diagnose && !opt.Preview {
		return nil
	}
	if opt.Offline {
		r.AI = off(reasonOffline, opt.Lang)
		return nil
	}
	if r.Interrupted != "" {
		r.AI = off(reasonInterrupted, opt.Lang)
		return nil
	}
	outs.early(r)
	runtime.GC() // the questions take the room of what the analysis threw away: asking raises no peak
	e, err := engine(w, opt, set.Codes(), publicCauses(set)...)
	if err != nil {
		return err
	}
	addAI(r, a, e.AskAll(ctx, cases(a.res, said, opt.MinSeverity)), opt.Lang)
	return nil
}
