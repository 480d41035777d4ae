package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaAgainstValidator holds what Parse takes to a second validator: answers
// with one to three wrong places are wrong to both, and the place that we name is
// one that it names.
func TestSchemaAgainstValidator(t *testing.T) {
	t.Parallel()
	r, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	other := validator(t)
	text, err := json.Marshal(&Answer{
		Summary: "s", LikelyCause: "tcp-packet-loss", Severity: "info", Claims: []Claim{good(), good()},
		Alternatives: []Alternative{{Cause: "dns-slow", Why: "w"}}, Remedies: []string{"r"}, NextSteps: []Step{{Text: "t", DisplayFilter: "tcp"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sentence := regexp.MustCompile(`^the answer does not match the schema: at (/[a-z_/0-9]*): (want [a-zA-Z]+|missing properties: |a member that is not in the schema$)[^"\x00-\x1f]*$`)
	random := rand.New(rand.NewPCG(1, 2))
	said, right := map[string]int{}, 0
	for range 5_000 {
		doc := decode(t, text)
		for range 1 + random.IntN(3) {
			doc = spoil(random, doc)
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		_, got := r.Parse(string(raw))
		want := places(other.Validate(decode(t, raw)))
		switch {
		case got == nil && want == nil:
			right++
			continue
		case got == nil:
			t.Fatalf("%s: was taken, is wrong at %q", raw, want)
		case want == nil && json.Unmarshal(raw, new(Answer)) == nil:
			t.Fatalf("%s: was not taken: %v", raw, got)
		}
		m := sentence.FindStringSubmatch(got.Error())
		if m == nil { // a number that is none of Go's
			m = []string{"", "", got.Error()}
		} else if !slices.Contains(want, m[1]) {
			t.Fatalf("%s\n%v\nwant one of %q", raw, got, want)
		}
		said[m[2]]++
	}
	if right < 100 || len(said) != 12 || slices.Min(slices.Collect(maps.Values(said))) < 3 {
		t.Errorf("%d answers were right, wrong ones too few or otherwise than expected: %v", right, said)
	}
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestHostileAnswers: what is said of them is short and quotes nothing.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	r, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	const room = 60 << 10
	for name, text := range map[string]string{
		"frames":  `{"claims":[{"frames":[` + strings.Repeat("1,", room/2) + `1]}]}`,
		"claims":  `{"claims":[` + strings.Repeat(`{"text":"x","kind":"x","finding_ids":["F1"],"frames":[],"confidence":"low"},`, room/78) + `{}]}`,
		"members": `{"` + strings.Repeat(`\u001b`, room/6) + `":1}`,
		"text":    `{"summary":"` + strings.Repeat(`x`, room) + `"}`,
		"pattern": `{"likely_cause":"` + strings.Repeat(`at /: \n`, room/10) + `"}`,
		"nested":  `{"claims":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
		"deeper":  `{"claims":` + strings.Repeat("[", room/2) + strings.Repeat("]", room/2) + `}`,
	} {
		_, err := r.Parse(text)
		if err == nil || len(err.Error()) > 240 || strings.ContainsAny(err.Error(), "\x1b\n\"\\") {
			t.Errorf("%s: %v", name, err)
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

// places are all that are wrong.
func places(err error) []string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	if len(v.Causes) == 0 {
		return []string{"/" + strings.Join(v.InstanceLocation, "/")}
	}
	var all []string
	for _, c := range v.Causes {
		all = append(all, places(c)...)
	}
	return all
}

// spoil changes one place of v, often for the worse.
func spoil(random *rand.Rand, v any) any {
	if random.IntN(8) > 0 {
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
		json.Number("1.00000000000000000001"), json.Number("0.99999999999999999999"), json.Number("-1e-999"), json.Number("9007199254740993"),
		json.Number("18446744073709551615"), json.Number("18446744073709551616"),
	}
	return values[random.IntN(len(values))]
}
