//go:build amd64 || arm64

package callsite

// Note records the callers of the function that calls it, the innermost first.
//
//go:noinline
func (s *Site) Note() { note(s) }

// note stores return addresses in s. The first is the return address in the frame of the function that calls
// Note. The return addresses of the outer frames follow. A frame begins with the address of the next outer
// frame, followed by the return address. In the outermost frame, the address of the next frame is 0. The
// execution tracer of Go's runtime relies on this layout, too (runtime/tracestack.go, fpTracebackPCs).
//
//go:noescape
func note(s *Site)
