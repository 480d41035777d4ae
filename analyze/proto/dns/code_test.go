package dns

import (
	"slices"
	"testing"
)

func TestCodesOfCut(t *testing.T) {
	t.Parallel()
	answer := msg(7, flR|rcodeNXDomain, "foo.com", typeA)
	whole := append([]byte{0, byte(len(answer))}, answer...)
	for _, c := range []struct {
		what string
		b    []byte
		want []string
	}{
		{"nothing", nil, nil},
		{"cut inside the flags", whole[:5], nil},
		{"cut behind the flags", whole[:6], []string{"3"}},
		{"one, and the next cut", append(slices.Clone(whole), whole[:6]...), []string{"3", "3"}},
		{"one, and the next cut too early", append(slices.Clone(whole), whole[:5]...), []string{"3"}},
		{"a query", append([]byte{0, 29}, msg(7, flQ, "foo.com", typeA)...), nil},
		{"a length that came before", answer, nil},
		{"a message shorter than a header", append([]byte{0, 4}, answer...), []string{"3"}},
		{"no length", []byte{0, 0, 0, 1, 0x81, 0x83}, nil},
	} {
		var got []string
		CodesOfCut(c.b, func(key string) { got = append(got, key) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
