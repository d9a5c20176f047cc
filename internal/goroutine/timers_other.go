//go:build !linux || portable

package goroutine

// Timers returns false, because the timers are not known on this system or with build tag portable.
func Timers() (functions []string, ok bool) { return nil, false }
