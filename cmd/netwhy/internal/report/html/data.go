package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	"netwhy/cmd/netwhy/internal/terminal"
	"netwhy/cmd/netwhy/internal/trace"
)

// pageData is what the page's script shows. Texts are printable; the script
// makes text nodes of them.
type pageData struct {
	Words       scriptPhrases       `json:"words"`
	Connections [][]any             `json:"connections"` // columns as connectionColumns
	Findings    [][]any             `json:"findings"`    // columns as findingColumns
	Columns     map[string][]column `json:"columns"`
	Traces      map[string]*series  `json:"traces"`
}

type column struct {
	Key    string `json:"key"`
	Name   string `json:"name"`
	Number bool   `json:"number"`
}

// series is a connection in columns, one entry a frame.
type series struct {
	Client string       `json:"client"`
	Server string       `json:"server"`
	Frame  []uint64     `json:"frame"`
	T      []float64    `json:"t"` // seconds since the first frame; a slice of bytes would become base64, so directions are ints
	Dir    []int        `json:"dir"`
	Seq    []uint32     `json:"seq"`
	Len    []uint32     `json:"len"`
	Ack    []uint32     `json:"ack"` // 0: none
	Window []uint32     `json:"win"`
	Flight []uint32     `json:"flight"`
	RTT    []float64    `json:"rtt"` // ms; 0: no sample
	Again  []int        `json:"again"`
	Main   uint8        `json:"main"` // the direction with more payload
	Step   float64      `json:"step"` // seconds, of Rates
	Rates  [2][]float64 `json:"rates"`
}

func (g *page) collect() {
	p := g.P
	g.data = pageData{
		Words: p.Script, Connections: [][]any{}, Findings: [][]any{}, Traces: map[string]*series{},
		Columns: map[string][]column{
			"connections": g.columns("stream", "client", "server", "name", "app", "#start", "#duration", "#lost", "#rtt", "#resent", "#bytes", "end", "diagnosis", "ja4", "community"),
			"findings":    g.columns("id", "severity", "code", "where", "#count", "frames", "figures", "diagnosis"),
		},
	}
	diagnosed := make(map[string][]string)
	proving := make(map[string][]string)
	for i := range g.r.Diagnoses {
		d := &g.r.Diagnoses[i]
		for j := range d.Connections {
			k := d.Connections[j].Proto + " " + strconv.FormatUint(uint64(d.Connections[j].Stream), 10)
			diagnosed[k] = append(diagnosed[k], d.ID)
		}
		for _, id := range d.Evidence {
			proving[id] = append(proving[id], d.ID)
		}
	}
	for _, c := range g.r.Connections {
		g.data.Connections = append(g.data.Connections, g.connection(c, diagnosed))
	}
	for i := range g.r.Findings {
		g.data.Findings = append(g.data.Findings, g.finding(&g.r.Findings[i], proving))
	}
	for i := range g.Diagnoses {
		for _, pl := range g.Diagnoses[i].Plots {
			g.data.Traces[pl.Key] = nil
		}
	}
	for id, t := range g.r.Traces {
		key := "tcp" + strconv.FormatUint(uint64(id.Stream), 10)
		if _, wanted := g.data.Traces[key]; wanted && id.Proto == flow.TCP {
			g.data.Traces[key] = seriesOf(t)
		}
	}
}

func (g *page) columns(keys ...string) []column {
	var out []column
	for _, k := range keys {
		key, number := strings.CutPrefix(k, "#")
		out = append(out, column{Key: key, Name: g.P.Script.Column[key], Number: number})
	}
	return out
}

