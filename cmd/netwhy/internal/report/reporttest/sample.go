// Package reporttest has reports made by hand, one for each thing that a format
// must be able to say, and the comparison with golden files that all formats'
// tests share.
package reporttest

import (
	"fmt"
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/cmd/netwhy/internal/report"
)

// Hostile is what a packet may carry to fool whoever reads the report.
const Hostile = "\x1b]0;owned\x07\x1b[2J\u009b31m</script><img src=x onerror=alert(1)>\u202egpj\r\n|x|\xff"

const start = report.Time(1_764_489_600_123_456_789)

// Empty is the report of a capture without a frame.
func Empty() *report.Report {
	return &report.Report{
		Schema: report.Schema, Version: "1.2.3",
		Source: report.Source{Kind: "file", Names: []string{"empty.pcap"}, Interfaces: []report.Interface{{LinkType: "EN10MB"}}},
		Counters: report.Counters{
			Protocols: map[string]uint64{}, TCP: tcpCounters(), DNSRcode: map[string]uint64{}, ICMP: map[string]uint64{},
			ICMPv6: map[string]uint64{}, TLSAlert: map[string]uint64{}, HTTPStatus: map[string]uint64{},
		},
		Findings: []report.Finding{}, Diagnoses: []report.Diagnosis{}, NotAssessed: []string{},
		Trust: report.Trust{Vantage: "unknown"},
		Names: map[netip.Addr]string{},
	}
}

func tcpCounters() map[string]uint64 {
	m := make(map[string]uint64, len(tcp.CounterNames))
	for _, n := range tcp.CounterNames {
		m[n] = 0
	}
	return m
}

// Healthy is the report of a capture in which nothing is wrong.
func Healthy() *report.Report {
	r := Empty()
	first, last := start, start+12_300_000_000
	r.Source.Names, r.Source.Packets, r.Source.Bytes, r.Source.First, r.Source.Last = []string{"office.pcapng"}, 1234, 567_890, &first, &last
	r.Source.Interfaces = []report.Interface{{Name: "eth0", LinkType: "EN10MB"}}
	r.Counters.Protocols = map[string]uint64{"eth": 1234, "ip": 1234, "tcp": 1100, "dns": 12, "tls": 700, "udp": 130}
	r.Counters.Connections = report.ByTransport{TCP: 12, UDP: 4}
	r.Counters.TCP["retransmission"] = 3
	r.Counters.DNSRcode = map[string]uint64{"0": 11, "3": 1}
	r.NotAssessed = []string{"quic: encrypted", "tls: encrypted"}
	r.Trust.Vantage = "client"
	return r
}

