//go:build linux && !portable

package shm

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// Operations of futex(2), without FUTEX_PRIVATE_FLAG: the word is shared between
// processes.
const (
	futexOpWait = 0
	futexOpWake = 1
)

// futexWait sleeps while the word is v, until a wake, a signal or the end of a time,
// which is for ever if it is negative. It goes through Syscall6, which lets the other
// goroutines of the process run.
func futexWait(word *uint32, v uint32, nanos int64) {
	var timeout *unix.Timespec
	if nanos >= 0 {
		t := unix.NsecToTimespec(nanos)
		timeout = &t
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(v),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWaitBlocking is futexWait for a process whose other goroutines have work: it
// gives Go's processor to them before it sleeps.
func futexWaitBlocking(word *uint32, v uint32, nanos int64) {
	var timeout *unix.Timespec
	if nanos >= 0 {
		t := unix.NsecToTimespec(nanos)
		timeout = &t
	}
	_, _, _ = blocking.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(v),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWake wakes all threads that sleep on the word.
func futexWake(word *uint32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake, math.MaxInt32, 0, 0, 0)
}

// schedYield gives the processor to other processes.
func schedYield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
