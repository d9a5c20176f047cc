package codec

import "unsafe"

// bytesOf returns the memory of a value without pointers.
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

// bytesIn returns the memory of the value of size bytes that m holds, or points to, and
// which has no pointers; it must not be written to. nil for a nil pointer. An interface
// holds values without pointers by address, so both cases are one.
func bytesIn(m any, size int) []byte {
	data := (*face)(unsafe.Pointer(&m)).data
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), size)
}
