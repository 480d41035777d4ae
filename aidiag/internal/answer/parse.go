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

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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
type Reader struct{ schema *jsonschema.Schema }

// NewReader compiles the schema.
func NewReader() (*Reader, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(fullSchema))
	if err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	const name = "answer.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
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
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return nil, errors.New("the answer is not one JSON object")
	}
	if err := r.schema.Validate(doc); err != nil {
		return nil, errors.New("the answer does not match the schema: " + schemaFault(err))
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

// schemaFault names the first place that is wrong.
func schemaFault(err error) string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "unknown fault"
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	const longest = 160
	text := "at /" + strings.Join(v.InstanceLocation, "/") + ": " + v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if strings.Contains(text, "additional propert") {
		text = "at /" + strings.Join(v.InstanceLocation, "/") + ": a member that is not in the schema"
	}
	return text[:min(len(text), longest)]
}
