//go:build !amd64 && !arm64

package callsite

import goruntime "runtime"

// Note records the callers of the function that calls it, the innermost first.
func (s *Site) Note() {
	n := goruntime.Callers(3, s[:])
	clear(s[n:])
}
