package run

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		live int64
		want int
	}{
		{1 << 20, mostPercent},
		{32 << 20, 100},
		{64 << 20, 50},
		{160 << 20, 20},
		{1 << 30, 20}, // a share of it
	}
	for _, tt := range tests {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("percent(%d MiB) = %d, want %d", tt.live>>20, got, tt.want)
		}
	}
}
