package rdma

import "unsafe"

// spanOf returns the range of addresses of b.
func spanOf(b []byte) span {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return span{from, from + uintptr(len(b))}
}
