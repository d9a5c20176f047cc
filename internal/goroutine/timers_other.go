//go:build !linux || portable

package goroutine

// Timers returns false: the timers are not known here.
func Timers() (functions []string, ok bool) { return nil, false }
