package diff_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/cmd/netwhy/internal/diff"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

// connection has n exchanges, each of which the server thinks about for so many
// milliseconds.
func connection(i int, port uint16, n uint32, think int64) *conn.Summary {
	const milli = 1_000_000
	s := &conn.Summary{
		ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, Proto: "tcp", App: "pgsql", Exchanges: n, End: conn.EndFin, Handshake: int64(20+i%3) * milli,
		Client: conn.Side{Addr: netip.MustParseAddrPort("10.0.0.9:40000"), Packets: 20}, Server: conn.Side{Addr: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.5"), port), Packets: 20},
	}
	for range n {
		s.Parts.Add(conn.Path, 20*milli)
		s.Parts.Add(conn.ServerThink, (think+int64(i%5))*milli)
	}
	return s
}

func side(name string, list ...*conn.Summary) *diff.Side {
	s := diff.NewSide(name)
	for _, c := range list {
		s.Add(c)
	}
	s.Packets, s.Seconds = 40*s.Connections, 10
	return s
}

func many(n int, port uint16, think int64) []*conn.Summary {
	var out []*conn.Summary
	for i := range n {
		out = append(out, connection(i, port, 3, think))
	}
	return out
}

func compare(t *testing.T, good, bad *diff.Side) *diff.Report {
	t.Helper()
	r, err := diff.Compare(good, bad, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func figure(t *testing.T, c *diff.Changes, name string) diff.Difference {
	t.Helper()
	for _, f := range c.Figures {
		if f.Figure == name {
			return f
		}
	}
	t.Fatalf("no figure %s", name)
	return diff.Difference{}
}

func TestASlowServer(t *testing.T) {
	t.Parallel()
	bad := many(25, 5432, 900)
	bad = append(bad, many(3, 80, 1)...)
	bad[0].Server.Addr = netip.MustParseAddrPort("10.0.0.6:5432")
	r := compare(t, side("good.pcap", many(20, 5432, 5)...), side("bad.pcap", bad...))
	c := &r.Services[0]
	f := figure(t, c, "server_think")
	if !f.Changed || f.Low == nil || *f.Low < 0.89 || *f.High > 0.9 || f.Change < *f.Low || f.Change > *f.High {
		t.Errorf("server think %+v", f)
	}
	if f := figure(t, c, "path"); f.Changed || f.Change > 1e-9 {
		t.Errorf("path %+v", f)
	}
	if len(c.NewPeers) != 1 || c.NewPeers[0] != "10.0.0.6" || len(r.OnlyBad) != 1 {
		t.Errorf("peers %v, only in bad %v", c.NewPeers, r.OnlyBad)
	}
	for _, lang := range []string{"en", "zh"} {
		var b bytes.Buffer
		if err := r.Text(&b, lang); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, "slow."+lang+".golden", b.Bytes(), *update)
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "slow.json", b, *update)
	conforms(t, b)
}

// conforms holds a report to the schema beside the package.
func conforms(t *testing.T, report []byte) {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Error(err)
	}
}

// TestSchema: what has too few connections conforms as well, and the schema
// refuses what is no such report.
func TestSchema(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(compare(t, side("a", connection(0, 80, 1, 5)), side("b", connection(0, 80, 1, 2000))))
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, b)
	s, err := jsonschema.NewCompiler().Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{`"netwhy.diff/1"`, `"netwhy.diff/2"`}, {`"unit":"s"`, `"unit":"ms"`}, {`"only_bad"`, `"other"`}, {`"too_few":true`, `"too_few":1`}} {
		if !bytes.Contains(b, []byte(change[0])) {
			t.Fatalf("no %s in %s", change[0], b)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.ReplaceAll(b, []byte(change[0]), []byte(change[1]))))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("%s is taken", change[1])
		}
	}
}

// TestNothingChanged: the same service twice, with its chance differences.
func TestNothingChanged(t *testing.T) {
	t.Parallel()
	r := compare(t, side("a", many(30, 443, 50)...), side("b", many(23, 443, 50)...))
	for _, f := range r.Services[0].Figures {
		if f.Changed {
			t.Errorf("%+v", f)
		}
	}
	var b bytes.Buffer
	if err := r.Text(&b, "en"); err != nil || !strings.HasPrefix(b.String(), "Nothing changed for sure\n") {
		t.Errorf("%s %v", b.String(), err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	bad := many(20, 443, 50)
	for _, c := range bad[:12] {
		c.End = conn.EndNoAnswer
	}
	r := compare(t, side("a", many(20, 443, 50)...), side("b", bad...))
	if f := figure(t, &r.Services[0], diff.Failures); !f.Changed || f.Change != 0.6 {
		t.Errorf("%+v", f)
	}
}

// TestFewConnections: without an interval only what a person notices counts.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	r := compare(t, side("a", connection(0, 80, 1, 5)), side("b", connection(0, 80, 1, 2000)))
	if f := figure(t, &r.Services[0], "server_think"); !f.Changed || f.Low != nil || !r.Services[0].TooFew {
		t.Errorf("%+v", f)
	}
	r = compare(t, side("a", connection(0, 80, 1, 5)), side("b", connection(0, 80, 1, 30)))
	if f := figure(t, &r.Services[0], "server_think"); f.Changed {
		t.Errorf("%+v", f)
	}
}

func TestUnlikeIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		good, bad  []*conn.Summary
	}{
		{"empty", "a has no conversation", nil, many(3, 80, 1)},
		{"nothing in common", "no service in common: a has tcp/80 pgsql, b has tcp/443 pgsql", many(3, 80, 1), many(3, 443, 1)},
		{"little in common", "only 9 % of the conversations in b", many(3, 80, 1), append(many(3, 80, 1), many(30, 443, 1)...)},
	} {
		_, err := diff.Compare(side("a", tt.good...), side("b", tt.bad...), false)
		var unlike *diff.UnlikeError
		if !errors.As(err, &unlike) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := diff.Compare(side("a", many(3, 80, 1)...), side("b", append(many(3, 80, 1), many(30, 443, 1)...)...), true); err != nil {
		t.Errorf("with force: %v", err)
	}
}

// TestTheSameTwice: draws come from a fixed seed.
func TestTheSameTwice(t *testing.T) {
	t.Parallel()
	text := func() string {
		b, err := json.Marshal(compare(t, side("a", many(3000, 80, 5)...), side("b", many(3000, 80, 9)...)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := text(), text(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}
