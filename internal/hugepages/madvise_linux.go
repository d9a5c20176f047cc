package hugepages

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/blocking"
)

// collapse asks the kernel to replace the pages of a range by one huge page (MADV_COLLAPSE of madvise(2),
// since Linux 6.1). Their contents are kept. The call sleeps, and releases the P (Go's scheduling
// context) meanwhile.
func collapse(addr uintptr, bytes int) error {
	if _, _, errno := blocking.Syscall6(unix.SYS_MADVISE, addr, uintptr(bytes), unix.MADV_COLLAPSE, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// prefer asks the kernel to make huge pages of the blocks of a range at their first use (MADV_HUGEPAGE of
// madvise(2)).
func prefer(addr uintptr, bytes int) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, addr, uintptr(bytes), unix.MADV_HUGEPAGE); errno != 0 {
		return errno
	}
	return nil
}
