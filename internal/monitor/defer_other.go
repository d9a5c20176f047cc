//go:build !linux

package monitor

// Defer does nothing.
func Defer() {}
