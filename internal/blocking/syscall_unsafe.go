//go:build linux

package blocking

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

// entersyscallblock and exitsyscall are the functions that Go's scheduler itself calls before and
// after a system call that is expected to block. Go keeps them for packages that link to them,
// https://go.dev/issue/67401.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// Syscall6 is like syscall.Syscall6, but for a call that sleeps: it releases the P to other
// goroutines at once. This wakes a thread, so syscall.Syscall6 is better for a call that is
// likely to return soon.
//
// Between entersyscallblock and exitsyscall nothing may read the stack or use the P (as the race
// detector does).
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
