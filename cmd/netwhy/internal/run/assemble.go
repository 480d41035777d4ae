package run

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/tcp"
	"netwhy/capture"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

// Judged is the part of a result that the rules judge.
func Judged(res *analyze.Result) *rules.Input {
	return &rules.Input{
		Findings: res.Findings, Connection: res.Connection, Forgotten: res.Forgotten, Trust: res.Trust,
		Packets: res.Packets, Bytes: res.Bytes, Duration: res.Last - res.First,
		TCP: res.TCPConversations, UDP: res.UDPConversations,
	}
}

// assemble makes the report of a run. Findings and diagnoses below least are
// counted as hidden, except the findings that a shown diagnosis rests on; their
// ids are those that they have in the whole, so that an id means the same
// whatever is shown.
func assemble(res *analyze.Result, info *capture.Info, diagnoses []diagnosis.Diagnosis, codes []finding.Def, least finding.Severity) (*report.Report, *assembler) {
	return newAssembler(res, codes, least).report(info, diagnoses)
}

// newAssembler begins a report with what shows whatever the rules say.
func newAssembler(res *analyze.Result, codes []finding.Def, least finding.Severity) *assembler {
	a := &assembler{res: res, codes: codes, least: least, names: make(map[finding.Code]*report.MetricNames), conns: new(hosts.Table[*report.Connection])}
	a.defs = make(map[string]finding.Def, len(codes))
	for i := range codes {
		a.defs[string(codes[i].Code)] = codes[i]
	}
	n := 0
	for i := range res.Findings {
		if res.Findings[i].Severity >= least {
			n++
		}
	}
	const part = 8 // of what is hidden as much again may be needed without a copy of all
	a.findings, a.places = make([]report.Finding, 0, n+min(len(res.Findings)-n, n/part)), make([]int, 0, n)
	for i := range res.Findings {
		if f := &res.Findings[i]; f.Severity >= least {
			a.findings, a.places = append(a.findings, a.finding(i, f)), append(a.places, i)
		}
	}
	a.worst = worst(res.Connections)
	return a
}

// report finishes it.
func (a *assembler) report(info *capture.Info, diagnoses []diagnosis.Diagnosis) (*report.Report, *assembler) {
	res := a.res
	a.said = len(diagnoses)
	r := &report.Report{
		Schema: report.Schema, Source: source(res, info), Counters: counters(res),
		Findings: a.findings, Diagnoses: []report.Diagnosis{},
		Trust: trust(&res.Trust), NotAssessed: append([]string{}, res.NotAssessed...),
		Worst: a.worst, Connections: res.Connections, Names: res.Names, Codes: a.defs,
	}
	var needed []int
	for i := range diagnoses {
		d := &diagnoses[i]
		if d.Severity < a.least {
			r.Hidden.Diagnoses++
			continue
		}
		for _, e := range d.Evidence {
			if res.Findings[e].Severity < a.least {
				needed = append(needed, e)
			}
		}
		r.Diagnoses = append(r.Diagnoses, a.diagnosis(i, d))
	}
	slices.Sort(needed)
	r.Findings = a.with(slices.Compact(needed))
	r.Hidden.Findings = len(res.Findings) - len(r.Findings)
	for i := range info.Files {
		if err := info.Files[i].Err; err != nil {
			r.LeftOut = append(r.LeftOut, err.Error())
			r.NotAssessed = append(r.NotAssessed, "file "+err.Error())
		}
	}
	return r, a
}

// with are the findings that are shown and, in their places, those that are needed.
func (a *assembler) with(needed []int) []report.Finding {
	if len(needed) == 0 {
		return a.findings
	}
	out := slices.Grow(a.findings, len(needed))[:len(a.findings)+len(needed)]
	shown := len(a.findings)
	for at := len(out) - 1; len(needed) > 0; at-- { // from behind each goes where nothing is needed any more
		last := needed[len(needed)-1]
		if shown > 0 && a.places[shown-1] > last {
			shown--
			out[at] = out[shown]
			continue
		}
		needed = needed[:len(needed)-1]
		out[at] = a.finding(last, &a.res.Findings[last])
	}
	return out
}

// assembler turns the core's values into the report's.
type assembler struct {
	res   *analyze.Result
	codes []finding.Def
	least finding.Severity
	defs  map[string]finding.Def
	names map[finding.Code]*report.MetricNames // of the codes that were found
	said  int                                  // diagnoses of the rules, shown or not
	conns *hosts.Table[*report.Connection]     // that were named before, by flow.ID.Key; nil: of those that are seen none is kept
	spare []report.Connection

	findings []report.Finding // that are shown, so far
	places   []int            // ... in the result
	worst    []conn.Summary
}

