//go:build unix

package alert

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// Where the daemons of a Unix system listen.
const journalSocket = "/run/systemd/journal/socket"

func syslogSockets() []string { return []string{"/dev/log", "/var/run/syslog", "/var/run/log"} }

// Syslog sends alerts to the journal of systemd, with cause and culprit as fields
// of their own, or to the local syslog daemon (RFC 3164). It connects for each
// alert: alerts are rare, and daemons are started again. The standard library's
// writer would wait for ever for a daemon that hangs.
type Syslog struct {
	network, path string
	journal       bool
}

// NewSyslog finds the daemon.
func NewSyslog() (*Syslog, error) { return findSyslog(journalSocket, syslogSockets()) }

func findSyslog(journal string, sockets []string) (*Syslog, error) {
	if answers("unixgram", journal) {
		return &Syslog{"unixgram", journal, true}, nil
	}
	for _, path := range sockets {
		for _, network := range []string{"unixgram", "unix"} {
			if answers(network, path) {
				return &Syslog{network, path, false}, nil
			}
		}
	}
	return nil, fmt.Errorf("--alert-syslog: %w: neither %s nor %s answers", errNoDaemon, journal, strings.Join(sockets, ", "))
}

var errNoDaemon = errors.New("no syslog daemon and no journal")

func answers(network, path string) bool {
	c, err := net.DialTimeout(network, path, patience) //nolint:noctx // a local socket answers at once
	if err != nil {
		return false
	}
	_ = c.Close() // nothing was written
	return true
}

// Send implements Target. What packets say is escaped.
func (s *Syslog) Send(ctx context.Context, a *Alert) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, s.network, s.path)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // what was written is with the daemon
	end := time.Now().Add(patience)
	if due, ok := ctx.Deadline(); ok && due.Before(end) {
		end = due
	}
	if err := c.SetWriteDeadline(end); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Now()) })
	defer stop()
	text := syslogLine(a)
	if s.journal {
		text = journalEntry(a)
	}
	_, err = c.Write([]byte(text))
	return err
}

// Priorities of syslog.
const (
	prioCritical = 2
	prioWarning  = 4
	prioNotice   = 5
	daemon       = 3 << 3 // facility
	tag          = "netwhy"
)

func priority(d *report.Diagnosis) int {
	switch d.Severity {
	case finding.Critical:
		return prioCritical
	case finding.Warning:
		return prioWarning
	case finding.Info, finding.Notice:
	}
	return prioNotice
}

func message(a *Alert) string {
	d := a.Diagnosis
	text := fmt.Sprintf("%s %s %s culprit=%s: %s", d.ID, d.Severity, d.Cause, d.Culprit, d.Title)
	if a.Suppressed > 0 {
		text += fmt.Sprintf(" (%d alerts before this one were left out)", a.Suppressed)
	}
	return terminal.Printable(text)
}

// syslogLine is RFC 3164's, as local daemons expect it: without a host.
func syslogLine(a *Alert) string {
	return fmt.Sprintf("<%d>%s %s[%d]: %s\n", daemon|priority(a.Diagnosis), a.Time.Format(time.Stamp), tag, os.Getpid(), message(a))
}

// journalEntry is one of journald's native protocol: a field a line, and no line
// breaks in them (systemd's "Native Journal Protocol").
func journalEntry(a *Alert) string {
	d := a.Diagnosis
	var b strings.Builder
	for _, f := range [][2]string{
		{"MESSAGE", message(a)},
		{"PRIORITY", strconv.Itoa(priority(d))},
		{"SYSLOG_FACILITY", strconv.Itoa(daemon >> 3)},
		{"SYSLOG_IDENTIFIER", tag},
		{"SYSLOG_PID", strconv.Itoa(os.Getpid())},
		{"NETWHY_ID", d.ID},
		{"NETWHY_CAUSE", d.Cause},
		{"NETWHY_CULPRIT", d.Culprit},
		{"NETWHY_SEVERITY", d.Severity.String()},
		{"NETWHY_CONNECTIONS", strconv.Itoa(d.Impact.Connections)},
	} {
		b.WriteString(f[0] + "=" + terminal.Printable(f[1]) + "\n")
	}
	return b.String()
}
