//go:build unix

package alert

import (
	"context"
	"fmt"
	"log/syslog"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Syslog sends alerts to the local syslog daemon, which under systemd is the
// journal.
type Syslog struct{ w *syslog.Writer }

// NewSyslog connects.
func NewSyslog() (*Syslog, error) {
	w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_WARNING, "netwhy")
	if err != nil {
		return nil, fmt.Errorf("--alert-syslog: %w", err)
	}
	return &Syslog{w}, nil
}

// Send implements Target. What packets say is escaped.
func (s *Syslog) Send(_ context.Context, a *Alert) error {
	d := a.Diagnosis
	text := terminal.Printable(fmt.Sprintf("%s %s %s culprit=%s: %s", d.ID, d.Severity, d.Cause, d.Culprit, d.Title))
	switch d.Severity {
	case finding.Critical:
		return s.w.Crit(text)
	case finding.Warning:
		return s.w.Warning(text)
	case finding.Info, finding.Notice:
	}
	return s.w.Notice(text)
}
