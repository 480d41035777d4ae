// Package evidence turns a case into the one JSON document that is sent: what
// the rules say, the findings with their figures and frames, the connections,
// and how far the capture can be believed. Facts have weights; when the document
// is too large the lightest go first, and the document says what is missing.
package evidence

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Doc is the document. It holds no text from packets, only pseudonyms, figures
// of our own analysis and words of protocols.
type Doc struct {
	Rules       Verdict   `json:"rules_say"`
	Findings    []Finding `json:"findings"`
	Connections []Conn    `json:"connections,omitempty"`
	Capture     Facts     `json:"capture,omitempty"`
	LeftOut     []string  `json:"left_out"`
}

// Facts are named figures and words; JSON orders the names.
type Facts map[string]any

// Verdict is what the rules found, without their texts.
type Verdict struct {
	Cause      string   `json:"cause"`
	Culprit    string   `json:"culprit"`
	Severity   string   `json:"severity"`
	Confidence float64  `json:"confidence"`
	Evidence   []string `json:"evidence"`
	Excluded   []string `json:"excluded,omitempty"`
	Impact     Facts    `json:"impact,omitempty"`
	Seconds    Facts    `json:"seconds,omitempty"` // the ledger of the worst exchange
}

// Finding is a symptom.
type Finding struct {
	ID         string   `json:"id"`
	Code       string   `json:"code"`
	Severity   string   `json:"severity"`
	Meaning    string   `json:"meaning,omitempty"`
	Connection string   `json:"connection,omitempty"`
	Host       string   `json:"host,omitempty"`
	Count      uint64   `json:"count"`
	First      uint64   `json:"first_frame"`
	Last       uint64   `json:"last_frame"`
	Frames     []uint64 `json:"frames"`
	Start      float64  `json:"start_s"` // behind the first finding of the case
	Lasts      float64  `json:"lasts_s"`
	Metrics    Facts    `json:"metrics,omitempty"`
}

// Conn is a connection.
type Conn struct {
	ID     string `json:"id"`
	Client string `json:"client"`
	Server string `json:"server"`
	Facts  Facts  `json:"facts,omitempty"`
	Ends   Sides  `json:"sent,omitzero"`
}

// Sides are the figures of what each end sent.
type Sides struct {
	Client Facts `json:"client,omitempty"`
	Server Facts `json:"server,omitempty"`
}

// JSON writes the document.
func (d *Doc) JSON() []byte {
	b, err := json.Marshal(d)
	if err != nil { // figures are finite and texts are strings
		return []byte("{}")
	}
	return b
}

// Finding returns the finding with this id.
func (d *Doc) Finding(id string) (Finding, bool) {
	i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.ID == id })
	if i < 0 {
		return Finding{}, false
	}
	return d.Findings[i], true
}

// Numbers returns every figure that a text about these findings may name: those
// of the findings themselves and of all that is not a finding.
func (d *Doc) Numbers(ids []string) []float64 {
	rest := *d
	rest.Findings = nil
	for _, f := range d.Findings {
		if slices.Contains(ids, f.ID) {
			f.Meaning = ""
			rest.Findings = append(rest.Findings, f)
		}
	}
	var tree any
	if json.Unmarshal(rest.JSON(), &tree) != nil {
		return nil
	}
	var out []float64
	collect(tree, &out)
	return out
}

func collect(v any, out *[]float64) {
	switch x := v.(type) {
	case float64:
		*out = append(*out, x)
	case string:
		// Ports behind addresses, numbers of pseudonyms and versions.
		for _, w := range strings.FieldsFunc(x, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) {
			if n, err := strconv.ParseFloat(strings.Trim(w, "."), 64); err == nil {
				*out = append(*out, n)
			}
		}
	case []any:
		*out = append(*out, float64(len(x)))
		for _, e := range x {
			collect(e, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			collect(x[k], out)
		}
	}
}
