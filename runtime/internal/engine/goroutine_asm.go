//go:build amd64 || arm64

package engine

// goroutine names the calling goroutine while it lives: the address of its
// descriptor, which never moves. It is a number, never a pointer.
//
//go:noescape
func goroutine() uintptr
