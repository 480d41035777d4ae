package run

import (
	"context"
	"sync"

	"netwhy/cmd/netwhy/internal/report"
)

// AlertOptions say who is told of diagnoses besides the outputs.
type AlertOptions struct {
	Webhook string // an URL that gets each as JSON
	Syslog  bool
}

// liveScreen is the terminal's.
type liveScreen struct{}

// Line shows a line.
func (*liveScreen) Line(string) {}

// beside starts what runs beside the analysis.
func (c *liveRun) beside(ctx context.Context, wg *sync.WaitGroup) error {
	wg.Go(func() { c.mon.run(ctx) })
	wg.Go(func() { c.signals(ctx) })
	return nil
}

// addAnswers adds what the model said during the run.
func (m *monitor) addAnswers(r *report.Report, a *assembler) {}

// reload reads rules and configuration again. A bad one is refused, and the old
// one stays.
func (c *liveRun) reload() {
	opt := &c.opt.Options
	if c.opt.Reload != nil {
		fresh, err := c.opt.Reload()
		if err != nil {
			c.say("reload: %v; the old configuration stays", err)
			return
		}
		opt = fresh
	}
	set, err := LoadRules(opt.Rules)
	if err != nil {
		c.say("reload: %v; the old rules stay", err)
		return
	}
	c.judge.Store(set)
	c.mon.dirty.Store(true)
	c.say("reload: %d rules are in force", len(set.IDs()))
}
