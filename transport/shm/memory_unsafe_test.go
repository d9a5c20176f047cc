package shm_test

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapAt maps n bytes of new memory at an address where nothing is mapped.
func mapAt(addr uintptr, n int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, unsafe.Add(nil, addr), uintptr(n),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// longer returns b extended by the n bytes that follow it in memory. It does not access them.
func longer(b []byte, n int) []byte { return unsafe.Slice(&b[0], len(b)+n) }

// resident returns how many bytes of the whole pages of b are in memory (mincore(2)).
func resident(b []byte) (int, error) {
	page := os.Getpagesize()
	b = b[-int(uintptr(unsafe.Pointer(&b[0])))&(page-1):]
	pages := make([]byte, len(b)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(pages)*page), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return 0, errno
	}
	count := 0
	for _, p := range pages {
		count += int(p & 1)
	}
	return count * page, nil
}
