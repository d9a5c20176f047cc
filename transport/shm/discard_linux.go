//go:build !portable

package shm

import (
	"errors"

	"golang.org/x/sys/unix"
)

// advise frees the pages of b, in all processes that map them.
func advise(b []byte) error { return unix.Madvise(b, unix.MADV_REMOVE) }

// discard frees the pages of b in all processes that map them, by MADV_REMOVE, which is
// fallocate(PUNCH_HOLE) by address. Some systems do not support MADV_REMOVE, and emulators report
// success without freeing the pages. On such systems discard only sets b to zeros.
func discard(b []byte, advise func(b []byte) error) error {
	b[0] = 1
	err := advise(b)
	if err == nil && b[0] == 0 {
		return nil
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	clear(b)
	return nil
}
