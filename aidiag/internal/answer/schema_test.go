package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// TestSchemaAgainstValidator holds our reading of the schema to a whole validator's:
// answers with one to three wrong places are wrong to both, and the place that we
// name is one that it names, in its words.
func TestSchemaAgainstValidator(t *testing.T) {
	t.Parallel()
	ours, err := newSchema(fullSchema)
	if err != nil {
		t.Fatal(err)
	}
	theirs := validator(t)
	text, err := json.Marshal(&Answer{
		Summary: "s", LikelyCause: "tcp-packet-loss", Severity: "info", Claims: []Claim{good(), good()},
		Alternatives: []Alternative{{Cause: "dns-slow", Why: "w"}}, Remedies: []string{"r"}, NextSteps: []Step{{Text: "t", DisplayFilter: "tcp"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	wrong, right := 0, 0
	for range 20_000 {
		doc, err := decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + random.IntN(3) {
			doc = spoil(random, doc)
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if doc, err = decode(string(raw)); err != nil {
			t.Fatal(err)
		}
		got, want := ours.fault(doc, ""), faults(theirs.Validate(doc))
		if got == "" && want == nil {
			right++
			continue
		}
		wrong++
		if !slices.Contains(want, got) {
			t.Fatalf("%s\ngot  %q\nwant one of %q", raw, got, want)
		}
	}
	if wrong < 10_000 || right < 500 {
		t.Errorf("%d answers were wrong, %d right: too few", wrong, right)
	}
}

func TestSchemaRefusesUnknownKeywords(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`{"type":"string","format":"uri"}`, `{"pattern":"("}`, `{"items":{"pattern":"("}}`, `[`} {
		if _, err := newSchema([]byte(s)); err == nil {
			t.Errorf("%s: was taken", s)
		}
	}
}

func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(fullSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("answer.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("answer.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// faults are the sentences about every wrong place.
func faults(err error) []string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	if len(v.Causes) == 0 {
		at, text := "at /"+strings.Join(v.InstanceLocation, "/")+": ", v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		if strings.HasPrefix(text, "additional propert") {
			text = "a member that is not in the schema"
		}
		return []string{at + text}
	}
	var all []string
	for _, c := range v.Causes {
		all = append(all, faults(c)...)
	}
	return all
}

// spoil changes one place of v, often for the worse.
func spoil(random *rand.Rand, v any) any {
	if random.IntN(3) > 0 {
		switch v := v.(type) {
		case map[string]any:
			name := slices.Sorted(maps.Keys(v))
			if len(name) == 0 {
				break
			}
			member := name[random.IntN(len(name))]
			switch random.IntN(12) {
			case 0:
				delete(v, member)
			case 1:
				v["it's"] = true
			default:
				v[member] = spoil(random, v[member])
			}
			return v
		case []any:
			if len(v) == 0 {
				break
			}
			switch i := random.IntN(len(v)); random.IntN(8) {
			case 0:
				return slices.Delete(v, i, i+1)
			case 1:
				return slices.Repeat(v, 70/len(v))
			default:
				v[i] = spoil(random, v[i])
			}
			return v
		}
	}
	values := []any{
		nil, true, "", "x", "F1", "tcp", "high", "it's \"so\"\né", strings.Repeat("é", 401), strings.Repeat("a", 1234),
		[]any{},
		map[string]any{},
		[]any{json.Number("1")},
		json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("1.5"), json.Number("1e2"), json.Number("2.0"),
		json.Number("1e99999999"), json.Number("-12"),
	}
	return values[random.IntN(len(values))]
}
