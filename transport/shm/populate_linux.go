//go:build !portable

package shm

import "golang.org/x/sys/unix"

// populate makes the pages of b, which is writable, and maps them here (madvise(2),
// Linux 5.14). Where the kernel cannot, they are made when they are touched.
func populate(b []byte) {
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}
