//go:build linux && cgo

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/aidiag/faulttest"
	"netwhy/capture/livetest"
)

// TestCaptureAsks: a new diagnosis of a live run is asked about at once, the
// answer stands in the last report, and a model that is down costs nothing but
// its answer.
func TestCaptureAsks(t *testing.T) {
	n := livetest.Alone(t)
	if n == nil {
		return
	}
	for name, fault := range map[string]faulttest.Fault{"answered": faulttest.Healthy(), "fell-back": faulttest.ResetNow()} {
		t.Run(name, func(t *testing.T) {
			server := faulttest.New(t, fault)
			conf := filepath.Join(openDir(t), "netwhy.yaml")
			text := "ai:\n  deadline: 60s\n  providers:\n    - name: mine\n      model: m\n      api_key_env: LIVE_KEY\n      endpoints: [" + server.URL() + "]\n"
			if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv("LIVE_KEY", "sk-test")
			w := watch(t, "--no-screen", "--format", "json", "--config", conf, "--diagnose", "--metrics", ":9470")
			refusals(t, 3)
			w.said("D1: the AI " + name)
			if !within(func() bool {
				resp, err := get(t, "http://127.0.0.1:9470/metrics")
				if err != nil {
					return false
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				return strings.Contains(string(b), `netwhy_ai_breaker_state{`) && strings.Contains(string(b), `netwhy_ai_answers_total{state="`+name+`"} 1`)
			}) {
				t.Error("the metrics do not tell the state of the AI")
			}
			if code, _ := w.end(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			var r struct {
				AI        struct{ State string }
				Diagnoses []struct{ ID, Source string }
			}
			if err := json.Unmarshal(w.stdout.Bytes(), &r); err != nil {
				t.Fatalf("%v:\n%s", err, w.stdout.String())
			}
			if r.AI.State != name || len(r.Diagnoses) == 0 || r.Diagnoses[0].ID != "D1" || r.Diagnoses[0].Source != "rules" {
				t.Errorf("report: %+v", r)
			}
		})
	}
}
