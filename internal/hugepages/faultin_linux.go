package hugepages

import "golang.org/x/sys/unix"

// FaultIn makes the kernel map the pages of b, which begins on a page, into this process, so that the first
// reads take no page faults. The kernel allocates pages that do not exist yet. Linux before 5.14 cannot map
// pages in this way; the first reads then take page faults.
func FaultIn(b []byte) { _ = unix.Madvise(b, unix.MADV_POPULATE_READ) }
