//go:build amd64 || arm64

package callsite

// Note records the callers of the function that calls it, the innermost first.
//
//go:noinline
func (s *Site) Note() { note(s) }

// note writes the return addresses of the frame of its caller's caller, which is that of
// a function that calls Note, and of those further out. A frame begins with the address
// of the next outer frame, followed by the return
// address; the outermost has no outer one. The runtime's execution tracer relies on it,
// too (runtime/tracestack.go, fpTracebackPCs).
//
//go:noescape
func note(s *Site)
