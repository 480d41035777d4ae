package json_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"netwhy/cmd/netwhy/internal/report"
	jsonreport "netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func write(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jsonreport.New(&b).Finish(r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoldenAndSchema(t *testing.T) {
	t.Parallel()
	schema := compile(t)
	tests := []struct {
		name string
		r    *report.Report
	}{
		{"empty", reporttest.Empty()},
		{"healthy", reporttest.Healthy()},
		{"stalled", reporttest.Stalled()},
		{"asked", reporttest.Asked()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := write(t, tt.r)
			reporttest.Golden(t, tt.name+".json", got, *update)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(jsonreport.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaIsStrict: a report that breaks the contract is refused, or the
// schema would prove nothing.
func TestSchemaIsStrict(t *testing.T) {
	t.Parallel()
	schema := compile(t)
	tests := []struct{ name, old, new string }{
		{"null for an array", `"not_assessed": [`, `"not_assessed": null, "x": [`},
		{"unknown severity", `"severity": "critical"`, `"severity": "bad"`},
		{"unknown culprit", `"culprit": "server"`, `"culprit": "nginx"`},
		{"time without nanoseconds", `.123456789Z`, `Z`},
		{"missing key", `"zero_window": 0,`, ``},
		{"other schema", `netwhy.report/1`, `netwhy.report/2`},
	}
	good := string(write(t, reporttest.Stalled()))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("the report has no %s", tt.old)
			}
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(doc) == nil {
				t.Error("accepted")
			}
		})
	}
}

// TestNothingEscapes: a JSON report may be looked at in a terminal.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	got := write(t, reporttest.Attack())
	for _, r := range string(got) {
		if r != '\n' && (r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x202e) {
			t.Errorf("%U in the document", r)
		}
	}
	var back struct {
		Diagnoses []struct{ Title string }
	}
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if want := strings.ToValidUTF8(reporttest.Hostile, "\ufffd"); back.Diagnoses[0].Title != want {
		t.Errorf("the text is not what it was: %q, want %q", back.Diagnoses[0].Title, want)
	}
}

// FuzzMarshal: whatever a text is, it comes back as it was and the document is
// one that a terminal cannot obey.
func FuzzMarshal(f *testing.F) {
	for _, s := range []string{"", "\u009b", "\U000e0041", "\x7f\xff", "a\nb", reporttest.Hostile} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := jsonreport.Marshal(s, "")
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		var plain bytes.Buffer
		if err := json.NewEncoder(&plain).Encode(s); err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(plain.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if back != want {
			t.Fatalf("%q came back as %q", want, back)
		}
	})
}
