package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// While the job runs, gorun sleeps in calls that release their P (the processor of Go's scheduler) before
// they block. If a call kept its P, the scheduler's monitor would examine that P every 20 us for 10 ms, on a
// processor of a rank that has just started. In a measurement, the monitor took a sixth of that processor's time.
// Waits in Go's network poller, for example on connections, hold no P in any case.

// childInfo is the part of siginfo_t that waitid(2) fills, on 64-bit Linux.
type childInfo struct {
	_   [4]int32 // signo, errno, code, padding
	pid int32
}

// awaitChild waits until a child has ended and returns its process ID. The child stays a zombie.
func awaitChild() (int, syscall.Errno) {
	var info unix.Siginfo
	_, _, errno := blocking.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, 0, 0)
	return int((*childInfo)(unsafe.Pointer(&info)).pid), errno
}

// awaitEvents calls epoll_wait(2).
func awaitEvents(epoll int, events []unix.EpollEvent, millis int) (int, syscall.Errno) {
	n, _, errno := blocking.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(millis), 0, 0)
	return int(n), errno
}
