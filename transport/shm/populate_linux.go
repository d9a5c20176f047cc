//go:build !portable

package shm

import "golang.org/x/sys/unix"

// populate allocates the pages of b and maps them in this process (madvise(2), Linux 5.14). b must
// be writable. On older kernels pages are allocated when they are touched.
func populate(b []byte) {
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}
