// Package ndjson writes one JSON object a line: each finding, then each
// diagnosis, then one line that sums the run up. "event" tells which it is.
//
// A replay of more than 4 MiB tells each symptom when it is first seen, as "seen":
// without an id, which is a place in the order of the end, and with the figures of
// that moment. Each comes again as "finding", with what it grew to.
package ndjson

import (
	"io"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/json"
)

// New makes a sink that writes to w as things happen.
func New(w io.Writer) report.Sink { return &sink{w: w} }

type sink struct{ w io.Writer }

type findingLine struct {
	Event string `json:"event"`
	*report.Finding
}

// seenLine has no id: the outer field hides the finding's.
type seenLine struct {
	Event string  `json:"event"`
	ID    *string `json:"id,omitempty"`
	*report.Finding
}

type diagnosisLine struct {
	Event string `json:"event"`
	*report.Diagnosis
}

type reportLine struct {
	Event       string          `json:"event"`
	Schema      string          `json:"schema"`
	Version     string          `json:"version"`
	Source      report.Source   `json:"source"`
	Counters    report.Counters `json:"counters"`
	Trust       report.Trust    `json:"trust"`
	NotAssessed []string        `json:"not_assessed"`
	AI          *report.AI      `json:"ai"`
}

// Finding writes one line.
func (s *sink) Finding(f *report.Finding) error {
	return s.write(findingLine{Event: "finding", Finding: f})
}

// Seen writes one line.
func (s *sink) Seen(f *report.Finding) error {
	return s.write(seenLine{Event: "seen", Finding: f})
}

// Diagnosis writes one line.
func (s *sink) Diagnosis(d *report.Diagnosis) error {
	return s.write(diagnosisLine{Event: "diagnosis", Diagnosis: d})
}

// Finish writes the diagnoses and the last line.
func (s *sink) Finish(r *report.Report) error {
	for i := range r.Diagnoses {
		if err := s.write(diagnosisLine{Event: "diagnosis", Diagnosis: &r.Diagnoses[i]}); err != nil {
			return err
		}
	}
	return s.write(reportLine{
		Event: "report", Schema: r.Schema, Version: r.Version, Source: r.Source, Counters: r.Counters,
		Trust: r.Trust, NotAssessed: r.NotAssessed, AI: r.AI,
	})
}

func (s *sink) write(v any) error {
	b, err := json.Marshal(v, "")
	if err != nil {
		return err
	}
	_, err = s.w.Write(b)
	return err
}
