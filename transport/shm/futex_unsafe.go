//go:build linux && !portable

package shm

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// Operations of futex(2). They are without FUTEX_PRIVATE_FLAG, because the word is shared between
// processes.
const (
	futexOpWait = 0
	futexOpWake = 1
)

// futexWait sleeps if the word is v, until a wake, a signal or the timeout of nanos nanoseconds. A
// negative nanos means no timeout. futexWait uses Syscall6, so that Go's scheduler can retake the P
// after some time and run other goroutines of the process.
func futexWait(word *uint32, v uint32, nanos int64) {
	var timeout *unix.Timespec
	if nanos >= 0 {
		t := unix.NsecToTimespec(nanos)
		timeout = &t
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(v),
		uintptr(unsafe.Pointer(timeout)), 0, 0)
}

// futexWaitBlocking does the same as futexWait, but releases the P of Go's scheduler before it
// sleeps. It is for a process whose other goroutines have work.
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

// schedYield yields the processor to other threads and processes.
func schedYield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
