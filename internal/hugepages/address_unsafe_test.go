package hugepages_test

import "unsafe"

// at returns where b begins.
func at(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