// show adds findings, by their place in the result, that were hidden and are
// needed after all.
func (a *assembler) show(r *report.Report, evidence []int) {
	for _, i := range evidence {
		if i < 0 || i >= len(a.res.Findings) || r.FindingByID(findingID(i)) != nil {
			continue
		}
		at := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return place(f.ID) > i })
		if at < 0 {
			at = len(r.Findings)
		}
		r.Findings = slices.Insert(r.Findings, at, a.finding(i, &a.res.Findings[i]))
		r.Hidden.Findings--
	}
}

// place is the inverse of findingID.
func place(id string) int {
	n, _ := strconv.Atoi(id[1:]) // made by findingID
	return n - 1
}

func source(res *analyze.Result, info *capture.Info) report.Source {
	s := report.Source{
		Kind: string(info.Kind), Names: append([]string{}, info.Names...),
		Packets: res.Packets, Bytes: res.Bytes, Undecoded: res.Undecoded,
		Dropped: report.Dropped{
			Kernel: info.Counters.DroppedKernel, Interface: info.Counters.DroppedInterface, Queue: info.Counters.DroppedQueue,
		},
		Interfaces: []report.Interface{},
	}
	if res.Packets > 0 && info.HasTimes {
		s.First, s.Last = new(report.Time(res.First)), new(report.Time(res.Last))
	}
	if t := info.Truncated(); t != nil {
		s.Truncated = &report.Truncated{Frame: t.Frame, Offset: t.Offset, Reason: t.Reason}
	}
	for i := range info.Interfaces {
		s.Interfaces = append(s.Interfaces, report.Interface{Name: info.Interfaces[i].Name, LinkType: linkName(info.Interfaces[i].Link)})
	}
	return s
}

func counters(res *analyze.Result) report.Counters {
	c := report.Counters{
		Protocols:   copied(res.Protocols),
		Connections: report.ByTransport{TCP: res.TCPConversations, UDP: res.UDPConversations},
		TCP:         make(map[string]uint64, len(tcp.CounterNames)),
		DNSRcode:    copied(res.Keyed[proto.DNSRcode]),
		ICMP:        copied(res.Keyed[proto.ICMPTypeCode]),
		ICMPv6:      copied(res.Keyed[proto.ICMPv6TypeCode]),
		TLSAlert:    copied(res.Keyed[proto.TLSAlert]),
		HTTPStatus:  copied(res.Keyed[proto.HTTPStatus]),
	}
	for i, name := range tcp.CounterNames {
		c.TCP[name] = res.TCP[i]
	}
	return c
}

// copied is never nil: the contract has no null for an empty object.
func copied(m map[string]uint64) map[string]uint64 {
	out := make(map[string]uint64, len(m))
	maps.Copy(out, m)
	return out
}

func trust(t *conn.Trust) report.Trust {
	return report.Trust{
		Vantage: cmp.Or(t.Vantage, "unknown"), Duplicates: t.Duplicates, Offload: t.Offload, TimeReversals: t.TimeReversals,
		Gaps: t.Gaps, OneSided: t.OneSided, BeginsMidConnection: t.BeginsMidConnection,
	}
}

// connection names a conversation; nil when nothing of it was kept.
func (a *assembler) connection(id flow.ID) *report.Connection {
	if !id.Valid() {
		return nil
	}
	if a.conns == nil {
		return a.named(id)
	}
	c := a.conns.At(id.Key())
	if *c == nil {
		*c = a.named(id) // nil again and again, where nothing is known: that is rare
	}
	return *c
}

func (a *assembler) named(id flow.ID) *report.Connection {
	var of report.Connection
	if s := a.res.Connection(id); s != nil {
		of = report.Connection{Proto: s.Proto, CommunityID: report.CommunityID(s)}
		of.Client, of.Server = ends(s.Client.Addr, s.Server.Addr)
	} else {
		b, forgotten := a.res.Forgotten(id)
		if !forgotten || !b.Server.IsValid() {
			return nil
		}
		of = report.Connection{Proto: b.Proto(), CommunityID: flow.CommunityID(id.Proto, b.Client, b.Server)}
		of.Client, of.Server = ends(b.Client, b.Server)
	}
	of.Stream = id.Stream
	const atOnce = 64
	if len(a.spare) == 0 {
		a.spare = make([]report.Connection, atOnce)
	}
	c := &a.spare[0]
	a.spare = a.spare[1:]
	*c = of
	return c
}

