package arena

import "unsafe"

// address is that of the first byte, also where the length is 0.
func address(b []byte) uintptr {
	if cap(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
