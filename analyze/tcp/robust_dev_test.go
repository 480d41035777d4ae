package tcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"netwhy/analyze/tcp"
)

func TestDevTruth(t *testing.T) {
	dir := os.Getenv("TRUTH")
	src := os.Getenv("TRUTHSRC")
	if dir == "" {
		t.Skip()
	}
	list, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	same, all := 0, 0
	for _, name := range list {
		b, _ := os.ReadFile(name)
		var truth struct {
			File     string         `json:"file"`
			TCP      int            `json:"tcp_conversations"`
			Packets  int            `json:"packets"`
			Analysis map[string]int `json:"tcp_analysis"`
			RST      int            `json:"tcp_rst"`
		}
		if json.Unmarshal(b, &truth) != nil {
			continue
		}
		var want counts
		for i, c := range tcp.CounterNames {
			want[i] = truth.Analysis[c]
		}
		want[len(want)-1] = truth.RST
		got, streams := count(t, filepath.Join(src, truth.File))
		d := diff(got, want)
		all++
		if d == "" {
			same++
			if streams != truth.TCP {
				t.Log(truth.File, "streams", streams, truth.TCP)
			}
		} else {
			t.Log(truth.File, d)
		}
	}
	t.Log(same, all)
}