func (g *page) connection(s *conn.Summary, diagnosed map[string][]string) []any {
	stream := s.Proto + " " + strconv.FormatUint(uint64(s.ID.Stream), 10)
	start := s.Start
	if g.r.Source.First != nil {
		start -= int64(*g.r.Source.First)
	}
	rtt := s.Handshake
	if rtt == 0 {
		rtt = max(s.Client.RTT.Median, s.Server.RTT.Median)
	}
	const ns, milli = 1e9, 1e6
	return []any{
		stream, s.Client.Addr.String(), s.Server.Addr.String(), terminal.Printable(s.Name), terminal.Printable(s.App),
		round(float64(start) / ns), round(float64(s.Stop-s.Start) / ns), round(float64(s.Score) / ns), round(float64(rtt) / milli),
		s.Client.Retransmits + s.Server.Retransmits, s.Client.WireBytes + s.Server.WireBytes,
		terminal.Printable(word(g.P.End, string(s.End))), strings.Join(diagnosed[stream], " "), terminal.Printable(s.Attr["tls.ja4"]), report.CommunityID(s),
	}
}

func (g *page) finding(f *report.Finding, proving map[string][]string) []any {
	where := ""
	switch {
	case f.Connection != nil:
		where = fmt.Sprintf("%s → %s (%s.stream %d)", f.Connection.Client, f.Connection.Server, f.Connection.Proto, f.Connection.Stream)
	case f.Host != nil:
		where = *f.Host
	}
	frames := make([]string, 0, 8)
	for i, n := range f.Frames {
		if i == 8 {
			frames = append(frames, "…")
			break
		}
		frames = append(frames, strconv.FormatUint(n, 10))
	}
	var measured []string
	for _, x := range figures.Of(f, g.r.Codes, g.words) {
		measured = append(measured, x.String())
	}
	return []any{
		f.ID, g.P.Severity[min(int(f.Severity), len(g.P.Severity)-1)], terminal.Printable(f.Code), terminal.Printable(where), f.Count,
		strings.Join(frames, " "), terminal.Printable(strings.Join(measured, ", ")), strings.Join(proving[f.ID], " "),
	}
}

// round keeps six digits behind the point: microseconds, or nanoseconds of a
// figure in milliseconds.
func round(v float64) float64 {
	const digits = 1e6
	if v < 0 {
		return float64(int64(v*digits-0.5)) / digits
	}
	return float64(int64(v*digits+0.5)) / digits
}

func seriesOf(t *trace.Trace) *series {
	frames := slices.Clone(t.Frames)
	slices.SortStableFunc(frames, func(a, b trace.Frame) int { // a chart needs times in order
		switch {
		case a.Time < b.Time:
			return -1
		case a.Time > b.Time:
			return 1
		}
		return 0
	})
	n := len(frames)
	s := &series{
		Client: terminal.Printable(t.Client), Server: terminal.Printable(t.Server), Frame: make([]uint64, n), T: make([]float64, n), Dir: make([]int, n), Seq: make([]uint32, n),
		Len: make([]uint32, n), Ack: make([]uint32, n), Window: make([]uint32, n), Flight: make([]uint32, n), RTT: make([]float64, n), Again: make([]int, n),
		Step: float64(t.Step) / 1e9,
	}
	if t.Payload[flow.ToClient] >= t.Payload[flow.ToServer] {
		s.Main = uint8(flow.ToClient)
	}
	for i := range frames {
		f := &frames[i]
		s.Frame[i], s.T[i], s.Dir[i] = f.Number, round(float64(f.Time-frames[0].Time)/1e9), int(f.Dir)
		s.Seq[i], s.Len[i], s.Ack[i], s.Window[i], s.Flight[i] = f.Seq, f.Len, f.Ack, f.Window, f.InFlight
		s.RTT[i] = round(float64(f.RTT) / 1e6)
		if f.Marks.Has(tcp.Again | tcp.OutOfOrder) {
			s.Again[i] = 1
		}
	}
	for d := range t.Rates {
		s.Rates[d] = make([]float64, max(len(t.Rates[0]), len(t.Rates[1])))
		for i, b := range t.Rates[d] {
			s.Rates[d][i] = round(float64(b) * 8 / (float64(t.Step) / 1e9) / 1e6) // Mbit/s
		}
	}
	return s
}
