package run

import (
	"context"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"netwhy/aidiag"
	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/alert"
	"netwhy/cmd/netwhy/internal/metrics"
	"netwhy/cmd/netwhy/internal/report"
)

// AlertOptions say who is told of diagnoses besides the outputs.
type AlertOptions struct {
	Webhook string // a URL that gets each as JSON
	Syslog  bool
}

// besides are the parts of a live run that nobody waits for: whoever they talk
// to may be gone, and the analysis goes on.
type besides struct {
	metrics *metrics.Metrics
	alerts  []*alert.Queue
	engine  *aidiag.Engine
	linked  atomic.Pointer[aidiag.Engine] // the same, for those who tell of links before it is there
	asking  sync.WaitGroup
	mu      sync.Mutex // guards heard
	heard   []aidiag.Answer
}

// prepare opens what runs beside, so that what cannot work is told before
// anything is captured.
func (c *liveRun) prepare(ctx context.Context) error {
	b := &c.side
	if c.opt.Offline && (c.opt.Metrics != "" || c.opt.Alerts != AlertOptions{}) {
		c.say("--offline: no metrics are served, and no alerts are sent")
	}
	if c.opt.Metrics != "" && !c.opt.Offline {
		b.metrics = metrics.New(c.w.Version)
		if err := b.metrics.Listen(ctx, c.opt.Metrics); err != nil {
			return err
		}
		c.w.Log.InfoContext(ctx, "metrics are served", slog.String("endpoint", b.metrics.Addr()))
	}
	failed := func(err error) {
		c.w.Log.WarnContext(ctx, "an alert could not be sent", slog.Any("err", err))
	}
	if c.opt.Alerts.Webhook != "" && !c.opt.Offline {
		hook, err := alert.NewWebhook(c.opt.Alerts.Webhook)
		if err != nil {
			return err
		}
		b.alerts = append(b.alerts, alert.NewQueue(hook, failed))
	}
	if c.opt.Alerts.Syslog && !c.opt.Offline {
		log, err := alert.NewSyslog()
		if err != nil {
			return err
		}
		b.alerts = append(b.alerts, alert.NewQueue(log, failed))
	}
	if c.opt.Diagnose && !c.opt.Offline {
		own := c.w
		own.Stderr = sayer{c}
		set := c.judge.Load()
		e, err := engine(own, &c.opt.Options, set.Codes(), publicCauses(set)...)
		if err != nil {
			return err
		}
		b.engine = e
		b.linked.Store(e)
	}
	return nil
}

// beside starts what runs beside the analysis, until ctx ends.
func (c *liveRun) beside(ctx context.Context, wg *sync.WaitGroup) {
	b := &c.side
	start := func(what string, f func()) {
		wg.Go(func() {
			defer packet.Rescue(what, c.fail)
			f()
		})
	}
	start("the monitor", func() { c.mon.run(ctx) })
	start("the signals", func() { c.signals(ctx) })
	start("the notices", func() { c.tell(ctx) })
	if b.metrics != nil {
		start("the metrics", func() {
			if err := b.metrics.Serve(ctx); err != nil {
				c.w.Log.WarnContext(ctx, "the metrics are served no more", slog.Any("err", err))
			}
		})
	}
	for _, q := range b.alerts {
		start("the alerts", func() { q.Run(ctx) })
	}
}

// consult starts the engine, which has a life of its own: it may answer until
// the report is written, when the run was not interrupted.
func (c *liveRun) consult(ctx context.Context) {
	b := &c.side
	if b.engine == nil {
		return
	}
	b.asking.Go(func() {
		defer packet.Rescue("the questions to the AI", c.fail)
		_ = b.engine.Run(ctx) // its error is the context's cause; the answers say what became of each case
	})
	b.asking.Go(func() {
		defer packet.Rescue("the answers of the AI", c.fail)
		for a := range b.engine.Answers() {
			b.hear(a)
			c.say("%s: the AI %s", a.Case, a.State)
		}
	})
}

// maxHeard bounds the answers kept for the report of the whole run.
const maxHeard = 1000

func (b *besides) hear(answers ...aidiag.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = append(b.heard, answers...)
	if n := len(b.heard) - maxHeard; n > 0 {
		b.heard = append(b.heard[:0], b.heard[n:]...)
	}
}

// question asks the model about a diagnosis that is new. The case is that of the
// moment, under the id that the diagnosis keeps.
func (m *monitor) question(id string, place int) {
	b := &m.c.side
	if b.engine == nil {
		return
	}
	all := cases(m.last.res, m.last.said, m.c.opt.MinSeverity)
	for i := range all {
		if all[i].ID == placeID(place) {
			all[i].ID = id
			b.hear(b.engine.Submit(all[i])...)
			return
		}
	}
}

