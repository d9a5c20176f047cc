//go:build !linux || !cgo || !(amd64 || arm64)

package ibverbs

import "syscall"

// openLibrary fails, because this build of the package cannot call C functions.
func openLibrary(string) (handle uintptr, reason string, err error) {
	return 0, "", ErrNotLinked
}

// The following functions are never called, because openLibrary fails.
func symbol(uintptr, string) function                                 { return 0 }
func call(_ function, _, _, _, _, _ uintptr) (uintptr, syscall.Errno) { return 0, syscall.ENOSYS }
func invoke(_ function, _, _, _ uintptr) int                          { return int(syscall.ENOSYS) }
