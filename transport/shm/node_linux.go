//go:build !portable

package shm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mapMemory maps the first size bytes of a file as shared and writable memory.
func mapMemory(fd int, size int64) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("fstat: %w", err)
	}
	if st.Size < size {
		return nil, fmt.Errorf("the file has %d bytes, want at least %d", st.Size, size)
	}
	b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	var limit unix.Rlimit
	switch {
	case err == unix.ENOMEM && unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur != unix.RLIM_INFINITY:
		return nil, fmt.Errorf("mapping %d bytes: %w: the address space of this process is limited to %d bytes (RLIMIT_AS): the mapping needs address space and no memory: raise the limit (ulimit -v unlimited)", size, err, limit.Cur)
	case err != nil:
		return nil, fmt.Errorf("mapping %d bytes: %w", size, err)
	}
	return b, nil
}

func unmapMemory(b []byte) error { return unix.Munmap(b) }
