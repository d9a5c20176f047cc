//go:build !linux

package monitor

// Defer does nothing.
func Defer() {}

// Restore does nothing.
func Restore() {}
