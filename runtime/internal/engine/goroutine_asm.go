//go:build amd64 || arm64

package engine

// goroutine returns an identifier of the calling goroutine, which is valid while the
// goroutine exists. It is the address of the goroutine's descriptor, which never moves.
// It is used as a number, never as a pointer.
//
//go:noescape
func goroutine() uintptr
