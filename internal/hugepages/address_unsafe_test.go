package hugepages_test

import "unsafe"

// at returns the address of the first byte of b.
func at(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
