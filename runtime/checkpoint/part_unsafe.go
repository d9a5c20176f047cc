package checkpoint

import "unsafe"

// bytesOf returns the memory of a slice, which the result keeps alive.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
