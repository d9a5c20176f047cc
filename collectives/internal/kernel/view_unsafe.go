package kernel

import "unsafe"

// View returns b as a slice of T, without copying. Bytes at the end that do not fill a whole element
// are left out. T must not contain pointers.
func View[T any](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if size == 0 || len(b) < size {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
}

// Bytes returns the memory of s as bytes, without copying. T must not contain pointers.
func Bytes[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// SizeOf returns the size of a T in bytes.
func SizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// Overlap reports how the memory of two slices overlaps: same if they start at the same
// byte, partial if they share bytes in any other way.
func Overlap(a, b []byte) (same, partial bool) {
	if len(a) == 0 || len(b) == 0 {
		return false, false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	if x == y {
		return true, false
	}
	return false, x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}
