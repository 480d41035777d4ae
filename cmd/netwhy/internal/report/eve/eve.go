// Package eve writes events as Suricata's EVE JSON has them, one a line: "flow"
// for each conversation and "alert" for each connection of a diagnosis, with
// community_id. The fields and their meaning are those of Suricata's manual ("Eve
// JSON Format"); what netwhy alone knows stands under "netwhy".
package eve

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"strings"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/report/rows"
)

// New makes a sink that writes events to w.
func New(w io.Writer) report.Sink {
	return &sink{b: bufio.NewWriter(w)}
}

type sink struct {
	b *bufio.Writer
}

func (s *sink) write(e *event) error {
	line, err := json.Marshal(e, "")
	if err != nil {
		return err
	}
	_, err = s.b.Write(line)
	return err
}

type event struct {
	Timestamp   string `json:"timestamp"`
	FlowID      uint64 `json:"flow_id"`
	EventType   string `json:"event_type"`
	SrcIP       string `json:"src_ip,omitempty"`
	SrcPort     uint16 `json:"src_port,omitempty"`
	DestIP      string `json:"dest_ip,omitempty"`
	DestPort    uint16 `json:"dest_port,omitempty"`
	Proto       string `json:"proto,omitempty"`
	AppProto    string `json:"app_proto,omitempty"`
	CommunityID string `json:"community_id,omitempty"`
	Flow        *flowT `json:"flow,omitempty"`
	TCP         *tcpT  `json:"tcp,omitempty"`
	TLS         *tlsT  `json:"tls,omitempty"`
	Alert       *alert `json:"alert,omitempty"`
	Netwhy      any    `json:"netwhy,omitempty"`
}

type flowT struct {
	PktsToServer  uint64 `json:"pkts_toserver"`
	PktsToClient  uint64 `json:"pkts_toclient"`
	BytesToServer uint64 `json:"bytes_toserver"`
	BytesToClient uint64 `json:"bytes_toclient"`
	Start         string `json:"start"`
	End           string `json:"end"`
	Age           int64  `json:"age"` // seconds
	State         string `json:"state"`
	Reason        string `json:"reason"`
	Alerted       bool   `json:"alerted"`
}

type tcpT struct {
	SYN   bool   `json:"syn"`
	FIN   bool   `json:"fin"`
	RST   bool   `json:"rst"`
	State string `json:"state"`
}

type tlsT struct {
	SNI     string `json:"sni,omitempty"`
	Version string `json:"version,omitempty"`
	JA3     *hash  `json:"ja3,omitempty"`
	JA4     string `json:"ja4,omitempty"`
}

type hash struct {
	Hash string `json:"hash"`
}

type alert struct {
	Action    string `json:"action"`
	Signature string `json:"signature"`
	Category  string `json:"category"`
	Severity  int    `json:"severity"` // 1 is the worst
}

type connNetwhy struct {
	Stream    uint32  `json:"stream"`
	Lost      float64 `json:"avoidable_seconds"`
	End       string  `json:"end"`
	Exchanges uint32  `json:"exchanges"`
	Failed    uint32  `json:"failed_exchanges"`
}

type diagNetwhy struct {
	ID         string   `json:"id"`
	Cause      string   `json:"cause"`
	Culprit    string   `json:"culprit"`
	Confidence float64  `json:"confidence"`
	Frames     []uint64 `json:"frames"`
	Evidence   []string `json:"evidence"`
}

const layout = "2006-01-02T15:04:05.000000-0700"

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(layout) }

