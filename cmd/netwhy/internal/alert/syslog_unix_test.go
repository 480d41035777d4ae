//go:build unix

package alert

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/report"
)

// daemonAt listens as a syslog daemon does.
func daemonAt(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func received(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 64<<10)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func hostile() *Alert {
	return &Alert{
		Time: time.Date(2026, 8, 7, 10, 15, 2, 0, time.UTC), Suppressed: 3,
		Diagnosis: &report.Diagnosis{
			ID: "D1", Severity: finding.Critical, Cause: "slow-server-application", Culprit: "server",
			Title: "server took 3 s\n<0>root: \x1b[2J", Impact: report.Impact{Connections: 2},
		},
	}
}

// TestSyslog: a real socket, the daemon's format, and no line that packets wrote.
func TestSyslog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := daemonAt(t, filepath.Join(dir, "log"))
	s, err := findSyslog(filepath.Join(dir, "no-journal"), []string{filepath.Join(dir, "nobody"), filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), hostile()); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^<26>Aug  7 10:15:02 netwhy\[\d+\]: D1 critical slow-server-application culprit=server: server took 3 s\\n<0>root: \\x1b\[2J \(3 alerts before this one were left out\)\n$`)
	if got := received(t, c); !want.MatchString(got) {
		t.Errorf("got %q", got)
	}
}

// TestJournal: the native protocol, where there is a journal.
func TestJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := daemonAt(t, filepath.Join(dir, "journal"))
	s, err := findSyslog(filepath.Join(dir, "journal"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), hostile()); err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(received(t, c)) {
		k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || fields[k] != "" {
			t.Errorf("line %q", line)
		}
		fields[k] = v
	}
	for k, want := range map[string]string{
		"PRIORITY": "2", "SYSLOG_IDENTIFIER": "netwhy", "NETWHY_CAUSE": "slow-server-application", "NETWHY_CULPRIT": "server",
		"NETWHY_SEVERITY": "critical", "NETWHY_CONNECTIONS": "2", "NETWHY_ID": "D1",
	} {
		if fields[k] != want {
			t.Errorf("%s is %q, want %q", k, fields[k], want)
		}
	}
	if !strings.Contains(fields["MESSAGE"], `3 s\n<0>root`) || len(fields) != 10 {
		t.Errorf("fields: %q", fields)
	}
}

// TestSyslogDaemonHangs: one that reads nothing costs the alert, not the run; one
// that is not there is told at the start.
func TestSyslogDaemonHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := findSyslog(filepath.Join(dir, "a"), []string{filepath.Join(dir, "b")}); !errors.Is(err, errNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
	daemonAt(t, filepath.Join(dir, "log"))
	s, err := findSyslog("", []string{filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 100_000 { // until the socket's queue is full
		if err = s.Send(ctx, hostile()); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("a full queue takes everything")
	}
}
