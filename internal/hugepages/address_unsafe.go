package hugepages

import "unsafe"

// address returns where b begins. It is not empty.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
