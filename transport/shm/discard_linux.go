//go:build !portable

package shm

import (
	"errors"

	"golang.org/x/sys/unix"
)

// madvise is the system call.
var madvise = unix.Madvise

// discard gives the pages of b back, for every process that maps them: MADV_REMOVE is
// fallocate(PUNCH_HOLE) by address. Where the system does not do that, or says that it
// did and ignores it, as emulators do, b becomes zeros only.
func discard(b []byte, advise func(b []byte, advice int) error) error {
	b[0] = 1
	err := advise(b, unix.MADV_REMOVE)
	if err == nil && b[0] == 0 {
		return nil
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	clear(b)
	return nil
}
