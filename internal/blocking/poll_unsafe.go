//go:build linux

package blocking

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Poll calls ppoll(2) without a signal mask. It waits until at least one descriptor has an
// event or the timeout has passed. If timeout is nil, it waits without a limit. fds must not be empty.
func Poll(fds []unix.PollFd, timeout *unix.Timespec) syscall.Errno {
	_, _, errno := Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
	return errno
}
