package metrics_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDashboard: the example dashboard asks for no metric that is not described
// in this package.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "fixtures", "grafana", "netwhy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`netwhy_[a-z_]+`)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, m := range name.FindAllString(target.Expr, -1) {
				short := strings.TrimSuffix(strings.TrimPrefix(m, "netwhy_"), "_bucket")
				if !strings.Contains(string(source), `"`+short+`"`) && !strings.Contains(string(source), `"netwhy_`+short+`"`) {
					t.Errorf("%s: no metric %s", p.Title, m)
				}
			}
		}
	}
	if len(d.Panels) < 10 {
		t.Errorf("%d panels", len(d.Panels))
	}
}