// Stalled is a report with everything in it: a critical cause with its proof, a
// second one, an info, a damaged file, drops.
func Stalled() *report.Report {
	r := Healthy()
	r.Source.Names = []string{"incident.pcapng"}
	r.Source.Truncated = &report.Truncated{Frame: 5001, Offset: 1_234_567, Reason: "the record claims 4294967295 bytes"}
	r.Source.Dropped = report.Dropped{Kernel: 312}
	r.Trust = report.Trust{Vantage: "server", Duplicates: 20, OneSided: true, BeginsMidConnection: 2}
	c := report.Connection{Proto: "tcp", Client: "10.0.0.9:41022", Server: "10.0.0.5:5432", Stream: 7, CommunityID: "1:LQU9qZlK+B5F3KDmev6m5PMibrg="}
	c6 := report.Connection{
		Proto: "tcp", Client: "[2001:db8:8f:1::1b]:40542", Server: "[2001:db8:8f:2::50]:443", Stream: 9, CommunityID: "1:x2Yk3mTq7sVnb1w0cQf5uQpO6nE=",
	}
	host := "10.0.0.53"
	r.Codes = map[string]finding.Def{
		"tcp.zero-window": {Metrics: []finding.Metric{{Name: "stalled_seconds"}, {Name: "by_server"}}},
	}
	r.Findings = []report.Finding{
		{
			ID: "F1", Code: "tcp.zero-window", Severity: finding.Warning, Connection: &c, FirstFrame: 4411, LastFrame: 4502, Count: 12,
			Frames: []uint64{4411, 4420, 4431, 4444, 4450, 4461, 4470, 4481, 4490, 4502}, Start: start, End: start + 11_200_000_000,
			Metrics: report.MetricsOf(map[string]any{"stalled_seconds": 11.2, "by_server": 1.0}),
		},
		{
			ID: "F2", Code: "dns.slow", Severity: finding.Notice, Host: &host, FirstFrame: 17, LastFrame: 17, Count: 1,
			Frames: []uint64{17}, Start: start, End: start, Metrics: report.MetricsOf(map[string]any{"name": "db.example.com", "seconds": 2.5}),
		},
	}
	ledger := &conn.Ledger{}
	ledger.Add(conn.WindowStall, 11_200_000_000)
	ledger.Add(conn.Path, 48_000_000)
	ledger.Add(conn.Connect, 48_000_000)
	ledger.Add(conn.Transfer, 44_000_123)
	rule := "receiver-zero-window"
	r.Diagnoses = []report.Diagnosis{
		{
			ID: "D1", Cause: "receiver-zero-window", Culprit: "server", Severity: finding.Critical, Confidence: 0.93,
			Title:       "server 10.0.0.5:5432 stopped reading for 11.2 s of 11.3 s; nothing was lost and the path took 48 ms, so not the network",
			Explanation: "The server's receive buffer was full and it announced a window of zero 12 times. The client had data and was not allowed to send it.",
			Remedies: []string{
				"See why the process behind 10.0.0.5:5432 does not read: CPU, locks, a full disk.",
				"Raise its receive buffer only if it is busy for moments (net.ipv4.tcp_rmem).",
			},
			Connections: []report.Connection{c}, Evidence: []string{"F1"}, Frames: r.Findings[0].Frames,
			Source: "rules", Rule: &rule, Impact: report.Impact{Connections: 1, StalledSeconds: 11.2},
			Ledger: report.LedgerOf(ledger), Time: ledger,
			Excluded:   []report.Exclusion{{Cause: "tcp-packet-loss", Because: "no retransmission, no gap"}, {Cause: "high-latency-path", Because: "round trip 48 ms"}},
			NextStep:   &report.NextStep{Command: "ss -tnmi '( dst 10.0.0.9 )'   # on 10.0.0.5", TellsApart: "a full Recv-Q is the process, an empty one a small buffer"},
			References: []string{"RFC 9293, 3.8.6.1"},
			Caveats:    []string{"only one direction of the traffic was captured"},
		},
		{
			ID: "D2", Cause: "dns-slow", Culprit: "resolver", Severity: finding.Warning, Confidence: 1,
			Title: "resolver 10.0.0.53 took 2.5 s to answer", Explanation: "One lookup took longer than a user waits.", Remedies: []string{"Ask another resolver."},
			Connections: []report.Connection{c6}, Evidence: []string{"F2"}, Frames: []uint64{17}, Source: "rules", Rule: new("dns-slow"),
			Impact: report.Impact{Connections: 1, StalledSeconds: 2.5, Failed: 1}, Excluded: []report.Exclusion{},
		},
	}
	r.Worst = []conn.Summary{
		worst(flow.TCP, 7, "10.0.0.9:41022", "10.0.0.5:5432", 11_200_000_000, 48_000_000, conn.EndFin),
		worst(flow.TCP, 9, "[2001:db8:8f:1::1b]:40542", "[2001:db8:8f:2::50]:443", 2_500_000_000, 0, conn.EndNoAnswer),
	}
	r.Worst[0].Client.Retransmits = 3
	r.Hidden.Findings = 4
	return r
}

func worst(proto uint8, stream uint32, client, server string, score, rtt int64, end conn.End) conn.Summary {
	return conn.Summary{
		ID: flow.ID{Proto: proto, Stream: stream}, Proto: "tcp", Score: score, Handshake: rtt, End: end,
		Client: conn.Side{Addr: netip.MustParseAddrPort(client)}, Server: conn.Side{Addr: netip.MustParseAddrPort(server)},
	}
}

