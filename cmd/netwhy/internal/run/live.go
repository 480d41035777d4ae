package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/analyze"
	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/privilege"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/cmd/netwhy/internal/trace"
	"netwhy/rules"
	"netwhy/rules/near"
)

// LiveOptions of a capture.
type LiveOptions struct {
	Options
	Source   capture.LiveOptions
	User     string        // to become; see privilege.NewPlan
	Duration time.Duration // 0: until told to stop
	Record   capture.RecordingOptions
	Ring     int64 // bytes of the latest frames kept in memory for evidence
	Metrics  string
	Alerts   AlertOptions
	Screen   bool
	// Reload reads rules and configuration again; what it returns takes the place
	// of what is used, unless there is an error.
	Reload func() (*Options, error)
}

// idleTimeout folds conversations that were silent for so long: what comes later
// is taken up in the middle.
const idleTimeout = 10 * time.Minute

// ahead are the processors that Go gets on top of the real ones: those who read
// and record frames wake up often and for short, and must not stand in the
// scheduler's queue behind an analysis that is busy for 10 ms at a time. Between
// threads the kernel chooses, and it prefers those that have slept.
const ahead = 2

// Capture watches interfaces until the end of ctx, of the duration, or of the
// number of packets, and writes the report. Privileges are given up after the
// interfaces are open and before the first packet is read.
func Capture(ctx context.Context, w World, opt *LiveOptions) (out Outcome, err error) {
	defer packet.Rescue("the run", func(fault error) { err = errors.Join(err, fault) }) // the terminal is as it was by then
	plan, err := privilege.NewPlan(opt.User, os.Geteuid(), w.Getenv)
	if err != nil {
		return Outcome{}, err
	}
	c := &liveRun{w: w, opt: opt, later: make(chan func(), maxLater)}
	c.atTerminal = c.terminals() > 0
	src := opt.Source
	src.Standby = !plan.Stay
	src.Filter = opt.Filter
	src.Notify = func(n capture.Notice) { c.soon(func() { c.notice(ctx, n) }) }
	if opt.Record.Path != "" || opt.Evidence != "" {
		src.Tap = c.tap
	}
	if opt.Evidence != "" {
		if opt.Ring <= 0 {
			opt.Ring = ringDefault
		}
		c.ring = capture.NewRing(int(opt.Ring))
	}
	if c.src, err = capture.OpenLive(ctx, src); err != nil {
		return Outcome{}, nearNames(err)
	}
	defer func() {
		if err := c.src.Close(); err != nil {
			w.Log.WarnContext(ctx, "closing the capture failed", slog.Any("err", err))
		}
	}()
	if err = privilege.Drop(plan); err != nil {
		return Outcome{}, err
	}
	w.Log.InfoContext(ctx, "privileges were given up", slog.String("user", plan.Name))
	return c.run(ctx)
}

// nearNames adds to an interface that does not exist the name that was meant.
func nearNames(err error) error {
	open, ok := errors.AsType[*capture.OpenError](err)
	if ok && errors.Is(err, capture.ErrNoInterface) {
		if hint := near.Hint(open.Name, capture.DeviceNames()); hint != "" {
			open.Reason += hint
		}
	}
	return err
}

// liveRun is one capture.
type liveRun struct {
	w    World
	opt  *LiveOptions
	src  *capture.Live
	mon  *monitor
	side besides

	atTerminal bool // at the start

	judge    atomic.Pointer[rules.Set]
	lang     atomic.Pointer[string]
	least    atomic.Int32 // severity
	recorded atomic.Uint64
	pressure atomic.Bool
	moments  chan func(*analyze.Result)
	screen   atomic.Pointer[liveScreen] // nil: none is shown
	guard    *terminal.Guard            // of the terminal that the screen has
	later    chan func()                // what the capture's own goroutines have to tell
	fault    atomic.Pointer[error]      // what ended the run besides the analysis: a panic, a lost screen

	mu     sync.Mutex // guards standard error
	rec    *capture.Recording
	recErr error         // of the tap
	ring   *capture.Ring // nil: no evidence is written
}

func (c *liveRun) run(ctx context.Context) (Outcome, error) {
	set, err := LoadRules(c.opt.Rules)
	if err != nil {
		return Outcome{}, err
	}
	c.judge.Store(set)
	c.lang.Store(new(string(c.opt.Lang)))
	c.least.Store(int32(c.opt.MinSeverity))
	if err := prepareEvidence(&c.opt.Options); err != nil {
		return Outcome{}, err
	}
	secrets, err := readKeyLog(c.opt.KeyLog)
	if err != nil {
		return Outcome{}, err
	}
	outs, err := openOutputs(c.w, &c.opt.Options)
	if err != nil {
		return Outcome{}, err
	}
	out, err := c.watch(ctx, outs, secrets)
	return out, errors.Join(err, outs.close())
}

