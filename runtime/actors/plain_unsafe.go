package actors

import "unsafe"

// bytesOf returns the memory of a value of plain data.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// bytesOfString returns the memory of a string, which must not be written to.
func bytesOfString(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// face is the memory of a value of type any.
type face struct {
	typ  uintptr
	data unsafe.Pointer
}

// typeWord tells the dynamic types of messages apart: the address of the type's
// description, which the runtime never moves. 0 for nil.
func typeWord(m any) uintptr { return (*face)(unsafe.Pointer(&m)).typ }

// bytesIn returns the memory of the plain value of size bytes, not 0, that m
// holds; it must not be written to. Values without pointers are held by address.
func bytesIn(m any, size int) []byte {
	return unsafe.Slice((*byte)((*face)(unsafe.Pointer(&m)).data), size)
}
