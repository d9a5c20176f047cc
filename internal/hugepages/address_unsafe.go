package hugepages

import "unsafe"

// address returns the address of the first byte of b, which must not be empty.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