func (c *liveRun) watch(ctx context.Context, outs *outputs, secrets []byte) (Outcome, error) {
	if err := c.beginRecording(); err != nil {
		return Outcome{}, err
	}
	if c.opt.Limits.Memory > 0 {
		debug.SetMemoryLimit(int64(c.opt.Limits.Memory))
	}
	c.moments = make(chan func(*analyze.Result), 1)
	c.mon = newMonitor(c, outs)
	if err := c.prepare(ctx); err != nil {
		return Outcome{}, err
	}
	side, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	finish := func() { stop(); beside.Wait(); c.stopScreen() }
	defer finish() // also where this goroutine panics
	c.startScreen(side)
	c.beside(side, &beside)
	c.consult(ctx) // an interrupt ends the questions too: the report is due within a second
	if c.opt.Duration > 0 {
		end := time.AfterFunc(c.opt.Duration, c.src.Stop)
		defer end.Stop()
	}
	cores := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(cores + ahead)
	defer runtime.GOMAXPROCS(cores)
	c.w.Log.InfoContext(ctx, "capture begins", slog.Any("interface", c.opt.Source.Interfaces))
	src, meter := outs.measured(&pressured{c.src, &c.pressure})
	res, runErr := analyze.Run(ctx, src, analyze.Options{
		Workers:        cmp.Or(int(c.opt.Limits.Workers), cores),
		MaxConnections: int(c.opt.Limits.Connections),
		IdleTimeout:    int64(idleTimeout),
		Live:           true,
		Secrets:        secrets,
		Protocols:      c.w.Protocols,
		Moments:        c.moments,
		Pressure:       &c.pressure,
		Connection:     outs.alsoConnections(c.mon.connection),
		Diary:          outs.diary,
	}, c.mon.finding)
	finish()
	if err := c.src.Close(); err != nil { // the tap has seen its last batch
		c.w.Log.WarnContext(ctx, "closing the capture failed", slog.Any("err", err))
	}
	c.tellLater()
	out := c.outcome(ctx, runErr)
	recErr := c.endRecording()
	return c.conclude(ctx, out, outs, res, meter, recErr)
}

// outcome tells how the run ended. A fault ends it like an error of the source:
// with what was found before.
func (c *liveRun) outcome(ctx context.Context, runErr error) Outcome {
	if fault := c.fault.Load(); fault != nil {
		runErr = *fault
	}
	var own *packet.PanicError
	if errors.As(runErr, &own) {
		c.w.Log.DebugContext(ctx, "where it happened", slog.String("stack", string(own.Stack)))
	}
	out := Outcome{Interrupted: runErr != nil && ctx.Err() != nil && own == nil}
	if runErr != nil && !out.Interrupted {
		out.Failed = true
		c.say("the analysis ended early, the report has what was found before: %v", runErr)
	}
	return out
}

// fail ends the run for what is wrong beside the analysis.
func (c *liveRun) fail(err error) {
	c.fault.CompareAndSwap(nil, &err)
	c.src.Stop()
}

// conclude writes the report of the whole run.
func (c *liveRun) conclude(ctx context.Context, out Outcome, outs *outputs, res *analyze.Result, meter *trace.Meter, recErr error) (Outcome, error) {
	r, a, diagnoses := c.report(ctx, res)
	if meter != nil { // a live source cannot be read again: traffic, but no ladders
		r.Traffic, r.NoPictures = meter.Traffic(), true
	}
	for i := range diagnoses {
		out.Found = out.Found || c.opt.FailOn != nil && diagnoses[i].Severity >= *c.opt.FailOn
	}
	if out.Interrupted {
		r.Interrupted = context.Cause(ctx).Error()
	}
	out.Failed = out.Failed || recErr != nil
	c.mon.rename(r)
	c.mon.last = moment{res: res, report: r, said: diagnoses}
	c.mon.tellLast(time.Now())
	c.flushAlerts(ctx)
	if c.side.engine != nil {
		c.side.engine.Finish()
		c.side.asking.Wait()
	}
	if c.mon.evidence != nil {
		c.mon.evidence.finish(ctx, r)
	}
	c.addAnswers(r, a)
	return out, outs.writeLive(r, c.mon)
}

// say writes a line to standard error, where no screen is in its way.
func (c *liveRun) say(format string, args ...any) {
	text := terminal.Printable(fmt.Sprintf(format, args...))
	if s := c.screen.Load(); s != nil {
		s.Line(text)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintln(c.w.Stderr, "netwhy: "+text) // a terminal that is gone is told by the report
}

// maxLater bounds what waits to be told.
const maxLater = 64

// soon has something told by another goroutine: those that read and record
// frames wait for nobody, least of all for a terminal.
func (c *liveRun) soon(tell func()) {
	select {
	case c.later <- tell:
	default: // nobody reads what is told
	}
}

// tellLater tells what waits.
func (c *liveRun) tellLater() {
	for {
		select {
		case tell := <-c.later:
			tell()
		default:
			return
		}
	}
}

func (c *liveRun) notice(ctx context.Context, n capture.Notice) {
	c.say("%s", n.Text)
	if n.Lost {
		c.w.Log.InfoContext(ctx, "an interface was lost", slog.String("interface", n.Interface))
		return
	}
	c.w.Log.InfoContext(ctx, "an interface is back", slog.String("interface", n.Interface))
	if e := c.side.linked.Load(); e != nil {
		e.NetworkUp() // what could not be reached may be reached again
	}
}
