package arena

import "unsafe"

// address returns the address of the first byte of the memory of b, even if the length of b is 0. If the
// capacity of b is 0, address returns 0.
func address(b []byte) uintptr {
	if cap(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
