package run

import (
	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/report"
)

// Names of the transports in reports.
const (
	protoTCP = "tcp"
	protoUDP = "udp"
)

// seen is what takes each symptom when it is first seen; nil when no output wants
// them.
func (o *outputs) seen(least finding.Severity) func(*analyze.Found) {
	var want []*output
	for _, out := range o.list {
		if _, ok := out.sink.(report.SeenSink); ok {
			want = append(want, out)
		}
	}
	if len(want) == 0 {
		return nil
	}
	a := &assembler{res: &analyze.Result{}, defs: make(map[string]finding.Def), names: make(map[finding.Code]*report.MetricNames)}
	for _, d := range analyze.Defs() {
		a.defs[string(d.Code)] = d
	}
	return func(f *analyze.Found) {
		if f.Severity < least {
			return
		}
		r := a.seen(f)
		for _, out := range want {
			if sink, ok := out.sink.(report.SeenSink); ok && out.err == nil {
				out.err = sink.Seen(&r)
			}
		}
	}
}

// seen is the report's shape of a symptom that was just seen. The conversation is
// not folded yet, so its ends are those that the symptom came with.
func (a *assembler) seen(f *analyze.Found) report.Finding {
	out := a.finding(0, &f.Finding)
	out.ID = ""
	if !f.Flow.Valid() || !f.Client.IsValid() {
		return out
	}
	out.Connection = &report.Connection{
		Proto: protoUDP, Client: f.Client.String(), Server: f.Server.String(), Stream: f.Flow.Stream,
		CommunityID: flow.CommunityID(f.Flow.Proto, f.Client, f.Server),
	}
	if f.Flow.Proto == flow.TCP {
		out.Connection.Proto = protoTCP
	}
	return out
}
