//go:build linux

package blocking

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

// The scheduler's own pair around a call that is expected to block. Go keeps the two
// for those who link to them, https://go.dev/issue/67401.
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// Syscall6 is syscall.Syscall6 for a call that sleeps: other goroutines get Go's
// processor when it begins. That wakes a thread, so syscall.Syscall6 is better for a call
// that is likely to return soon.
//
// Between the scheduler's two functions nothing may read the stack, nor use Go's processor
// (as the race detector does).
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
