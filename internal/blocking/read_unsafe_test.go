package blocking_test

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// readBlocking calls read(2).
func readBlocking(fd int, p []byte) (uintptr, syscall.Errno) {
	n, _, errno := blocking.Syscall6(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), 0, 0, 0)
	return n, errno
}
