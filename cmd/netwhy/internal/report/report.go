// Package report holds what a run has to say, in the shape that scripts,
// tickets and dashboards rely on, and the socket for the formats that write it.
// One folder below holds one format.
//
// # Why a copy of the result
//
// The types here are the contract's JSON document, field for field, and nothing
// else decides how it looks: the core can change its own types without a script
// noticing, and every format tells the same story because all read this one.
// Texts from packets are kept as they came; each format escapes them its way.
package report

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/trace"
)

// Schema names the shape of the document. A change of meaning changes it.
const Schema = "netwhy.report/1"

// Report is everything a run found. Its JSON form is the contract; what is not
// part of that form has the tag "-" and serves the formats for people.
type Report struct {
	Schema      string      `json:"schema"`
	Version     string      `json:"version"`
	Source      Source      `json:"source"`
	Counters    Counters    `json:"counters"`
	Findings    []Finding   `json:"findings"`
	Diagnoses   []Diagnosis `json:"diagnoses"`
	Trust       Trust       `json:"trust"`
	NotAssessed []string    `json:"not_assessed"`
	AI          *AI         `json:"ai"`

	Interrupted string                 `json:"-"` // why the run ended before its source did; empty: it did not
	Hidden      Hidden                 `json:"-"`
	Worst       []conn.Summary         `json:"-"` // the conversations that lost most time or failed, worst first
	Connections []*conn.Summary        `json:"-"` // all that were kept
	Names       map[netip.Addr]string  `json:"-"` // that lookups gave to addresses; hostile
	Codes       map[string]finding.Def `json:"-"` // what each code means
	LeftOut     []string               `json:"-"` // files that could not be read, with the reason

	Pictures `json:"-"`
}

// Pictures is what charts are drawn from. It is gathered only for formats that
// have charts.
type Pictures struct {
	Traffic    *trace.Traffic           // nil: nothing passed, or not gathered
	Traces     map[flow.ID]*trace.Trace // connections that were diagnosed
	Exhibits   map[uint64]trace.Exhibit // by frame: the proof, and how these connections began and ended
	NoPictures bool                     // wanted, but the source cannot be read a second time
}

