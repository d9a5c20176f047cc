package hugepages

import "golang.org/x/sys/unix"

// FaultIn makes the kernel map the pages of b, which begins on a page, into this process, so that the first
// reads take no page faults. Pages that do not exist yet are allocated. Where the kernel cannot do so (before
// Linux 5.14), the first reads take these faults.
func FaultIn(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_READ) }
