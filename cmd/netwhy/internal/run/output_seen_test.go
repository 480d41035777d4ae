package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/run"
)

// long returns captures that are, as one timeline, long enough for symptoms to be
// told early.
func long(t *testing.T, paths []string) []string {
	t.Helper()
	const enough = 9 << 19
	size := int64(0)
	for i, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if size += st.Size(); size >= enough {
			return paths[:i+1]
		}
	}
	t.Skip("the lab's captures are not here")
	return nil
}

// TestSymptomsAreToldWhenSeen: a long replay writes its symptoms while it reads,
// and each comes again as a finding.
func TestSymptomsAreToldWhenSeen(t *testing.T) {
	t.Parallel()
	files := long(t, captures(t))
	var b bytes.Buffer
	_, err := run.Replay(t.Context(), world(&b), &run.Options{
		Files: files, Loaded: builtin(t), Outputs: []run.Output{{Format: "ndjson"}}, MinSeverity: finding.Info,
	})
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		code, host, server string
		stream             uint32
	}
	seen, told, findings := map[key]bool{}, 0, 0
	for line := range bytes.Lines(b.Bytes()) {
		var e struct {
			Event, Code string
			Host        *string
			Connection  *struct {
				Server string
				Stream uint32
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		k := key{code: e.Code}
		if e.Host != nil {
			k.host = *e.Host
		}
		if e.Connection != nil {
			k.server, k.stream = e.Connection.Server, e.Connection.Stream
		}
		switch {
		case e.Event == "seen" && findings > 0:
			t.Error("told after the end")
		case e.Event == "seen":
			seen[k] = true
			told++
		case e.Event == "finding":
			findings++
			delete(seen, k)
		}
	}
	if told == 0 {
		t.Error("nothing was told early")
	}
	if len(seen) > 0 {
		t.Errorf("told and never found: %v", seen)
	}
}
