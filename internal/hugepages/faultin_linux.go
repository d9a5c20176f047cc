package hugepages

import (
	"os"

	"golang.org/x/sys/unix"
)

// FaultIn makes the kernel map the pages of b, which begins on a page, into this process, so that the first
// reads take no page faults. The kernel allocates pages that do not exist yet. Linux before 5.14 cannot map
// pages in this way; FaultIn then takes the page faults itself. If write is true, this process will write to b, and
// FaultIn prepares the pages for it.
//
// FaultIn also reads every page. Without the reads, the first access of this process to each page took 5 us on a
// virtual machine, although the kernel of the guest had mapped the page (docs/adr/0080).
func FaultIn(b []byte, write bool) {
	advice := unix.MADV_POPULATE_READ
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	_ = unix.Madvise(b, advice)
	_ = readPages(b)
}

// readPages returns the sum of the first bytes of all pages of b. It is not inlined, because the compiler may leave
// out reads whose result it knows to be unused. Other ranks may write to b meanwhile; if these ranks are goroutines of
// this process, the race detector would report the reads, although their results are not used.
//
//go:noinline
//go:norace
func readPages(b []byte) (sum byte) {
	for at := 0; at < len(b); at += os.Getpagesize() {
		sum += b[at]
	}
	return sum
}
