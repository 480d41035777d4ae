package run

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"netwhy/cmd/netwhy/internal/report"
)

// liveFinding hands a finding to the sinks that write as things happen.
func (o *outputs) liveFinding(f *report.Finding) {
	for _, out := range o.list {
		if s, ok := out.sink.(report.LiveSink); ok && out.err == nil {
			out.err = s.Finding(f)
		}
	}
}

// liveDiagnosis does the same for a diagnosis.
func (o *outputs) liveDiagnosis(d *report.Diagnosis) {
	for _, out := range o.list {
		if s, ok := out.sink.(report.LiveSink); ok && out.err == nil {
			out.err = s.Diagnosis(d)
		}
	}
}

// writeLive hands the last report to every sink. Those that wrote as things
// happened get only what they have not got.
func (o *outputs) writeLive(r *report.Report, m *monitor) error {
	now := time.Now()
	for i := range r.Findings {
		f := &r.Findings[i]
		if x := m.findings.of(keyOf(f)); x.at.IsZero() || x.count != f.Count || x.severity != f.Severity {
			x.note(f.Count, f.Severity, now)
			o.liveFinding(f)
		}
	}
	var faults []error
	for _, out := range o.list {
		whole := r
		if _, ok := out.sink.(report.LiveSink); ok {
			rest := *r
			rest.Findings = nil
			whole = &rest
		}
		if err := out.write(whole); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// moment writes a report of the moment beside each output: into a file with the
// time in its name, or to standard output.
func (o *outputs) moment(c *liveRun, r *report.Report) {
	for _, out := range c.opt.Outputs {
		if err := o.momentTo(c, out, r); err != nil {
			c.say("the report of the moment: %v", err)
		}
	}
}

func (*outputs) momentTo(c *liveRun, want Output, r *report.Report) (err error) {
	stdout := want.Path == "" || want.Path == "-"
	if stdout && c.screen.Load() != nil {
		want.Path = "netwhy." + want.Format
		stdout = false
	}
	if !stdout {
		ending := filepath.Ext(want.Path)
		want.Path = strings.TrimSuffix(want.Path, ending) + "-" + time.Now().UTC().Format("20060102T150405") + ending
	}
	opt := c.opt.Options
	out, err := openOutput(c.w, &opt, want)
	if err != nil {
		return err
	}
	defer func() {
		if out.file != nil {
			err = errors.Join(err, out.file.Close())
		}
	}()
	if err := out.write(r); err != nil {
		return err
	}
	if !stdout {
		c.say("the report of the moment is in %s", out.name)
	}
	return nil
}
