package aidiag

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestProvidersFile: the example that documents every kind of provider is one.
func TestProvidersFile(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/providers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for _, p := range c.filled().Providers {
		if p.Model == "" || len(p.Endpoints) == 0 || p.Kind == "" {
			t.Errorf("incomplete: %+v", p)
		}
	}
	if _, err := New(c, Deps{}); err != nil {
		t.Error(err)
	}
}
