//go:build !amd64

package analyze

func prefetch(*byte) {}
