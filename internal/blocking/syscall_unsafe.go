//go:build linux

package blocking

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

// entersyscallblock and exitsyscall are the functions that Go's scheduler itself calls before and
// after a system call that is expected to block. Go keeps them for packages that link to them
// (https://go.dev/issue/67401).
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// Syscall6 is the counterpart of syscall.Syscall6 for a call that sleeps. It releases the P to other
// goroutines at once. The release wakes a thread. Therefore syscall.Syscall6 is better for a call that is
// likely to return soon.
//
// Between entersyscallblock and exitsyscall, no code may grow the stack or use the P. The code of the
// race detector uses the P. For this reason, go:norace keeps that code out of this function.
//
//go:noinline
//go:norace
//go:nosplit
//go:uintptrescapes
func Syscall6(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, errno syscall.Errno) {
	entersyscallblock()
	r1, r2, errno = syscall.RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
	exitsyscall()
	return r1, r2, errno
}
