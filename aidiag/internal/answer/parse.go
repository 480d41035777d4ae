// Package answer reads what a model said and keeps what can be proven. Every
// claim must cite findings and frames that were sent, name no figure and no
// pseudonym that they do not hold, and agree with them; every command must be a
// harmless one of a list, every filter must be one. What fails is dropped, with
// the reason. Nothing here can take a finding away.
package answer

import (
	"bytes"
	"cmp"
	_ "embed" // the schemas
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
type Reader struct{ schema *jsonschema.Resolved }

// NewReader reads the schema.
func NewReader() (*Reader, error) {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(fullSchema, s); err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	return &Reader{schema: r}, nil
}

// Parse reads one answer. The error is a sentence that the model can act on; it
// quotes nothing of the answer.
func (r *Reader) Parse(content string) (*Answer, error) {
	const largest = 64 << 10
	if len(content) > largest {
		return nil, fmt.Errorf("the answer is larger than %d bytes", largest)
	}
	raw := []byte(unfence(content))
	var doc any // its numbers float64: a json.Number is a string to the validator
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, errors.New("the answer is not one JSON object")
	}
	if f := fault(r.schema, doc, ""); f != "" {
		const longest = 160
		return nil, errors.New("the answer does not match the schema: " + f[:min(len(f), longest)])
	}
	a := new(Answer)
	if err := json.Unmarshal(raw, a); err != nil { // a frame such as 1e2 or 1e20
		return nil, errors.New("the answer does not match the schema")
	}
	return a, nil
}

// fault names the first innermost place of v that is wrong, and what the schema
// wants there; empty: v is by the schema. The validator's own text gives no index
// and quotes what it found, at any length.
func fault(r *jsonschema.Resolved, v any, at string) string {
	err := r.Validate(v)
	if err == nil {
		return ""
	}
	s := r.Schema()
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			member, ok := v[name]
			if part, err := s.Properties[name].Resolve(nil); ok && err == nil {
				if f := fault(part, member, at+"/"+name); f != "" {
					return f
				}
			}
		}
	case []any:
		if s.Items == nil {
			break
		}
		part, err := s.Items.Resolve(nil)
		for i := 0; i < len(v) && err == nil; i++ {
			if f := fault(part, v[i], at+"/"+strconv.Itoa(i)); f != "" {
				return f
			}
		}
	}
	return "at " + cmp.Or(at, "/") + ": " + wanted(s, err)
}

// wanted says which keyword of s an error is about, with its value.
func wanted(s *jsonschema.Schema, err error) string {
	text := strings.TrimPrefix(err.Error(), "validating root: ")
	if strings.HasPrefix(text, "unexpected additional properties") {
		return "a member that is not in the schema"
	}
	keyword, rest, _ := strings.Cut(text, ": ")
	if keyword == "required" { // names only what the schema has
		return strings.ReplaceAll(rest, `"`, "'")
	}
	var keywords map[string]json.RawMessage
	b, err := json.Marshal(s)
	if err != nil || json.Unmarshal(b, &keywords) != nil || keywords[keyword] == nil {
		return "wrong"
	}
	return "want " + keyword + " " + strings.ReplaceAll(string(keywords[keyword]), `"`, "'")
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
