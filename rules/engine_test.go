package rules_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// defs are codes enough for the tests of the engine.
func defs() []finding.Def {
	return []finding.Def{
		{Code: "tcp.zero-window", Metrics: []finding.Metric{
			{Name: "stalled_seconds", Merge: finding.Last},
			{Name: "by_server", Merge: finding.Last},
			{Name: "side", Text: true},
		}},
		{Code: "tcp.window-full", Metrics: []finding.Metric{{Name: "times"}}},
		{Code: "tcp.no-answer", Metrics: []finding.Metric{{Name: "waited_seconds"}}},
		{Code: "arp.no-answer", Metrics: []finding.Metric{{Name: "requests", Merge: finding.Sum}}},
		{Code: "dns.nxdomain", Metrics: []finding.Metric{{Name: "name", Text: true}}},
	}
}

func loadText(t *testing.T, text string) *rules.Set {
	t.Helper()
	s, err := rules.LoadOnly(defs(), rules.Dir{FS: fstest.MapFS{"own.yaml": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// world is an input made by hand.
type world struct {
	in    rules.Input
	conns map[flow.ID]*conn.Summary
}

func newWorld() *world {
	w := &world{conns: make(map[flow.ID]*conn.Summary)}
	w.in.Connection = func(id flow.ID) *conn.Summary { return w.conns[id] }
	return w
}

func (w *world) conn(stream uint32, client, server string) *conn.Summary {
	c := &conn.Summary{
		ID: flow.ID{Proto: flow.TCP, Stream: stream}, Proto: "tcp",
		Client: conn.Side{Addr: netip.MustParseAddrPort(client)}, Server: conn.Side{Addr: netip.MustParseAddrPort(server)},
	}
	w.conns[c.ID] = c
	return c
}

func (w *world) find(c *conn.Summary, host string, code finding.Code, frame uint64, v ...finding.Value) {
	f := finding.Finding{Code: code, Values: v}
	if c != nil {
		f.Flow = c.ID
	}
	if host != "" {
		f.Host = netip.MustParseAddr(host)
	}
	f.Evidence.Add(frame, int64(frame)*int64(time.Millisecond))
	w.in.Findings = append(w.in.Findings, f)
}

const zeroWindow = `
- id: receiver-zero-window
  on: [tcp.zero-window]
  explains: [tcp.window-full]
  when: tcp.zero_window.stalled_seconds >= 1
  why: below a second nobody notices
  culprit: "tcp.zero_window.by_server > 0 ? server : client"
  severity: "tcp.zero_window.stalled_seconds >= 10 ? critical : warning"
  confidence: 0.9
  distrust: [one-sided]
  impact: {stalled_seconds: tcp.zero_window.stalled_seconds}
  title: {en: "${party} stopped reading for ${seconds(tcp.zero_window.stalled_seconds)}", zh: "${party} 停止读取 ${seconds(tcp.zero_window.stalled_seconds)}"}
  explanation: {en: "${plural(reach.connections, \"connection\")}, ${seconds(reach.stalled_seconds)} in all", zh: "共 ${reach.connections} 个连接"}
  remedies: [{en: "look at ${culprit}", zh: "检查${culprit}"}]
  excludes:
    - {cause: tcp-packet-loss, when: conn.retransmissions == 0, because: {en: "nothing was sent again", zh: "没有重传"}}
    - {cause: high-latency-path, when: conn.handshake_ms > 0, because: {en: "never", zh: "从不"}}
  next_step:
    command: "ss -tmi dst ${conn.server.ip} # ${conn.name}"
    tells_apart: {en: "who", zh: "谁"}
  fires: [a]
  silent: [b]
`

func TestDiagnoseFoldsByServer(t *testing.T) {
	t.Parallel()
	s := loadText(t, zeroWindow)
	w := newWorld()
	a := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80")
	b := w.conn(2, "10.0.0.8:4000", "10.0.0.5:80")
	c := w.conn(3, "10.0.0.8:4001", "10.0.0.6:80")
	d := w.conn(4, "10.0.0.8:4002", "10.0.0.6:81")
	b.Name = "x; rm -rf /"
	w.find(a, "", "tcp.zero-window", 5, finding.Num(2.0), finding.Num(1), finding.Text("server"))
	w.find(b, "", "tcp.zero-window", 7, finding.Num(12.5), finding.Num(1), finding.Text("server"))
	w.find(b, "", "tcp.window-full", 8, finding.Num(1))
	w.find(c, "", "tcp.zero-window", 9, finding.Num(1.5), finding.Num(0), finding.Text("client"))
	w.find(d, "", "tcp.zero-window", 10, finding.Num(0.5), finding.Num(0), finding.Text("client"))
	w.in.Trust.OneSided = true

	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if len(got) != 2 {
		t.Fatalf("got %d diagnoses, want 2: %+v", len(got), got)
	}
	g := got[0]
	for _, c := range []struct{ what, got, want string }{
		{"title", g.Title, "server 10.0.0.5:80 stopped reading for 12.5 s"},
		{"explanation", g.Explanation, "2 connections, 14.5 s in all"},
		{"culprit", string(g.Culprit), "server"},
		{"severity", g.Severity.String(), "critical"},
		{"command", g.NextStep.Command, `ss -tmi dst 10.0.0.5 # 'x; rm -rf /'`},
		{"title of the second", got[1].Title, "client 10.0.0.8 stopped reading for 1.50 s"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	if !slices.Equal(g.Evidence, []int{0, 1, 2}) || !slices.Equal(g.Frames, []uint64{5, 7, 8}) {
		t.Errorf("evidence %v frames %v", g.Evidence, g.Frames)
	}
	if g.Connections[0].Stream != 2 || g.Impact != (diagnosis.Impact{Connections: 2, StalledSeconds: 14.5}) {
		t.Errorf("connections %v impact %+v", g.Connections, g.Impact)
	}
	if len(g.Excluded) != 1 || g.Excluded[0].Cause != "tcp-packet-loss" {
		t.Errorf("excluded %+v: want only the rival that the facts rule out", g.Excluded)
	}
	if len(g.Caveats) != 1 || g.Confidence != 0.77 {
		t.Errorf("a distrusted capture: caveats %q confidence %v, want one and 0.9*0.85", g.Caveats, g.Confidence)
	}
	zh, _ := s.Diagnose(&w.in, rules.Options{Lang: rules.Chinese})
	if want := "服务器 10.0.0.5:80 停止读取 12.5 秒"; zh[0].Title != want {
		t.Errorf("zh title %q, want %q", zh[0].Title, want)
	}
}

const causeAndEffect = `
- id: arp-no-answer
  scope: host
  on: [arp.no-answer]
  when: arp.no_answer.requests >= 3
  why: three
  culprit: network
  severity: warning
  confidence: 0.9
  subsumes: [{cause: connection-timeout-no-answer, in: host}]
  title: {en: "${host.addr} does not answer ARP"}
  explanation: {en: "${reach.connections} connections fail"}
- id: connection-timeout-no-answer
  on: [tcp.no-answer]
  when: tcp.no_answer.waited_seconds >= 3
  culprit: network
  severity: critical
  confidence: 0.9
  impact: {failed: 1, stalled_seconds: tcp.no_answer.waited_seconds}
  title: {en: "no answer from ${conn.server.addr}"}
  explanation: {en: "x"}
`

func TestDiagnoseCauseBeforeEffect(t *testing.T) {
	t.Parallel()
	s := loadText(t, causeAndEffect)
	w := newWorld()
	dead := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80")
	other := w.conn(2, "10.0.0.9:4001", "10.0.0.7:80")
	w.find(nil, "10.0.0.5", "arp.no-answer", 1, finding.Num(2))
	w.find(nil, "10.0.0.5", "arp.no-answer", 2, finding.Num(2))
	w.find(dead, "", "tcp.no-answer", 3, finding.Num(7))
	w.find(other, "", "tcp.no-answer", 4, finding.Num(7))
	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) > 0 || len(got) != 2 {
		t.Fatalf("faults %v, got %+v", faults, got)
	}
	if got[0].Title != "no answer from 10.0.0.7:80" {
		t.Errorf("first %q: the connection that ARP does not explain", got[0].Title)
	}
	arp := got[1]
	if arp.Cause != "arp-no-answer" || arp.Explanation != "1 connections fail" || arp.Impact.Failed != 1 || !slices.Equal(arp.Evidence, []int{0, 1, 2}) {
		t.Errorf("the cause takes its effect's evidence and cost: %+v", arp)
	}
}

// TestAside: what is told for completeness comes behind what is a fault, whatever it
// cost, but only among its severity.
func TestAside(t *testing.T) {
	t.Parallel()
	note := func(id, code, rest string) string {
		return strings.NewReplacer("receiver-zero-window", id, "tcp.zero-window", code, `"tcp.zero_window.by_server > 0 ? server : client"`, "none",
			`"tcp.zero_window.stalled_seconds >= 10 ? critical : warning"`, "notice\n  "+rest, "{stalled_seconds: tcp.zero_window.stalled_seconds}", "{failed: 5}",
			"tcp.zero_window.stalled_seconds >= 1", "conn.stream >= 0", "${seconds(tcp.zero_window.stalled_seconds)}", "").Replace(zeroWindow)
	}
	s := loadText(t, zeroWindow+note("a-small", "tcp.no-answer", "aside: true")+note("fault", "tcp.window-full", "aside: false"))
	w := newWorld()
	c := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80")
	w.find(c, "", "tcp.no-answer", 3, finding.Num(1))
	w.find(c, "", "tcp.window-full", 4, finding.Num(1))
	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) > 0 || len(got) != 2 || got[0].Rule != "fault" || got[1].Rule != "a-small" {
		t.Errorf("got %+v, faults %v: want the fault before the aside", got, faults)
	}
}

func TestDiagnoseHealthyCostsNothing(t *testing.T) {
	t.Parallel()
	s := loadText(t, zeroWindow)
	w := newWorld()
	w.find(w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), "", "dns.nxdomain", 1, finding.Text("x"))
	if got, faults := s.Diagnose(&w.in, rules.Options{}); len(got)+len(faults) > 0 {
		t.Errorf("got %v, faults %v", got, faults)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s := loadText(t, `
- id: dns-nxdomain-burst
  scope: capture
  on: [dns.nxdomain]
  when: dns.nxdomain.count >= 3 && conns.clients == 2 && total.client.packets == 30 && most.client.packets == 20
  culprit: client
  severity: notice
  confidence: 0.5 + ratio(dns.nxdomain.flows, 10)
  title: {en: "${dns.nxdomain.flows} of ${capture.udp_connections}: ${quote(dns.nxdomain.name)}"}
  explanation: {en: "frames ${dns.nxdomain.first_frame} to ${dns.nxdomain.last_frame}"}
- id: many
  scope: host
  by: client
  on: [dns.nxdomain]
  when: dns.nxdomain.count >= 2
  culprit: client
  severity: info
  confidence: 1
  title: {en: "${host.addr}: ${conns.count}"}
  explanation: {en: x}
`)
	w := newWorld()
	a := w.conn(1, "10.0.0.9:4000", "10.0.0.5:53")
	b := w.conn(2, "10.0.0.8:4000", "10.0.0.5:53")
	a.Client.Packets, b.Client.Packets = 10, 20
	for i, c := range []*conn.Summary{a, b, b} {
		w.find(c, "", "dns.nxdomain", uint64(i)+1, finding.Text("a\x1b[2Jb"))
	}
	w.in.UDP = 2
	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) > 0 || len(got) != 2 {
		t.Fatalf("faults %v, got %+v", faults, got)
	}
	if got[0].Title != `3 of 2: "a [2Jb"` || got[0].Explanation != "frames 1 to 3" || got[0].Confidence != 0.8 {
		t.Errorf("capture: %+v", got[0])
	}
	if got[1].Title != "10.0.0.8: 1" {
		t.Errorf("host: %q", got[1].Title)
	}
}

func TestFaultOfOneRuleIsOneFault(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(zeroWindow)
	s := loadText(t, b.String())
	w := newWorld()
	w.in.Connection = func(flow.ID) *conn.Summary { return nil } // none was kept
	w.find(w.conn(1, "10.0.0.9:4000", "10.0.0.5:80"), "", "tcp.zero-window", 5, finding.Num(2.0), finding.Num(1), finding.Text("server"))
	got, faults := s.Diagnose(&w.in, rules.Options{})
	if len(faults) != 0 || len(got) != 1 || got[0].Title != "server stopped reading for 2 s" {
		t.Errorf("without a summary: %v %+v", faults, got)
	}
}
