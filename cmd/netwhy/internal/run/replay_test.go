package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	jsonreport "netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/run"
	"netwhy/rules"
)

func world(stdout io.Writer) run.World {
	return run.World{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: io.Discard, Getenv: func(string) string { return "" },
		Log: slog.New(slog.DiscardHandler), Version: "test",
	}
}

func replayJSON(t *testing.T, opt run.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	opt.Outputs = []run.Output{{Format: "json"}}
	opt.Loaded = builtin(t)
	if _, err := run.Replay(t.Context(), world(&b), &opt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var builtinOnce = sync.OnceValues(func() (*rules.Set, error) { return run.LoadRules(nil) })

// builtin are the built-in rules, loaded once for all tests.
func builtin(t *testing.T) *rules.Set {
	t.Helper()
	set, err := builtinOnce()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// captures are our own and, where they are at hand, the lab's.
func captures(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(root, "fixtures", "captures", "*.pcap*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	shared := os.Getenv("NETWHY_SHARED")
	if shared == "" {
		shared = filepath.Join(filepath.Dir(root), "shared")
	}
	lab, err := filepath.Glob(filepath.Join(shared, "lab", "*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(lab) == 0 && os.Getenv("CI") == "true" {
		t.Fatalf("no captures in %s", filepath.Join(shared, "lab"))
	}
	return append(list, lab...)
}

// TestReportsKeepTheContract: every report of a real capture meets the schema;
// its references lead somewhere; every ledger adds up; the bytes are the same
// for 1, 2 and 8 workers.
func TestReportsKeepTheContract(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(jsonreport.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range captures(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			one := replayJSON(t, run.Options{Files: []string{path}, Limits: config.Limits{Workers: 1}})
			for _, n := range []config.Count{2, 8} {
				if other := replayJSON(t, run.Options{Files: []string{path}, Limits: config.Limits{Workers: n}}); !bytes.Equal(one, other) {
					t.Errorf("%d workers give another report than one", n)
				}
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(one))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
			var r report.Report
			if err := json.Unmarshal(one, &skipTimes{&r}); err != nil {
				t.Fatal(err)
			}
			consistent(t, &r)
		})
	}
}

// skipTimes reads a report back but for severities and times, which have no
// parser: the program never reads them.
type skipTimes struct{ r *report.Report }

func (s *skipTimes) UnmarshalJSON(b []byte) error {
	var v struct {
		Source   struct{ Packets uint64 }
		Findings []struct {
			ID                    string
			Frames                []uint64
			FirstFrame, LastFrame uint64
		}
		Diagnoses []struct {
			ID       string
			Evidence []string
			Frames   []uint64
			Ledger   *report.Ledger
		}
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	s.r.Source.Packets = v.Source.Packets
	for _, f := range v.Findings {
		s.r.Findings = append(s.r.Findings, report.Finding{ID: f.ID, Frames: f.Frames})
	}
	for _, d := range v.Diagnoses {
		s.r.Diagnoses = append(s.r.Diagnoses, report.Diagnosis{ID: d.ID, Evidence: d.Evidence, Frames: d.Frames, Ledger: d.Ledger})
	}
	return nil
}

func consistent(t *testing.T, r *report.Report) {
	t.Helper()
	inside := func(what string, frames []uint64) {
		t.Helper()
		last := uint64(0)
		for _, f := range frames {
			if f == 0 || f > r.Source.Packets || f <= last {
				t.Errorf("%s: frames %v: not ascending within %d frames", what, frames, r.Source.Packets)
				return
			}
			last = f
		}
	}
	for i := range r.Findings {
		inside(r.Findings[i].ID, r.Findings[i].Frames)
	}
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		inside(d.ID, d.Frames)
		for _, id := range d.Evidence {
			if r.FindingByID(id) == nil {
				t.Errorf("%s: its evidence %s is not in the report", d.ID, id)
			}
		}
		if l := d.Ledger; l != nil {
			sum := l.DNS + l.Connect + l.TLS + l.ClientThink + l.RequestSend + l.Path + l.ServerThink + l.LossStall + l.WindowStall + l.SenderIdle + l.Transfer
			if math.Abs(sum-l.Total) > 1e-6 {
				t.Errorf("%s: the parts of its ledger make %.9f s of %.9f s", d.ID, sum, l.Total)
			}
		}
	}
}

// TestSinksFailAlone: one output that cannot be written costs the others
// nothing, and the error names it.
func TestSinksFailAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	_, err := run.Replay(t.Context(), world(full{}), &run.Options{
		Files:   []string{filepath.Join("..", "..", "..", "..", "fixtures", "captures", "slow-server.pcap")},
		Outputs: []run.Output{{Format: "text"}, {Format: "json", Path: path}},
	})
	var oe *run.OutputError
	if !errors.As(err, &oe) || !errors.Is(err, errFull) || oe.Path != "standard output" {
		t.Errorf("got %v, want it to name standard output", err)
	}
	if data, err := os.ReadFile(path); err != nil || !bytes.Contains(data, []byte(report.Schema)) {
		t.Errorf("the other report: %v, %d bytes", err, len(data))
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestHiddenKeepsEvidence: what is below --min-severity is counted, and the
// findings that a shown diagnosis rests on are shown.
func TestHiddenKeepsEvidence(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "fixtures", "captures", "slow-database.pcap")
	count := func(least finding.Severity) (findings int, diagnoses int) {
		var v struct{ Findings, Diagnoses []json.RawMessage }
		if err := json.Unmarshal(replayJSON(t, run.Options{Files: []string{path}, MinSeverity: least}), &v); err != nil {
			t.Fatal(err)
		}
		return len(v.Findings), len(v.Diagnoses)
	}
	all, causes := count(finding.Info)
	some, same := count(finding.Warning)
	none, zero := count(finding.Critical)
	got := fmt.Sprintf("%v %v %v %v", some < all, some > 0, same == causes, none == 0 && zero == 0)
	if got != "true true true true" {
		t.Errorf("info: %d findings, %d diagnoses; warning: %d, %d; critical: %d, %d", all, causes, some, same, none, zero)
	}
}