// ConnectionFrames lists the exhibits that belong to a conversation.
func (p *Pictures) ConnectionFrames(id flow.ID) []uint64 {
	var out []uint64
	for n := range p.Exhibits {
		if p.Exhibits[n].Stream == id {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// Hidden counts what was found and lies below the least severity to show.
type Hidden struct{ Findings, Diagnoses int }

// Time is a moment in nanoseconds since 1970-01-01 UTC, written as RFC 3339 with
// all nine digits, so that texts sort as times do.
type Time int64

// Layout of a Time.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

func (t Time) String() string { return time.Unix(0, int64(t)).UTC().Format(timeLayout) }

// MarshalText writes the time as RFC 3339 in UTC.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (t *Time) UnmarshalText(text []byte) error {
	v, err := time.Parse(timeLayout, string(text))
	if err != nil {
		return err
	}
	*t = Time(v.UnixNano())
	return nil
}

// Source tells what was read.
type Source struct {
	Kind       string      `json:"kind"` // "file" or "live"
	Names      []string    `json:"names"`
	Packets    uint64      `json:"packets"`
	Bytes      uint64      `json:"bytes"` // on the wire
	First      *Time       `json:"first"` // null: no frame, or none with a time
	Last       *Time       `json:"last"`
	Dropped    Dropped     `json:"dropped"`
	Truncated  *Truncated  `json:"truncated"`
	Undecoded  uint64      `json:"undecoded"`
	Interfaces []Interface `json:"interfaces"`
}

// Dropped counts frames that were never seen, by who lost them.
type Dropped struct {
	Kernel    uint64 `json:"kernel"`
	Interface uint64 `json:"interface"`
	Queue     uint64 `json:"queue"`
}

// Total is the number of frames lost.
func (d Dropped) Total() uint64 { return d.Kernel + d.Interface + d.Queue }

// Truncated is where a file ends early or is damaged.
type Truncated struct {
	Frame  uint64 `json:"frame"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// Interface is one interface of the capture.
type Interface struct {
	Name     string `json:"name"`
	LinkType string `json:"link_type"` // name of the DLT without "DLT_": "EN10MB"
}

// Counters are Wireshark's figures, and the packets that carry each protocol.
type Counters struct {
	Protocols   map[string]uint64 `json:"protocols"`
	Connections ByTransport       `json:"connections"`
	TCP         map[string]uint64 `json:"tcp"`
	DNSRcode    map[string]uint64 `json:"dns_rcode"`
	ICMP        map[string]uint64 `json:"icmp"`
	ICMPv6      map[string]uint64 `json:"icmpv6"`
	TLSAlert    map[string]uint64 `json:"tls_alert"`
	HTTPStatus  map[string]uint64 `json:"http_status"`
}

// ByTransport counts conversations.
type ByTransport struct {
	TCP uint64 `json:"tcp"`
	UDP uint64 `json:"udp"`
}

// Connection names one conversation.
type Connection struct {
	Proto       string `json:"proto"`
	Client      string `json:"client"`
	Server      string `json:"server"`
	Stream      uint32 `json:"stream"`
	CommunityID string `json:"community_id"`
}

// CommunityID names a conversation for other tools. A summary has it only where
// somebody asked for it before: it costs a hash.
func CommunityID(s *conn.Summary) string {
	if s.CommunityID != "" {
		return s.CommunityID
	}
	return flow.CommunityID(s.ID.Proto, s.Client.Addr, s.Server.Addr)
}

// Finding is a symptom.
type Finding struct {
	ID         string           `json:"id"` // "F1"
	Code       string           `json:"code"`
	Severity   finding.Severity `json:"severity"`
	Connection *Connection      `json:"connection"`
	Host       *string          `json:"host"`
	FirstFrame uint64           `json:"first_frame"`
	LastFrame  uint64           `json:"last_frame"`
	Count      uint64           `json:"count"`
	Frames     []uint64         `json:"frames"`
	Start      Time             `json:"start"`
	End        Time             `json:"end"`
	Metrics    Metrics          `json:"metrics"`

	// Caveats are there only where the capture itself may have made the symptom.
	Caveats []string `json:"caveats,omitempty"`
}

// Diagnosis is a root cause.
type Diagnosis struct {
	ID          string           `json:"id"` // "D1"
	Cause       string           `json:"cause"`
	Culprit     string           `json:"culprit"`
	Severity    finding.Severity `json:"severity"`
	Confidence  float64          `json:"confidence"`
	Title       string           `json:"title"`
	Explanation string           `json:"explanation"`
	Remedies    []string         `json:"remedies"`
	Connections []Connection     `json:"connections"`
	Evidence    []string         `json:"evidence"` // ids of findings
	Frames      []uint64         `json:"frames"`
	Source      string           `json:"source"` // "rules" or "ai"
	Rule        *string          `json:"rule"`
	Impact      Impact           `json:"impact"`
	Ledger      *Ledger          `json:"ledger"`
	Excluded    []Exclusion      `json:"excluded"`
	NextStep    *NextStep        `json:"next_step"`

	// File is there only when evidence was asked for (--evidence).
	File *EvidenceFile `json:"evidence_file,omitempty"`

	More         int           `json:"-"` // parties that it stands for together; 0: it is one's
	References   []string      `json:"-"`
	Caveats      []string      `json:"-"` // what in the capture weakens this
	Time         *conn.Ledger  `json:"-"` // Ledger, exact
	About        string        `json:"-"` // by the AI: the diagnosis by rules that it was asked about
	Agrees       bool          `json:"-"` // by the AI: it names the same cause
	Alternatives []Alternative `json:"-"` // by the AI: what else it could be
	Looks        []Look        `json:"-"` // by the AI: where to look
}

// EvidenceFile is the capture of the frames that prove a diagnosis.
type EvidenceFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// DisplayFilter is what shows the proof in Wireshark: at most limit frames, the
// last of them always; empty without frames. Where all proof is of one TCP
// connection, its stream stands first, so that taking away the rest shows the
// whole conversation.
func (r *Report) DisplayFilter(d *Diagnosis, limit int) string {
	if len(d.Frames) == 0 {
		return ""
	}
	frames := d.Frames
	if len(frames) > limit {
		frames = append(slices.Clone(frames[:limit-1]), frames[len(frames)-1])
	}
	var b strings.Builder
	if r.oneStream(d) {
		fmt.Fprintf(&b, "tcp.stream == %d && ", d.Connections[0].Stream)
	}
	b.WriteString("frame.number in {")
	for i, n := range frames {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	b.WriteString("}")
	return b.String()
}

func (r *Report) oneStream(d *Diagnosis) bool {
	if len(d.Connections) != 1 || d.Connections[0].Proto != "tcp" {
		return false
	}
	for _, id := range d.Evidence {
		f := r.FindingByID(id)
		if f == nil || f.Connection == nil || *f.Connection != d.Connections[0] || !strings.HasPrefix(f.Code, "tcp.") {
			return false
		}
	}
	return true
}

// Alternative is what else it could be, and the command that tells them apart.
type Alternative struct{ Cause, Why, Command, TellsApart string }

// Look is a place to look at, with a display filter.
type Look struct{ Text, Filter string }

// Impact is what a cause cost.
type Impact struct {
	Connections    int     `json:"connections"`
	StalledSeconds float64 `json:"stalled_seconds"`
	Failed         int     `json:"failed"`
}

// Ledger is the time of the worst exchange, in seconds; the parts add up.
type Ledger struct {
	Total       float64 `json:"total"`
	DNS         float64 `json:"dns"`
	Connect     float64 `json:"connect"`
	TLS         float64 `json:"tls"`
	ClientThink float64 `json:"client_think"`
	RequestSend float64 `json:"request_send"`
	Path        float64 `json:"path"`
	ServerThink float64 `json:"server_think"`
	LossStall   float64 `json:"loss_stall"`
	WindowStall float64 `json:"window_stall"`
	SenderIdle  float64 `json:"sender_idle"`
	Transfer    float64 `json:"transfer"`
}

// Exclusion is a rival cause and the fact that rules it out.
type Exclusion struct {
	Cause   string `json:"cause"`
	Because string `json:"because"`
}

// NextStep is the command whose result tells the remaining rivals apart.
type NextStep struct {
	Command    string `json:"command"`
	TellsApart string `json:"tells_apart"`
}

// Trust is how far the capture can be believed.
type Trust struct {
	Vantage             string `json:"vantage"` // client, server, middle or unknown
	Duplicates          uint64 `json:"duplicates"`
	Offload             bool   `json:"offload"`
	TimeReversals       uint64 `json:"time_reversals"`
	Gaps                uint64 `json:"gaps"`
	OneSided            bool   `json:"one_sided"`
	BeginsMidConnection uint64 `json:"begins_mid_connection"`
}

// AI tells what the cloud said, or why it said nothing.
type AI struct {
	State          string   `json:"state"` // answered, partial, fell-back or off
	Reason         string   `json:"reason"`
	Provider       string   `json:"provider"`
	Endpoint       string   `json:"endpoint"`
	Model          string   `json:"model"`
	Tokens         AITokens `json:"tokens"`
	RejectedClaims []any    `json:"rejected_claims"`
	Decisions      []any    `json:"decisions"`
	Notices        []string `json:"notices"` // what the user has to know or to mend
}

// AITokens is what the answers cost.
type AITokens struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
}

// Healthy reports whether nothing of severity warning or critical was diagnosed.
func (r *Report) Healthy() bool {
	for i := range r.Diagnoses {
		if r.Diagnoses[i].Severity >= finding.Warning {
			return false
		}
	}
	return true
}

// DiagnosisByID finds one by its id; nil where it is not shown.
func (r *Report) DiagnosisByID(id string) *Diagnosis {
	for i := range r.Diagnoses {
		if r.Diagnoses[i].ID == id {
			return &r.Diagnoses[i]
		}
	}
	return nil
}

// FindingByID returns the finding that a diagnosis names; nil if it is not shown.
func (r *Report) FindingByID(id string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}

// LedgerOf writes an exact ledger in seconds; nil stays nil.
func LedgerOf(l *conn.Ledger) *Ledger {
	if l == nil {
		return nil
	}
	s := func(p conn.Part) float64 { return Seconds(l.Part[p]) }
	return &Ledger{
		Total: Seconds(l.Total), DNS: s(conn.DNS), Connect: s(conn.Connect), TLS: s(conn.TLS), ClientThink: s(conn.ClientThink),
		RequestSend: s(conn.RequestSend), Path: s(conn.Path), ServerThink: s(conn.ServerThink), LossStall: s(conn.LossStall),
		WindowStall: s(conn.WindowStall), SenderIdle: s(conn.SenderIdle), Transfer: s(conn.Transfer),
	}
}

// Exact is the inverse of LedgerOf, for a report that is read back; nil stays nil.
func (l *Ledger) Exact() *conn.Ledger {
	if l == nil {
		return nil
	}
	ns := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	out := &conn.Ledger{Total: ns(l.Total)}
	for p, s := range map[conn.Part]float64{
		conn.DNS: l.DNS, conn.Connect: l.Connect, conn.TLS: l.TLS, conn.ClientThink: l.ClientThink, conn.RequestSend: l.RequestSend,
		conn.Path: l.Path, conn.ServerThink: l.ServerThink, conn.LossStall: l.LossStall, conn.WindowStall: l.WindowStall,
		conn.SenderIdle: l.SenderIdle, conn.Transfer: l.Transfer,
	} {
		out.Part[p] = ns(s)
	}
	return out
}

// Seconds turns nanoseconds into seconds. Below 104 days a float64 keeps every
// nanosecond.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }
