package checkpoint

import "unsafe"

// bytesOf returns the memory of s as bytes. The result keeps that memory alive.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
