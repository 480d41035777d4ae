package run

import "testing"

func TestPercent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		live, highest int64
		want          int
	}{
		{1 << 20, 0, mostPercent},
		{16 << 20, 0, 150},
		{32 << 20, 0, 75},
		{96 << 20, 0, 25},
		{240 << 20, 0, 10},
		{1 << 30, 0, 10}, // a share of it
		{32 << 20, 48 << 20, 75},
		{32 << 20, 80 << 20, 150}, // as high as it was
		{1 << 20, 80 << 20, mostAgain},
	}
	for _, tt := range tests {
		if got := percent(tt.live, tt.highest); got != tt.want {
			t.Errorf("percent(%d MiB, %d MiB) = %d, want %d", tt.live>>20, tt.highest>>20, got, tt.want)
		}
	}
}
