//go:build !linux

package capture

func prefer() (restore func()) { return func() {} }
