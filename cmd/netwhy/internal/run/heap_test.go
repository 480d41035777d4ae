package run

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		live int64
		want int
	}{
		{1 << 20, mostPercent},
		{16 << 20, 113},
		{36 << 20, 50},
		{80 << 20, 25}, // a quarter
		{96 << 20, 25},
		{240 << 20, 10},
		{1 << 30, 10}, // a share of it
	}
	for _, tt := range tests {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("percent(%d MiB) = %d, want %d", tt.live>>20, got, tt.want)
		}
	}
}