// ends writes two addresses into one piece of memory.
func ends(client, server netip.AddrPort) (from, to string) {
	var room [2 * len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")]byte
	b := client.AppendTo(room[:0])
	n := len(b)
	both := string(server.AppendTo(b))
	return both[:n], both[n:]
}

func findingID(i int) string { return "F" + strconv.Itoa(i+1) }

func (a *assembler) finding(i int, f *finding.Finding) report.Finding {
	out := report.Finding{
		ID: findingID(i), Code: string(f.Code), Severity: f.Severity, Connection: a.connection(f.Flow),
		FirstFrame: f.Evidence.First, LastFrame: f.Evidence.Last, Count: f.Evidence.Count,
		Frames: f.Evidence.Frames, Start: report.Time(f.Evidence.Start), End: report.Time(f.Evidence.End),
		Metrics: a.namesOf(f.Code).Of(f.Values),
	}
	if f.Host.IsValid() {
		out.Host = new(f.Host.String())
	}
	return out
}

// namesOf are the names of a code's figures; of one that is not known there are none.
func (a *assembler) namesOf(code finding.Code) *report.MetricNames {
	n := a.names[code]
	if n == nil {
		n = report.NamesOf(a.defs[string(code)].Metrics)
		a.names[code] = n
	}
	return n
}

func (a *assembler) diagnosis(i int, d *diagnosis.Diagnosis) report.Diagnosis {
	out := report.Diagnosis{
		ID: fmt.Sprintf("D%d", i+1), Cause: string(d.Cause), Culprit: string(d.Culprit), Severity: d.Severity, Confidence: d.Confidence,
		Title: d.Title, Explanation: d.Explanation, Remedies: append([]string{}, d.Remedies...),
		Connections: []report.Connection{}, Evidence: []string{}, Frames: append([]uint64{}, d.Frames...),
		Source:   string(d.Origin),
		Impact:   report.Impact{Connections: d.Impact.Connections, StalledSeconds: d.Impact.StalledSeconds, Failed: d.Impact.Failed},
		Ledger:   report.LedgerOf(d.Ledger),
		Excluded: []report.Exclusion{}, References: d.References, Caveats: d.Caveats, Time: d.Ledger, More: d.More,
	}
	if d.Rule != "" {
		out.Rule = new(d.Rule)
	}
	for _, id := range d.Connections {
		if c := a.connection(id); c != nil {
			out.Connections = append(out.Connections, *c)
		}
	}
	for _, e := range d.Evidence {
		out.Evidence = append(out.Evidence, findingID(e))
	}
	for _, x := range d.Excluded {
		out.Excluded = append(out.Excluded, report.Exclusion{Cause: string(x.Cause), Because: x.Because})
	}
	if d.NextStep != nil {
		out.NextStep = &report.NextStep{Command: d.NextStep.Command, TellsApart: d.NextStep.TellsApart}
	}
	return out
}

// maxWorst bounds the conversations named as the worst.
const maxWorst = 20

// noticed is the least loss of time that makes a conversation one of the worst:
// what is shorter, nobody notices (Nielsen, 1993: 0.1 s feels instantaneous).
const noticed = 100_000_000

// worst returns the conversations that failed or lost time, worst first.
func worst(all []*conn.Summary) []conn.Summary {
	worse := func(a, b *conn.Summary) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID.Proto, b.ID.Proto), cmp.Compare(a.ID.Stream, b.ID.Stream))
	}
	list := make([]*conn.Summary, 0, maxWorst+1)
	for _, s := range all {
		if s.Score < noticed && !failed(s) || len(list) == maxWorst && worse(list[maxWorst-1], s) <= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(list, s, worse)
		list = slices.Insert(list, at, s)
		list = list[:min(len(list), maxWorst)]
	}
	out := make([]conn.Summary, len(list))
	for i := range out {
		out[i] = *list[i]
	}
	return out
}

func failed(s *conn.Summary) bool {
	switch s.End {
	case conn.EndRefused, conn.EndNoAnswer, conn.EndICMPError:
		return true
	case conn.EndOpen, conn.EndFin, conn.EndHalf, conn.EndReset, conn.EndIdle:
	}
	return s.FailedExchanges > 0
}
