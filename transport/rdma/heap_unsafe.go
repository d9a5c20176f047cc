package rdma

import "unsafe"

// spanOf returns where b lies.
func spanOf(b []byte) span {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return span{from, from + uintptr(len(b))}
}
