// Package answer reads what a model said and keeps what can be proven. Every
// claim must cite findings and frames that were sent, name no figure and no
// pseudonym that they do not hold, and agree with them; every command must be a
// harmless one of a list, every filter must be one. What fails is dropped, with
// the reason. Nothing here can take a finding away.
package answer

import (
	"bytes"
	_ "embed" // the schemas
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

//go:embed schema_wire.json
var wireSchema []byte

//go:embed schema_full.json
var fullSchema []byte

// Answer is what a model says, by the schema.
type Answer struct {
	Summary      string        `json:"summary"`
	LikelyCause  string        `json:"likely_cause"`
	Severity     string        `json:"severity"`
	Claims       []Claim       `json:"claims"`
	Alternatives []Alternative `json:"alternatives"`
	Remedies     []string      `json:"remedies"`
	NextSteps    []Step        `json:"next_steps"`
}

// Claim is one statement and what it is proven by.
type Claim struct {
	Text       string   `json:"text"`
	Kind       string   `json:"kind"` // the protocol: the code's part before the dot
	FindingIDs []string `json:"finding_ids"`
	Frames     []uint64 `json:"frames"`
	Confidence string   `json:"confidence"`
}

// Alternative is what else it could be, and the command that tells.
type Alternative struct {
	Cause      string `json:"cause"`
	Why        string `json:"why"`
	Command    string `json:"command"`
	TellsApart string `json:"tells_apart"`
}

// Step is what to look at next.
type Step struct {
	Text          string `json:"text"`
	DisplayFilter string `json:"display_filter"`
}

// WireSchema is the schema that providers are sent: without bounds, which strict
// modes refuse. The bounds are checked here.
func WireSchema() json.RawMessage { return bytes.TrimSpace(wireSchema) }

// Reader checks answers against the full schema. Safe for concurrent use.
type Reader struct{ schema *schema }

// NewReader reads the schema.
func NewReader() (*Reader, error) {
	s, err := newSchema(fullSchema)
	if err != nil {
		return nil, err
	}
	return &Reader{schema: s}, nil
}

// Parse reads one answer. The error is a sentence that the model can act on; it
// quotes nothing of the answer.
func (r *Reader) Parse(content string) (*Answer, error) {
	const largest = 64 << 10
	if len(content) > largest {
		return nil, fmt.Errorf("the answer is larger than %d bytes", largest)
	}
	raw := unfence(content)
	doc, err := decode(raw)
	if err != nil {
		return nil, errors.New("the answer is not one JSON object")
	}
	if f := r.schema.fault(doc, ""); f != "" {
		const longest = 160
		return nil, errors.New("the answer does not match the schema: " + f[:min(len(f), longest)])
	}
	a := new(Answer)
	if err := json.Unmarshal([]byte(raw), a); err != nil {
		return nil, errors.New("the answer does not match the schema")
	}
	return a, nil
}

// unfence takes the JSON out of a code fence and out of talk around it.
func unfence(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '{'); i > 0 {
		s = s[i:]
	}
	if i := strings.LastIndexByte(s, '}'); i >= 0 {
		s = s[:i+1]
	}
	return s
}