// Asked is Stalled with a model's view of it, and one claim that did not hold.
func Asked() *report.Report {
	r := Stalled()
	r.AI = &report.AI{
		State: "partial", Reason: "1 claim was dropped", Provider: "deepseek", Endpoint: "https://api.deepseek.com/v1", Model: "deepseek-chat",
		Tokens:         report.AITokens{Prompt: 2100, Completion: 340},
		RejectedClaims: []any{map[string]any{"text": "the disk is full", "reason": "cites no finding"}}, Decisions: []any{},
		Notices: []string{"a text in frame 4411 reads like an instruction to a model; it was not sent"},
	}
	d := r.Diagnoses[0]
	d.ID, d.Source, d.Rule, d.About, d.Agrees, d.Confidence = "D3", "ai", nil, "D1", true, 0.8
	d.Title = "the process behind port 5432 does not read"
	d.Explanation = "Twelve zero windows in a row from the server, none from the client."
	d.Remedies = []string{"Look at the server's CPU and locks at that time."}
	d.Alternatives = []report.Alternative{{
		Cause: "small-receive-window", Why: "the buffer may be set too small", Command: "sysctl net.ipv4.tcp_rmem", TellsApart: "a maximum below 100 kB",
	}}
	d.Looks = []report.Look{{Text: "windows of the server", Filter: "tcp.stream == 7 && tcp.window_size == 0"}}
	d.Ledger, d.Time, d.Excluded, d.NextStep = nil, nil, []report.Exclusion{}, nil
	r.Diagnoses = append(r.Diagnoses, d)
	return r
}

// Attack is a report in which every text that can come from a packet, a file
// name or a model is hostile.
func Attack() *report.Report {
	r := Stalled()
	r.Source.Names = []string{Hostile}
	r.Source.Truncated.Reason = Hostile
	r.Source.Interfaces[0].Name = Hostile
	r.NotAssessed = []string{Hostile}
	r.LeftOut = []string{Hostile}
	for i := range r.Findings {
		figures := r.Findings[i].Metrics.Map()
		figures["name"], figures["by_server"] = Hostile, Hostile
		r.Findings[i].Metrics = report.MetricsOf(figures)
		r.Findings[i].Host = new(Hostile)
	}
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		d.Title, d.Explanation, d.Culprit = Hostile, Hostile, Hostile
		d.Remedies, d.Caveats, d.References = []string{Hostile}, []string{Hostile}, []string{Hostile}
		d.Excluded = []report.Exclusion{{Cause: Hostile, Because: Hostile}}
		d.NextStep = &report.NextStep{Command: Hostile, TellsApart: Hostile}
		d.Connections = append([]report.Connection(nil), d.Connections...)
		d.Connections[0].Client = Hostile
	}
	for i := range r.Worst {
		r.Worst[i].End, r.Worst[i].Name = Hostile, Hostile
	}
	r.AI = &report.AI{State: "answered", Reason: Hostile, Model: Hostile, RejectedClaims: []any{Hostile}, Decisions: []any{}, Notices: []string{Hostile}}
	return r
}

// Many is a report with more of everything than a screen holds.
func Many() *report.Report {
	r := Stalled()
	d := r.Diagnoses[0]
	for i := range 40 {
		d.Connections = append(d.Connections, report.Connection{Proto: "tcp", Client: fmt.Sprintf("10.1.0.%d:5000", i), Server: "10.0.0.5:5432", Stream: uint32(100 + i)})
		d.Evidence = append(d.Evidence, "F2")
	}
	for i := range 32 {
		d.Frames = append(d.Frames, uint64(5000+i))
	}
	d.Impact.Connections, d.Impact.StalledSeconds = 41, 123_456
	r.Diagnoses = []report.Diagnosis{d}
	for i := range 30 {
		r.Worst = append(r.Worst, worst(flow.TCP, uint32(1000+i), "10.2.0.1:1000", "10.2.0.2:80", 5e9, 1e6, conn.EndReset))
	}
	return r
}
