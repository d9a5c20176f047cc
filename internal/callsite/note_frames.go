//go:build amd64 || arm64

package callsite

// Note records the callers of the function that calls it, the innermost first.
//
//go:noinline
func (s *Site) Note() { note(s) }

// note stores return addresses in s. The first is the return address in the frame of the function
// that calls Note, which is the caller of note's caller. Those of the frames further out follow. A
// frame begins with the address of the next outer frame, which is 0 in the outermost one, followed by the
// return address. The execution tracer of Go's runtime relies on this layout, too
// (runtime/tracestack.go, fpTracebackPCs).
//
//go:noescape
func note(s *Site)
