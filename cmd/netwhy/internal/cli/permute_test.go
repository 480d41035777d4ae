package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"netwhy/cmd/netwhy/internal/run"
)

func TestPermute(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want []string
	}{
		{"nothing", []string{"n"}, []string{"n"}},
		{"in order", []string{"n", "replay", "--offline", "f"}, []string{"n", "replay", "--offline", "--", "f"}},
		{"after the file", []string{"n", "replay", "f", "--offline"}, []string{"n", "replay", "--offline", "--", "f"}},
		{"before the command", []string{"n", "--lang", "zh", "replay", "f"}, []string{"n", "replay", "--lang", "zh", "--", "f"}},
		{"value with =", []string{"n", "replay", "f", "--lang=zh"}, []string{"n", "replay", "--lang=zh", "--", "f"}},
		{"short with value", []string{"n", "replay", "a", "-o", "x", "b"}, []string{"n", "replay", "-o", "x", "--", "a", "b"}},
		{"a value that looks like a flag", []string{"n", "replay", "f", "-f", "--offline"}, []string{"n", "replay", "-f", "--offline", "--", "f"}},
		{"standard input", []string{"n", "replay", "-", "--strict"}, []string{"n", "replay", "--strict", "--", "-"}},
		{"after --", []string{"n", "replay", "--", "--offline"}, []string{"n", "replay", "--", "--offline"}},
		{"unknown flag stays a flag", []string{"n", "replay", "f", "--nope"}, []string{"n", "replay", "--nope", "--", "f"}},
		{"subcommand", []string{"n", "rules", "show", "x", "--lang", "zh"}, []string{"n", "rules", "show", "--lang", "zh", "--", "x"}},
		{"flag between command and subcommand", []string{"n", "rules", "--lang", "zh", "show", "x"}, []string{"n", "rules", "show", "--lang", "zh", "--", "x"}},
		{"a file named like a command", []string{"n", "replay", "f", "replay"}, []string{"n", "replay", "--", "f", "replay"}},
		{"unknown command", []string{"n", "f", "replay"}, []string{"n", "--", "f", "replay"}},
	}
	s := &session{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := permute(s.app(), tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("permute(%q): want -, got +:\n%s", tt.in, d)
			}
		})
	}
	if _, _, err := permute(s.app(), []string{"n", "replay", "f", "--lang"}); err == nil {
		t.Error("a flag without its value was accepted")
	}
}

func TestPair(t *testing.T) {
	t.Parallel()
	f := func(v string) given { return given{flagFormat, v} }
	o := func(v string) given { return given{flagOutput, v} }
	tests := []struct {
		name string
		in   []given
		want []run.Output // nil: an error
	}{
		{"nothing", nil, []run.Output{{Format: "text"}}},
		{"output alone", []given{o("a")}, []run.Output{{Format: "text", Path: "a"}}},
		{"one each", []given{f("json"), o("a")}, []run.Output{{Format: "json", Path: "a"}}},
		{"output first", []given{o("a"), f("json")}, []run.Output{{Format: "json", Path: "a"}}},
		{"the first without", []given{f("text"), f("json"), o("a")}, []run.Output{{Format: "text"}, {Format: "json", Path: "a"}}},
		{"the last without", []given{f("json"), o("a"), f("text")}, []run.Output{{Format: "json", Path: "a"}, {Format: "text"}}},
		{"other flags between", []given{f("json"), {"lang", "zh"}, o("a")}, []run.Output{{Format: "json", Path: "a"}}},
		{"both on standard output", []given{f("json"), f("text")}, nil},
		{"- is standard output", []given{f("json"), o("-"), f("text")}, nil},
		{"the same file", []given{f("json"), o("a"), f("text"), o("a")}, nil},
		{"too many outputs", []given{f("json"), o("a"), o("b")}, nil},
		{"empty output", []given{o("")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := pair(tt.in)
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("want -, got +:\n%s", d)
				}
			}
		})
	}
}
