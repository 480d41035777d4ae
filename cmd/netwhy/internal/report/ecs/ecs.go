// Package ecs writes events with the field names of the Elastic Common Schema,
// one a line, so that Elastic indexes them without a mapping, and Loki or an
// OpenTelemetry collector find the names they know (the two schemas are one since
// 2023 for the fields used here). Conversations are events of the category
// "network", findings are events of the kind "event", diagnoses of the kind "alert".
// What ECS has no name for stands under "netwhy".
//
// Names are nested objects, not dotted keys: that is how Elastic returns them, and
// both are indexed alike.
package ecs

import (
	"bufio"
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

// Version of the schema that is followed.
const Version = "8.17.0"

// New makes a sink that writes events to w as they become known.
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

// event is one line.
type event struct {
	Timestamp   string    `json:"@timestamp"`
	ECS         version   `json:"ecs"`
	Event       about     `json:"event"`
	Message     string    `json:"message,omitempty"`
	Observer    observer  `json:"observer"`
	Source      *endpoint `json:"source,omitempty"`
	Destination *endpoint `json:"destination,omitempty"`
	Client      *endpoint `json:"client,omitempty"`
	Server      *endpoint `json:"server,omitempty"`
	Network     *network  `json:"network,omitempty"`
	TLS         *tlsT     `json:"tls,omitempty"`
	Host        *host     `json:"host,omitempty"`
	Rule        *rule     `json:"rule,omitempty"`
	Log         *level    `json:"log,omitempty"`
	Netwhy      any       `json:"netwhy,omitempty"`
}

type version struct {
	Version string `json:"version"`
}

type level struct {
	Level string `json:"level"`
}

type about struct {
	Kind     string   `json:"kind"`
	Category []string `json:"category"`
	Type     []string `json:"type"`
	Dataset  string   `json:"dataset"`
	Module   string   `json:"module"`
	Action   string   `json:"action,omitempty"`
	Code     string   `json:"code,omitempty"`
	ID       string   `json:"id,omitempty"`
	Severity int      `json:"severity"`
	Start    string   `json:"start,omitempty"`
	End      string   `json:"end,omitempty"`
	Duration int64    `json:"duration,omitempty"` // ns
	Outcome  string   `json:"outcome,omitempty"`
}

type observer struct {
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Type    string `json:"type"`
}

type endpoint struct {
	Address string `json:"address"`
	IP      string `json:"ip,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	Domain  string `json:"domain,omitempty"`
	Packets uint64 `json:"packets,omitempty"`
	Bytes   uint64 `json:"bytes,omitempty"`
}

type network struct {
	Transport   string `json:"transport"`
	Type        string `json:"type,omitempty"`
	Protocol    string `json:"protocol,omitempty"`
	CommunityID string `json:"community_id,omitempty"`
	Packets     uint64 `json:"packets,omitempty"`
	Bytes       uint64 `json:"bytes,omitempty"`
}

type tlsT struct {
	Version      string  `json:"version,omitempty"`
	NextProtocol string  `json:"next_protocol,omitempty"`
	Client       *tlsEnd `json:"client,omitempty"`
}

type tlsEnd struct {
	ServerName string `json:"server_name,omitempty"`
	JA3        string `json:"ja3,omitempty"`
	JA4        string `json:"ja4,omitempty"`
}

type host struct {
	IP []string `json:"ip"`
}

type rule struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ours is what ECS has no name for.
type ours struct {
	Stream     *uint32            `json:"stream,omitempty"`
	End        string             `json:"end,omitempty"`
	Lost       float64            `json:"avoidable_seconds,omitempty"`
	Resent     uint64             `json:"retransmissions,omitempty"`
	RTT        float64            `json:"handshake_seconds,omitempty"`
	Exchanges  uint32             `json:"exchanges,omitempty"`
	Failed     uint32             `json:"failed_exchanges,omitempty"`
	Frames     []uint64           `json:"frames,omitempty"`
	Count      uint64             `json:"count,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Texts      map[string]string  `json:"texts,omitempty"` // what is text of the metrics: one name is a number in one code and a text in another
	Cause      string             `json:"cause,omitempty"`
	Culprit    string             `json:"culprit,omitempty"`
	Confidence float64            `json:"confidence,omitempty"`
	Evidence   []string           `json:"evidence,omitempty"`
	Remedies   []string           `json:"remedies,omitempty"`
	Impact     *report.Impact     `json:"impact,omitempty"`
	Ledger     *report.Ledger     `json:"ledger,omitempty"`
	Report     *report.Counters   `json:"counters,omitempty"`
}

const (
	module  = "netwhy"
	success = "success"
	failure = "failure"
	kind    = "event"
)

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z") }

func blank(ns int64, dataset string) event {
	return event{
		Timestamp: stamp(ns), ECS: version{Version},
		Event:    about{Kind: kind, Category: []string{"network"}, Type: []string{"info"}, Dataset: module + "." + dataset, Module: module},
		Observer: observer{module, module, "sensor"},
	}
}

// Connection writes an event of a conversation that ended.
func (s *sink) Connection(c *conn.Summary) error {
	e := blank(c.Stop, "connection")
	e.Event.Type = []string{"connection", "end"}
	e.Event.Start, e.Event.End, e.Event.Duration = stamp(c.Start), stamp(c.Stop), max(0, c.Stop-c.Start)
	e.Event.Action, e.Event.Outcome = "connection-"+string(c.End), success
	switch c.End {
	case conn.EndRefused, conn.EndNoAnswer, conn.EndICMPError:
		e.Event.Outcome = failure
	case conn.EndOpen, conn.EndFin, conn.EndHalf, conn.EndReset, conn.EndIdle:
		if c.FailedExchanges > 0 {
			e.Event.Outcome = failure
		}
	}
	e.ends(end(c.Client.Addr), end(c.Server.Addr))
	e.Source.Packets, e.Source.Bytes = c.Client.Packets, c.Client.WireBytes
	e.Destination.Packets, e.Destination.Bytes = c.Server.Packets, c.Server.WireBytes
	e.Destination.Domain = c.Name
	e.Network = &network{
		Transport: c.Proto, Type: family(c.Client.Addr.Addr()), Protocol: c.App, CommunityID: c.CommunityID,
		Packets: c.Client.Packets + c.Server.Packets, Bytes: c.Client.WireBytes + c.Server.WireBytes,
	}
	if v, alpn, cl := c.Attr[rows.AttrVersion], c.Attr[rows.AttrALPN], (tlsEnd{c.Attr[rows.AttrSNI], c.Attr[rows.AttrJA3], c.Attr[rows.AttrJA4]}); v != "" || alpn != "" || cl != (tlsEnd{}) {
		e.TLS = &tlsT{Version: strings.TrimPrefix(v, "TLS "), NextProtocol: alpn}
		if cl != (tlsEnd{}) {
			e.TLS.Client = &cl
		}
	}
	e.Netwhy = ours{
		Stream: &c.ID.Stream, End: string(c.End), Lost: report.Seconds(c.Score), Resent: uint64(c.Client.Retransmits) + uint64(c.Server.Retransmits),
		RTT: report.Seconds(c.Handshake), Exchanges: c.Exchanges, Failed: c.FailedExchanges,
	}
	return s.write(&e)
}

func family(a netip.Addr) string {
	if a.Unmap().Is4() {
		return "ipv4"
	}
	return "ipv6"
}

func end(a netip.AddrPort) *endpoint {
	ip := a.Addr().String()
	return &endpoint{Address: ip, IP: ip, Port: a.Port()}
}

// ends names both ends, as source and destination and as client and server.
func (e *event) ends(client, server *endpoint) {
	e.Source, e.Destination = client, server
	c, s := *client, *server
	e.Client, e.Server = &c, &s
}

func parsed(s string) *endpoint {
	if a, err := netip.ParseAddrPort(s); err == nil {
		return end(a)
	}
	return &endpoint{Address: s}
}

func (e *event) connection(c *report.Connection) {
	e.ends(parsed(c.Client), parsed(c.Server))
	e.Network = &network{Transport: c.Proto, CommunityID: c.CommunityID}
	if a, err := netip.ParseAddrPort(c.Client); err == nil {
		e.Network.Type = family(a.Addr())
	}
}

// severity is a number of Elastic's scale of 0 to 100.
func severity(s finding.Severity) int {
	scale := [...]int{21, 47, 73, 99}
	return scale[min(int(s), len(scale)-1)]
}

// Finding writes an event of a symptom.
func (s *sink) Finding(f *report.Finding) error {
	e := blank(int64(f.Start), "finding")
	e.Event.ID, e.Event.Code, e.Event.Severity = f.ID, f.Code, severity(f.Severity)
	e.Event.Start, e.Event.End, e.Event.Duration = stamp(int64(f.Start)), stamp(int64(f.End)), max(0, int64(f.End-f.Start))
	e.Log = &level{f.Severity.String()}
	o := ours{Frames: f.Frames, Count: f.Count}
	o.Metrics, o.Texts = apart(f.Metrics)
	if f.Connection != nil {
		e.connection(f.Connection)
		o.Stream = &f.Connection.Stream
	}
	if f.Host != nil {
		e.Host = &host{[]string{*f.Host}}
	}
	e.Netwhy = o
	return s.write(&e)
}

// apart parts numbers from texts: an index gives a field one type for all events.
func apart(metrics report.Metrics) (numbers map[string]float64, texts map[string]string) {
	numbers, texts = make(map[string]float64), make(map[string]string)
	for x := range metrics.All() {
		if x.IsText {
			texts[x.Name] = x.Text
		} else {
			numbers[x.Name] = x.Num
		}
	}
	return numbers, texts
}

// Finish writes an event for each diagnosis, and one for the run.
func (s *sink) Finish(r *report.Report) error {
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		e := blank(begun(r, d), "diagnosis")
		e.Event.Kind, e.Event.Type = "alert", []string{"indicator"}
		e.Event.ID, e.Event.Severity, e.Message, e.Log = d.ID, severity(d.Severity), d.Title, &level{d.Severity.String()}
		e.Event.Code = d.Cause
		if d.Rule != nil {
			e.Rule = &rule{*d.Rule, d.Cause}
		}
		o := ours{
			Frames: d.Frames, Cause: d.Cause, Culprit: d.Culprit, Confidence: d.Confidence, Evidence: d.Evidence, Remedies: d.Remedies,
			Impact: &d.Impact, Ledger: d.Ledger,
		}
		if len(d.Connections) > 0 {
			e.connection(&d.Connections[0])
			o.Stream = &d.Connections[0].Stream
		}
		e.Netwhy = o
		if err := s.write(&e); err != nil {
			return err
		}
	}
	last := int64(0)
	if r.Source.Last != nil {
		last = int64(*r.Source.Last)
	}
	e := blank(last, "report")
	e.Event.Kind, e.Event.Type, e.Event.Outcome = "metric", []string{"end"}, success
	e.Netwhy = ours{Report: &r.Counters, Count: r.Source.Packets}
	if err := s.write(&e); err != nil {
		return err
	}
	return s.b.Flush()
}

func begun(r *report.Report, d *report.Diagnosis) int64 {
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
