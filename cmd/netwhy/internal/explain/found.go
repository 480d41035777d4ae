package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"

	"netwhy/cmd/netwhy/internal/report"
)

// IsID reports whether a name is that of a finding or diagnosis of one report.
func IsID(name string) bool { return id().MatchString(name) }

var id = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[FD][1-9][0-9]*$`) }) //nolint:gochecknoglobals // constant

// maxReport bounds the report that is read back.
const maxReport = 256 << 20

// Read reads a JSON report back.
func (b *Book) Read(path string) (*report.Report, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("read report: %w; name a file made with --format json -o", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	data, err := io.ReadAll(io.LimitReader(f, maxReport))
	if err = errors.Join(err, f.Close()); err == nil {
		err = json.Unmarshal(data, &head)
	}
	if err != nil {
		return nil, fmt.Errorf("read report %s: %w; name a file made with --format json -o", path, err)
	}
	if head.Schema != report.Schema {
		return nil, fmt.Errorf("read report %s: its schema is %q, not %q; make it anew with this version", path, head.Schema, report.Schema)
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read report %s: %w; make it anew with this version", path, err)
	}
	r.Codes = b.codes
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		d.Time = d.Ledger.Exact()
		for _, rule := range b.set.Rules() {
			if d.Rule != nil && rule.ID == *d.Rule {
				d.References = rule.Refs
			}
		}
	}
	return &r, nil
}

// Found is a symptom as it was found, with what it means.
type Found struct {
	Finding   *report.Finding `json:"finding"`
	Filter    string          `json:"filter"` // shows its frames in Wireshark
	Meaning   *Symptom        `json:"meaning"`
	Diagnoses []string        `json:"diagnoses"` // that rest on it
	Causes    []Cause         `json:"causes"`
}

// Decided is a diagnosis with what it rests on and how it was decided.
type Decided struct {
	Diagnosis *report.Diagnosis `json:"diagnosis"`
	Filter    string            `json:"filter"`
	Findings  []Found           `json:"findings"`
	Rule      *Cause            `json:"rule"` // null: the model's, or of a rule that is not loaded
}

// maxFilter bounds the frames in a display filter.
const maxFilter = 32

// Finding explains one of a report; nil: it is not there.
func (b *Book) Finding(r *report.Report, name string) *Found {
	f := r.FindingByID(name)
	if f == nil {
		return nil
	}
	out := b.found(r, f)
	if out.Meaning != nil {
		for _, c := range out.Meaning.Causes {
			out.Causes = append(out.Causes, b.Causes(c)...)
		}
	}
	return &out
}

func (b *Book) found(r *report.Report, f *report.Finding) Found {
	out := Found{Finding: f, Diagnoses: []string{}, Causes: []Cause{}, Filter: filterOf(r, f)}
	out.Meaning, _ = b.Symptom(f.Code)
	for i := range r.Diagnoses {
		if slices.Contains(r.Diagnoses[i].Evidence, f.ID) {
			out.Diagnoses = append(out.Diagnoses, r.Diagnoses[i].ID)
		}
	}
	return out
}

// filterOf is the display filter of a finding alone.
func filterOf(r *report.Report, f *report.Finding) string {
	d := &report.Diagnosis{Frames: f.Frames, Evidence: []string{f.ID}}
	if f.Connection != nil {
		d.Connections = []report.Connection{*f.Connection}
	}
	return r.DisplayFilter(d, maxFilter)
}

// Diagnosis explains one of a report; nil: it is not there.
func (b *Book) Diagnosis(r *report.Report, name string) *Decided {
	d := r.DiagnosisByID(name)
	if d == nil {
		return nil
	}
	out := &Decided{Diagnosis: d, Filter: r.DisplayFilter(d, maxFilter), Findings: []Found{}}
	for _, e := range d.Evidence {
		if f := r.FindingByID(e); f != nil {
			out.Findings = append(out.Findings, b.found(r, f))
		}
	}
	if d.Rule != nil {
		for _, rule := range b.set.Rules() {
			if rule.ID == *d.Rule {
				c := b.cause(rule)
				out.Rule = &c
			}
		}
	}
	return out
}