// Connection writes a flow event.
func (s *sink) Connection(c *conn.Summary) error {
	const second = 1e9
	e := event{
		Timestamp: stamp(c.Stop), FlowID: flowID(c.Proto, c.ID.Stream, c.CommunityID), EventType: "flow",
		SrcIP: c.Client.Addr.Addr().String(), SrcPort: c.Client.Addr.Port(), DestIP: c.Server.Addr.Addr().String(), DestPort: c.Server.Addr.Port(),
		Proto: strings.ToUpper(c.Proto), AppProto: appProto(c.App), CommunityID: c.CommunityID,
		Flow: &flowT{
			PktsToServer: c.Client.Packets, PktsToClient: c.Server.Packets, BytesToServer: c.Client.WireBytes, BytesToClient: c.Server.WireBytes,
			Start: stamp(c.Start), End: stamp(c.Stop), Age: max(0, c.Stop-c.Start) / second, State: state(c), Reason: reason(c), Alerted: c.Findings > 0,
		},
		Netwhy: connNetwhy{Stream: c.ID.Stream, Lost: report.Seconds(c.Score), End: string(c.End), Exchanges: c.Exchanges, Failed: c.FailedExchanges},
	}
	if c.Proto == "tcp" {
		e.TCP = &tcpT{SYN: c.SYNs > 0, FIN: c.Client.Fin || c.Server.Fin, RST: c.Client.Rst || c.Server.Rst, State: state(c)}
	}
	if t := (tlsT{SNI: c.Attr[rows.AttrSNI], Version: c.Attr[rows.AttrVersion], JA4: c.Attr[rows.AttrJA4]}); t != (tlsT{}) || c.Attr[rows.AttrJA3] != "" {
		if ja3 := c.Attr[rows.AttrJA3]; ja3 != "" {
			t.JA3 = &hash{ja3}
		}
		e.TLS = &t
	}
	return s.write(&e)
}

// flowID is a number as Suricata's flow_id: it joins the events of one flow.
func flowID(proto string, stream uint32, community string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %s", proto, stream, community)
	return h.Sum64() >> 13 // JSON numbers are exact up to 2^53
}

func appProto(app string) string {
	if app == "" {
		return "failed" // Suricata: looked at, not recognised
	}
	return app
}

func state(c *conn.Summary) string {
	switch c.End {
	case conn.EndFin, conn.EndReset, conn.EndRefused, conn.EndHalf, conn.EndICMPError:
		return "closed"
	case conn.EndNoAnswer:
		return "new"
	case conn.EndOpen, conn.EndIdle:
	}
	if c.Client.Packets == 0 || c.Server.Packets == 0 {
		return "new"
	}
	return "established"
}

func reason(c *conn.Summary) string {
	if c.End == conn.EndIdle || c.End == conn.EndNoAnswer {
		return "timeout"
	}
	return "shutdown"
}

// Finding says nothing: a symptom is no alert.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish writes an alert for each connection of each diagnosis, or one alone
// where there is none.
func (s *sink) Finish(r *report.Report) error {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		e := event{
			Timestamp: stamp(when(r, d)), EventType: "alert",
			Alert:  &alert{Action: "allowed", Signature: d.Title, Category: d.Cause, Severity: 1 + int(finding.Critical) - int(min(d.Severity, finding.Critical))},
			Netwhy: diagNetwhy{d.ID, d.Cause, d.Culprit, d.Confidence, d.Frames, d.Evidence},
		}
		for j := range max(1, len(d.Connections)) {
			if j < len(d.Connections) {
				e.of(&d.Connections[j])
			}
			if err := s.write(&e); err != nil {
				return err
			}
		}
	}
	return s.b.Flush()
}

func (e *event) of(c *report.Connection) {
	e.FlowID, e.Proto, e.CommunityID = flowID(c.Proto, c.Stream, c.CommunityID), strings.ToUpper(c.Proto), c.CommunityID
	if a, err := netip.ParseAddrPort(c.Client); err == nil {
		e.SrcIP, e.SrcPort = a.Addr().String(), a.Port()
	}
	if a, err := netip.ParseAddrPort(c.Server); err == nil {
		e.DestIP, e.DestPort = a.Addr().String(), a.Port()
	}
}

// when is the time of the first symptom of a diagnosis.
func when(r *report.Report, d *report.Diagnosis) int64 {
	for _, id := range d.Evidence {
		if f := r.FindingByID(id); f != nil {
			return int64(f.Start)
		}
	}
	if r.Source.First != nil {
		return int64(*r.Source.First)
	}
	return 0
}
