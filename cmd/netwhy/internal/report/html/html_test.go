package html_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/tcp"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/html"
	"netwhy/cmd/netwhy/internal/report/reporttest"
	"netwhy/cmd/netwhy/internal/trace"
)

var update = reporttest.Updating()

func write(t *testing.T, r *report.Report, lang string) []byte {
	t.Helper()
	var b bytes.Buffer
	s := html.New(&b, html.Options{Lang: lang})
	for i := range r.Findings {
		if err := s.Finding(&r.Findings[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictured gives a report of reporttest something to draw: a transfer that
// stops for a closed window, with one segment lost.
func pictured(r *report.Report) *report.Report {
	first := int64(1_764_489_600_123_456_789)
	c := report.Connection{}
	for _, d := range r.Diagnoses {
		if d.Cause == "receiver-zero-window" {
			c = d.Connections[0]
		}
	}
	id := flow.ID{Proto: flow.TCP, Stream: 7}
	tr := &trace.Trace{ID: id, Client: c.Client, Server: c.Server, Start: first, Stop: first + 11_300_000_000, Step: 56_500_000}
	r.Exhibits = map[uint64]trace.Exhibit{}
	r.Traffic = &trace.Traffic{Start: first, Step: 12_500_000}
	for i := range 1000 {
		r.Traffic.Slots = append(r.Traffic.Slots, trace.Slot{Frames: uint64(i % 7), Bytes: uint64(i%7) * 1500})
	}
	add := func(f trace.Frame, label string) {
		tr.Frames = append(tr.Frames, f)
		tr.Seen++
		from, to := c.Client, c.Server
		if f.Dir == flow.ToClient {
			from, to = to, from
		}
		r.Exhibits[f.Number] = trace.Exhibit{Number: f.Number, Time: f.Time, From: from, To: to, Label: label, Len: f.Len, Stream: id, Marks: f.Marks, Flags: f.Flags}
	}
	frame, at, seq := uint64(4405), first, uint32(1)
	for i := range 60 {
		var marks tcp.Marks
		if i == 20 {
			marks = tcp.Retransmission
		}
		add(trace.Frame{Number: frame, Time: at, Seq: seq, Len: 1448, Ack: 1, Window: 65535, InFlight: 1448, Flags: tcp.FlagACK | tcp.FlagPSH, Marks: marks}, "PSH, ACK")
		window := uint32(20_000 - 300*i)
		marks = 0
		if i%15 == 14 {
			window, marks = 0, tcp.ZeroWindow
		}
		add(trace.Frame{Number: frame + 1, Time: at + 48_000_000, Dir: flow.ToClient, Seq: 1, Ack: seq + 1448, Window: window, RTT: 48_000_000, Flags: tcp.FlagACK, Marks: marks}, "ACK")
		frame, seq = frame+2, seq+1448
		at += 100_000_000
		if window == 0 {
			at += 1_200_000_000
		}
	}
	tr.Payload[flow.ToServer] = uint64(seq)
	for i := range 200 {
		tr.Rates[0] = append(tr.Rates[0], uint64(i%9)*1448)
		tr.Rates[1] = append(tr.Rates[1], uint64(i%3)*40)
	}
	r.Traces = map[flow.ID]*trace.Trace{id: tr}
	return r
}

func crowd(n int) []*conn.Summary {
	out := make([]*conn.Summary, 0, n)
	for i := range n {
		s := &conn.Summary{
			ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, Proto: "tcp", App: "http", Name: fmt.Sprintf("host%d.example", i), End: conn.EndFin,
			Client: conn.Side{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 40000), WireBytes: uint64(i) * 10},
			Server: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.5:443")}, Score: int64(i%997) * 1_000_000, Start: 1, Stop: int64(i) * 1_000_000,
		}
		s.CommunityID = flow.CommunityID(flow.TCP, s.Client.Addr, s.Server.Addr)
		out = append(out, s)
	}
	return out
}

// cases are the reports that the tests show.
func cases() map[string]func() *report.Report {
	return map[string]func() *report.Report{
		"empty":      reporttest.Empty,
		"healthy":    reporttest.Healthy,
		"healthy.zh": reporttest.Healthy,
		"stalled":    func() *report.Report { return pictured(reporttest.Stalled()) },
		"stalled.zh": func() *report.Report { return pictured(reporttest.Stalled()) },
		"asked":      reporttest.Asked,
		"many":       reporttest.Many,
		"attack":     attacked,
	}
}

// attacked is a report in which pictures and tables are hostile too.
func attacked() *report.Report {
	r := pictured(reporttest.Stalled())
	a := reporttest.Attack()
	a.Pictures = r.Pictures
	for n, x := range a.Exhibits {
		x.Label, x.From = reporttest.Hostile, reporttest.Hostile
		a.Exhibits[n] = x
	}
	for _, tr := range a.Traces {
		tr.Client, tr.Server = reporttest.Hostile, reporttest.Hostile
	}
	a.Connections = crowd(2)
	for _, s := range a.Connections {
		s.Name, s.App, s.End, s.Attr = reporttest.Hostile, reporttest.Hostile, reporttest.Hostile, map[string]string{"tls.ja4": reporttest.Hostile}
	}
	return a
}

func langOf(name string) string {
	if strings.HasSuffix(name, ".zh") {
		return "zh"
	}
	return "en"
}

// library takes away what is embedded and the same in every page.
var library = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|sha256-(?:[A-Za-z0-9/=]|&#43;)+`)

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, sample := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := library.ReplaceAll(write(t, sample(), langOf(name)), nil)
			reporttest.Golden(t, name+".html", got, *update)
		})
	}
}

// TestNothingForeignIsObeyed reads the page as a browser does: the elements and
// attributes are ours, every link stays within the page, and no text is anything
// that cannot be seen.
func TestNothingForeignIsObeyed(t *testing.T) {
	t.Parallel()
	for name, sample := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := write(t, sample(), langOf(name))
			for _, r := range string(library.ReplaceAll(page, nil)) {
				if r != '\n' && (r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x202e) {
					t.Errorf("%U in the page", r)
				}
			}
			z := xhtml.NewTokenizer(bytes.NewReader(page))
			scripts := 0
			for kind := z.Next(); kind != xhtml.ErrorToken; kind = z.Next() {
				tok := z.Token()
				if kind != xhtml.StartTagToken && kind != xhtml.SelfClosingTagToken {
					continue
				}
				switch tok.Data {
				case "script":
					scripts++
				case "img", "iframe", "object", "embed", "form", "base", "video", "audio", "foreignobject":
					t.Errorf("element %s", tok.Data)
				}
				for _, a := range tok.Attr {
					switch {
					case strings.HasPrefix(a.Key, "on"), a.Key == "src", a.Key == "style", a.Key == "srcdoc", a.Key == "action":
						t.Errorf("<%s %s=%q>", tok.Data, a.Key, a.Val)
					case a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "data:,":
						t.Errorf("a link out of the page: %q", a.Val)
					}
				}
			}
			if scripts != 2 {
				t.Errorf("%d scripts, want the data and ours", scripts)
			}
			if !bytes.Contains(page, []byte(`content="default-src &#39;none&#39;;`)) {
				t.Error("the page has no policy")
			}
		})
	}
}

// TestSize: ten thousand connections make a page that can be mailed.
func TestSize(t *testing.T) {
	t.Parallel()
	r := reporttest.Stalled()
	r.Connections = crowd(10_000)
	if n := len(write(t, r, "en")); n > 4<<20 {
		t.Errorf("%d bytes", n)
	}
}