// addAnswers adds to the report what the model said during the run.
func (c *liveRun) addAnswers(r *report.Report, a *assembler) {
	b := &c.side
	switch {
	case !c.opt.Diagnose:
		return
	case b.engine == nil:
		r.AI = off(reasonOffline, c.opt.Lang)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	a.said = c.mon.diagnoses.number // ids that no diagnosis had
	addAI(r, a, b.heard, c.opt.Lang)
}

// alert tells those outside of a diagnosis that is new or worse.
func (c *liveRun) alert(now time.Time, d *report.Diagnosis) {
	if len(c.side.alerts) == 0 {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	own := *d
	for _, q := range c.side.alerts {
		q.Add(alert.Alert{Schema: alert.Schema, Time: now, Host: host, Interfaces: c.opt.Source.Interfaces, Diagnosis: &own})
	}
}

// How long the alerts of the end of a run may take.
const (
	flushInterrupted = 300 * time.Millisecond // the report is due within a second
	flushEnded       = 5 * time.Second
)

// flushAlerts sends the alerts that wait, and those that the end has brought.
func (c *liveRun) flushAlerts(ctx context.Context) {
	limit := flushEnded
	if ctx.Err() != nil {
		limit = flushInterrupted
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var wg sync.WaitGroup
	for _, q := range c.side.alerts {
		wg.Go(func() { q.Flush(ctx) })
	}
	wg.Wait()
}

// tell tells what the capture's own goroutines have to say, until ctx ends.
func (c *liveRun) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case tell := <-c.later:
			tell()
		}
	}
}

// measured notes a connection that ended.
func (c *liveRun) measured(s *conn.Summary) {
	if c.side.metrics == nil {
		return
	}
	think := int64(0)
	if s.Worst != nil {
		think = s.Worst.Ledger.Part[conn.ServerThink]
	}
	c.side.metrics.Connection(s.Handshake, think)
}

// measure renews what the metrics serve.
func (c *liveRun) measure(res *analyze.Result, r *report.Report) {
	if c.side.metrics == nil {
		return
	}
	info := c.src.Info()
	used, size := c.src.Depth()
	s := &metrics.Snapshot{
		Packets: info.Counters.Packets, Bytes: info.Counters.Bytes,
		Kernel: info.Counters.DroppedKernel, Interface: info.Counters.DroppedInterface, Queue: info.Counters.DroppedQueue,
		QueueUsed: used, QueueSize: size, Open: res.Open, Evicted: res.Evicted, Unread: res.Unread, Recorded: c.recorded.Load(),
		Connections: map[string]uint64{"tcp": res.TCPConversations, "udp": res.UDPConversations},
		Findings:    map[[2]string]uint64{}, Diagnoses: map[[3]string]uint64{},
		Endpoints: map[[2]string]string{}, Answers: map[string]uint64{}, Reasons: map[string]uint64{},
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		s.Findings[[2]string{string(f.Code), f.Severity.String()}]++
	}
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		s.Diagnoses[[3]string{d.Cause, d.Culprit, d.Severity.String()}]++
	}
	if e := c.side.engine; e != nil {
		st := e.Status()
		for _, x := range st.Router.Endpoints {
			s.Endpoints[[2]string{x.Provider, x.Endpoint}] = x.State
		}
		for k, n := range st.Answers {
			s.Answers[string(k)] = uint64(n) //nolint:gosec // counts
		}
		for k, n := range st.Reasons {
			s.Reasons[string(k)] = uint64(n) //nolint:gosec // counts
		}
	}
	c.side.metrics.Set(s)
}

// reload reads rules and configuration again. A bad one is refused, and the old
// one stays.
func (c *liveRun) reload() {
	opt := &c.opt.Options
	if c.opt.Reload != nil {
		fresh, err := c.opt.Reload()
		if err != nil {
			c.say("reload refused, the old configuration stays: %s", oneLine(err))
			return
		}
		opt = fresh
	}
	set, err := LoadRules(opt.Rules)
	if err != nil {
		c.say("reload refused, the old rules stay: %s", oneLine(err))
		return
	}
	c.judge.Store(set)
	c.lang.Store(new(string(opt.Lang)))
	c.least.Store(int32(opt.MinSeverity))
	c.mon.dirty.Store(true)
	later := ""
	if opt.Limits != c.opt.Limits || !reflect.DeepEqual(opt.AI, c.opt.AI) {
		later = "; what has changed of ai and limits takes a new start"
	}
	c.say("reloaded: %d rules are in force%s", len(set.IDs()), later)
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
