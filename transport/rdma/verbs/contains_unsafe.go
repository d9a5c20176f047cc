package verbs

import "unsafe"

// contains reports whether inner lies within outer in memory.
func contains(outer, inner []byte) bool {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(outer)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(inner)))
	return at >= from && at-from <= uintptr(len(outer)) && uintptr(len(inner)) <= uintptr(len(outer))-(at-from)
}
