package shm_test

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapAt returns n bytes of new memory at an address where there was none.
func mapAt(addr uintptr, n int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, unsafe.Add(nil, addr), uintptr(n),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// longer returns b with n bytes more of what follows it in memory. They are not touched.
func longer(b []byte, n int) []byte { return unsafe.Slice(&b[0], len(b)+n) }
