package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// schema is what of JSON Schema the schema of answers is written in. A validator
// for all of it compiles its meta-schemas when the program starts: 3 ms and 1.7 MB
// of every run, and nearly none asks a model. A test holds this one to it.
type schema struct {
	Dialect    string             `json:"$schema"`
	Type       string             `json:"type"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Additional *bool              `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Enum       []string           `json:"enum"`
	Pattern    string             `json:"pattern"`
	MinLength  int                `json:"minLength"`
	MaxLength  *int               `json:"maxLength"`
	MinItems   int                `json:"minItems"`
	MaxItems   *int               `json:"maxItems"`
	Minimum    *int64             `json:"minimum"`

	pattern *regexp.Regexp
	names   []string // of the properties, in order
}

// newSchema reads a schema; a keyword that is not understood is a fault.
func newSchema(text []byte) (*schema, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := new(schema)
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	if err := s.compile(); err != nil {
		return nil, fmt.Errorf("answer schema: %w", err)
	}
	return s, nil
}

func (s *schema) compile() (err error) {
	if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
		return err
	}
	s.names = slices.Sorted(maps.Keys(s.Properties))
	for _, name := range s.names {
		if err := s.Properties[name].compile(); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return s.Items.compile()
	}
	return nil
}

// decode reads one JSON value; numbers stay as they are written.
func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// fault names the first place below at that is wrong; empty: v is by the schema.
func (s *schema) fault(v any, at string) string {
	if got := typeOf(v); s.Type != "" && s.Type != got && (s.Type != "integer" || !isInteger(v)) {
		return place(at) + "got " + got + ", want " + s.Type
	}
	if text, ok := v.(string); s.Enum != nil && (!ok || !slices.Contains(s.Enum, text)) {
		return place(at) + "value must be one of " + quoted(s.Enum)
	}
	switch v := v.(type) {
	case map[string]any:
		return s.objectFault(v, at)
	case []any:
		return s.arrayFault(v, at)
	case string:
		return s.textFault(v, at)
	case json.Number:
		return s.numberFault(v, at)
	}
	return ""
}

func (s *schema) objectFault(object map[string]any, at string) string {
	var missing []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 0:
	case 1:
		return place(at) + "missing property " + quoted(missing)
	default:
		return place(at) + "missing properties " + quoted(missing)
	}
	known := 0
	for _, name := range s.names {
		if member, ok := object[name]; ok {
			known++
			if f := s.Properties[name].fault(member, at+"/"+name); f != "" {
				return f
			}
		}
	}
	if known < len(object) && s.Additional != nil && !*s.Additional {
		return place(at) + "a member that is not in the schema"
	}
	return ""
}

func (s *schema) arrayFault(array []any, at string) string {
	if f := bounds("Items", len(array), s.MinItems, s.MaxItems); f != "" {
		return place(at) + f
	}
	if s.Items == nil {
		return ""
	}
	for i, item := range array {
		if f := s.Items.fault(item, at+"/"+strconv.Itoa(i)); f != "" {
			return f
		}
	}
	return ""
}

func (s *schema) textFault(text, at string) string {
	if f := bounds("Length", utf8.RuneCountInString(text), s.MinLength, s.MaxLength); f != "" {
		return place(at) + f
	}
	if !s.pattern.MatchString(text) {
		return place(at) + quoted([]string{text}) + " does not match pattern " + quoted([]string{s.Pattern})
	}
	return ""
}

func (s *schema) numberFault(n json.Number, at string) string {
	if s.Minimum == nil {
		return ""
	}
	if r, ok := new(big.Rat).SetString(n.String()); ok && r.Cmp(new(big.Rat).SetInt64(*s.Minimum)) < 0 {
		got, _ := r.Float64()
		return fmt.Sprintf("%sminimum: got %v, want %d", place(at), got, *s.Minimum)
	}
	return ""
}

// bounds says which bound of what a count breaks.
func bounds(what string, got, least int, most *int) string {
	switch {
	case got < least:
		return "min" + what + ": got " + thousands(got) + ", want " + thousands(least)
	case most != nil && got > *most:
		return "max" + what + ": got " + thousands(got) + ", want " + thousands(*most)
	}
	return ""
}

func place(at string) string {
	if at == "" {
		at = "/"
	}
	return "at " + at + ": "
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// isInteger tells whether v is a whole number; 1e2 is one.
func isInteger(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	r, ok := new(big.Rat).SetString(n.String())
	return ok && r.IsInt()
}

// thousands writes a count below a million, as every one of an answer is.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// quoted puts texts in single quotes, which cost no backslashes in JSON.
func quoted(texts []string) string {
	var out []string
	for _, t := range texts {
		q := strconv.Quote(t)
		q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		out = append(out, "'"+strings.ReplaceAll(q, `'`, `\'`)+"'")
	}
	return strings.Join(out, ", ")
}
