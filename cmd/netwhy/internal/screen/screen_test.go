package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/terminal"
)

// hostile is what a packet may say.
const hostile = "\x1b[2J\x1b]0;owned\x07evil\u202e"

func snapshot(second int) *Snapshot {
	r := &report.Report{}
	for i := range 30 {
		r.Findings = append(r.Findings, report.Finding{ID: fmt.Sprintf("F%d", i+1), Code: "tcp.zero-window", Count: 3, Frames: []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
		r.Diagnoses = append(r.Diagnoses, report.Diagnosis{
			ID: fmt.Sprintf("D%d", i+1), Severity: finding.Severity(i % 4), Title: "title " + hostile + strings.Repeat(" long", 30), Explanation: strings.Repeat("words ", 200),
			Cause: "receiver-zero-window", Remedies: []string{"do this", strings.Repeat("x", 200)}, Evidence: []string{fmt.Sprintf("F%d", i+1)},
			Connections: []report.Connection{{Proto: "tcp", Client: "[2001:db8::1]:41022", Server: "[2001:db8::2]:443"}},
		})
	}
	r.Connections = []*conn.Summary{{
		ID: flow.ID{Proto: flow.TCP}, Proto: "tcp", App: "http", Name: hostile, First: 1, Last: 9, Stop: 5e9, Handshake: 3e7, End: conn.EndOpen,
		Client: conn.Side{Packets: 7, Bytes: 1 << 30, RTT: conn.RTT{Samples: 3, Median: 2e7}, Retransmits: 4}, Server: conn.Side{ZeroWindows: 2},
		Worst: &conn.Exchange{Label: "GET /" + hostile, Code: "200", Ledger: conn.Ledger{Total: 3e9, Part: [conn.Parts]int64{conn.ServerThink: 3e9}}},
	}}
	return &Snapshot{
		At: time.Unix(int64(1000+second), 0), Packets: uint64(second * second * 100), Bytes: uint64(second) * 1e9, Kernel: uint64(second / 5), Used: 3, Size: 64,
		Talkers:  []Talker{{Host: "2001:db8:1111:2222:3333:4444:5555:6666", Name: hostile, Bytes: 1 << 40, Rate: 1.2e9}},
		Services: []Service{{Addr: "10.0.0.5:5432", App: "pgsql", Name: hostile, Exchanges: 5, Mean: 1200 * time.Millisecond, Worst: 40 * time.Second}},
		Report:   r, AI: "deepseek breaker open",
	}
}

// TestEveryViewFits: at every size no line is wider and no view higher than the
// terminal, nothing of the packets' moves the cursor, and every key is safe.
func TestEveryViewFits(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {60, 12}, {200, 60}, {79, 23}, {20, 5}} {
		m := newModel(Options{Interfaces: "eth0 " + hostile, Quit: func() {}, Interrupt: func() {}})
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		m.Update(logLine(terminal.Printable("a line of the log, " + strings.Repeat("long ", 40))))
		check := func(what string) {
			t.Helper()
			text := m.draw()
			lines := strings.Split(text, "\n")
			if len(lines) > size[1] {
				t.Errorf("%v, %s: %d lines", size, what, len(lines))
			}
			for _, line := range lines {
				if w := terminal.Width(line); w > size[0] {
					t.Errorf("%v, %s: %d columns: %q", size, what, w, line)
				}
				if strings.ContainsAny(line, "\x1b\x07\u202e") {
					t.Errorf("%v, %s: raw bytes of a packet: %q", size, what, line)
				}
			}
		}
		check("nothing yet")
		for second := range 400 {
			m.Update(snapshot(second))
		}
		for _, k := range []string{"", "down", "enter", "pgdown", "end", "1", "down", "2", "esc", "9", "esc", "tab", "down", "end", "tab", "down", "tab", "end", "?", "?", "space", "q", "ctrl+c", "home", "enter", "tab", "shift+tab"} {
			m.key(k)
			check("after " + k)
		}
	}
}

// TestDrillDown: from a diagnosis to a connection with its times and symptoms,
// and back, a step at a time.
func TestDrillDown(t *testing.T) {
	t.Parallel()
	m := newModel(Options{})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 60})
	s := snapshot(1)
	s.Report.Findings[3].Connection = &s.Report.Diagnoses[0].Connections[0]
	s.Report.Findings[3].Caveats = []string{"frames were lost"}
	m.Update(s)
	shows := func(key string, parts ...string) {
		t.Helper()
		m.key(key)
		for _, part := range parts {
			if text := m.draw(); !strings.Contains(text, part) {
				t.Errorf("after %q there is no %q:\n%s", key, part, text)
			}
		}
	}
	shows("enter", "words words", "1  tcp [2001:db8::1]:41022 -> [2001:db8::2]:443", "tcp.zero-window: 3 times, frames 1 2 3")
	shows("1", "tcp.stream == 0", "handshake 30ms", "round trip 20ms, 4 sent again", "window closed 2 times", "server think      3.0s", "frames were lost")
	shows("esc", "words words")
	shows("esc", "top talkers")
	s = snapshot(2)
	s.Report.Connections = nil
	m.Update(s)
	shows("enter", "words words")
	shows("1", "were not kept")
}

// TestChoiceStaysWithItsDiagnosis: the list moves under the cursor every second.
func TestChoiceStaysWithItsDiagnosis(t *testing.T) {
	t.Parallel()
	m := newModel(Options{})
	m.Update(snapshot(1))
	m.key("down")
	s := snapshot(2)
	s.Report.Diagnoses[0], s.Report.Diagnoses[1] = s.Report.Diagnoses[1], s.Report.Diagnoses[0]
	m.Update(s)
	if m.place() != 0 || m.choice().ID != "D2" {
		t.Errorf("chosen: %s at %d", m.choice().ID, m.place())
	}
	m.key("p")
	m.Update(snapshot(9))
	if m.last != s {
		t.Error("a held screen moves")
	}
	m.key("p")
	if m.last == s {
		t.Error("a screen that is let go stays behind")
	}
}
