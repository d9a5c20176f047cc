package hugepages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// address returns where b begins. It is not empty.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// collapse asks the kernel for one huge page in place of the pages of a range
// (madvise(2), since Linux 6.1). What they hold stays.
func collapse(addr uintptr, bytes int) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, addr, uintptr(bytes), unix.MADV_COLLAPSE); errno != 0 {
		return errno
	}
	return nil
}
